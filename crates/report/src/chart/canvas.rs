//! Marks of a chart as SVG elements: places in CSS pixels, colours by their meaning.

use std::fmt::Write as _;

use minijinja::HtmlEscape;

use super::{Form, fitted};

/// A place in CSS pixels from the upper left corner.
pub(crate) type At = (f64, f64);

/// The meaning of a mark; the page's style gives each a colour for light and for dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    /// Remarks and axis labels.
    Muted,
    /// Axes and grids.
    Rule,
    /// What was measured.
    Accent,
    /// The ends of the range in which identical servers differ.
    Floor,
    /// The range in which identical servers differ.
    Noise,
    /// Figures from the article.
    Published,
    /// The background, where a mark must be hollow.
    Paper,
    /// Functions of the program itself.
    Program,
    /// Functions of the kernel.
    Kernel,
    /// Functions that take more time than before.
    Grew,
    /// Functions that take less time than before.
    Shrank,
}

impl Ink {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "ink",
            Self::Muted => "muted",
            Self::Rule => "rule",
            Self::Accent => "accent",
            Self::Floor => "floor",
            Self::Noise => "noise",
            Self::Published => "published",
            Self::Paper => "paper",
            Self::Program => "program",
            Self::Kernel => "kernel",
            Self::Grew => "grew",
            Self::Shrank => "shrank",
        }
    }
}

/// The part of a text that lies at its place: the left end, the centre or the right end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Center,
    Right,
}

/// How a piece of text is set.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) ink: Ink,
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) align: Align,
}

impl Type {
    pub(crate) const BODY: Self = Self {
        ink: Ink::Text,
        size: 13.0,
        bold: false,
        align: Align::Left,
    };
    pub(crate) const SMALL: Self = Self {
        ink: Ink::Muted,
        size: 12.0,
        ..Self::BODY
    };

    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) const fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    pub(crate) const fn align(self, align: Align) -> Self {
        Self { align, ..self }
    }
}

/// A drawing with a size in CSS pixels, which scales to any page.
pub(crate) struct Canvas {
    svg: String,
}

impl Canvas {
    /// Starts a drawing of a width and a height. No other drawing of the page may have its `id`.
    /// Title and description are for a reader who cannot see it.
    pub(crate) fn new((width, height): At, id: &str, title: &str, description: &str) -> Self {
        let [title, description] = [title, description].map(HtmlEscape);
        Self {
            svg: format!(
                "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
                 aria-labelledby=\"{id}-title {id}-desc\"><title id=\"{id}-title\">{title}</title>\
                 <desc id=\"{id}-desc\">{description}</desc>"
            ),
        }
    }

    /// Draws what the chart shows, and a remark below it.
    pub(crate) fn heading(&mut self, (heading, remark): (&str, &str), left: f64, form: Form) {
        let lines = [
            (heading, 10.0, Type::BODY.bold()),
            (remark, 28.0, Type::SMALL),
        ];
        for (text, y, set) in lines {
            self.text(&fitted(text, form.width() - left, set), (left, y), set);
        }
    }

    pub(crate) fn svg(self) -> String {
        self.svg + "</svg>"
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.svg.write_fmt(element);
    }

    pub(crate) fn line(&mut self, from: At, to: At, ink: Ink, thickness: f64) {
        self.path(&[from, to], ink, thickness);
    }

    pub(crate) fn path(&mut self, places: &[At], ink: Ink, thickness: f64) {
        self.polygon(places, ("polyline", "none"), ink, thickness);
    }

    fn polygon(&mut self, places: &[At], (tag, fill): (&str, &str), ink: Ink, thickness: f64) {
        let places: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let (places, ink) = (places.join(" "), ink.name());
        self.add(format_args!(
            "<{tag} points=\"{places}\" fill=\"{fill}\" stroke=\"var(--{ink})\" \
             stroke-width=\"{thickness}\"/>"
        ));
    }

    /// Draws a filled box between two corners.
    pub(crate) fn fill(&mut self, from: At, to: At, ink: Ink) {
        let (x, y, width, height) = (from.0, from.1, to.0 - from.0, to.1 - from.1);
        let ink = ink.name();
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"var(--{ink})\"/>"
        ));
    }

    /// Groups marks under a title that appears while a pointer rests on them. The page's script
    /// knows the class of the group, and reads its values.
    pub(crate) fn group(
        &mut self,
        (class, values): (&str, &str),
        title: &str,
        draw: impl FnOnce(&mut Self),
    ) {
        let title = HtmlEscape(title);
        self.add(format_args!(
            "<g class=\"{class}\" {values}><title>{title}</title>"
        ));
        draw(self);
        self.add(format_args!("</g>"));
    }

    /// Draws a filled box in a colour whose strength is a share from 0 to 1.
    pub(crate) fn fill_tinted(&mut self, (from, to): (At, At), (ink, strength): (Ink, f64)) {
        let (x, y, width, height) = (from.0, from.1, to.0 - from.0, to.1 - from.1);
        let (ink, percent) = (ink.name(), strength * 100.0);
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"color-mix(in srgb, var(--{ink}) {percent:.0}%, var(--noise))\"/>"
        ));
    }

    /// Draws the band in which identical arms differ: from `low` to `high` across, from `top` to
    /// `bottom` down. Its ends are drawn too, because a thin band could not be seen without them.
    pub(crate) fn noise(&mut self, (low, high): (f64, f64), (top, bottom): (f64, f64)) {
        self.fill((low, top), (high, bottom), Ink::Noise);
        for end in [low, high] {
            self.line((end, top), (end, bottom), Ink::Floor, 1.0);
        }
    }

    pub(crate) fn dot(&mut self, at: At, radius: f64, ink: Ink) {
        self.circle(at, radius, [ink, ink]);
    }

    /// Draws a hollow dot: there is a figure, but no verdict on it.
    pub(crate) fn ring(&mut self, at: At, radius: f64, ink: Ink) {
        self.circle(at, radius, [Ink::Paper, ink]);
    }

    fn circle(&mut self, (x, y): At, radius: f64, inks: [Ink; 2]) {
        let [fill, stroke] = inks.map(Ink::name);
        self.add(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"var(--{fill})\" \
             stroke=\"var(--{stroke})\" stroke-width=\"1.5\"/>"
        ));
    }

    /// Draws a hollow diamond, which can be told from a dot without colour.
    pub(crate) fn diamond(&mut self, (x, y): At, radius: f64, ink: Ink) {
        let corners = [
            (x, y - radius),
            (x + radius, y),
            (x, y + radius),
            (x - radius, y),
        ];
        self.polygon(&corners, ("polygon", "var(--paper)"), ink, 1.75);
    }

    /// Draws a horizontal interval with its ends.
    pub(crate) fn whisker(&mut self, [from, to]: [f64; 2], y: f64, ink: Ink) {
        self.line((from, y), (to, y), ink, 1.5);
        for x in [from, to] {
            self.line((x, y - 4.0), (x, y + 4.0), ink, 1.5);
        }
    }

    /// Draws an upright interval with its ends.
    pub(crate) fn upright_whisker(&mut self, x: f64, [from, to]: [f64; 2], ink: Ink) {
        self.line((x, from), (x, to), ink, 1.5);
        for y in [from, to] {
            self.line((x - 4.0, y), (x + 4.0, y), ink, 1.5);
        }
    }

    /// Draws text whose middle is at the height of its place.
    pub(crate) fn text(&mut self, text: &str, (x, y): At, set: Type) {
        let anchor = match set.align {
            Align::Left => "start",
            Align::Center => "middle",
            Align::Right => "end",
        };
        let weight = if set.bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let (size, ink, text) = (set.size, set.ink.name(), HtmlEscape(text));
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" dy=\".35em\" text-anchor=\"{anchor}\" \
             font-size=\"{size}\"{weight} fill=\"var(--{ink})\">{text}</text>"
        ));
    }
}
