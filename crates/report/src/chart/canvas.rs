//! A thin hand over the drawing library: CSS pixels, inks, and an SVG that fits any page.

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, IntoDrawingArea as _, PathElement, Polygon, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontDesc, FontFamily, FontStyle, IntoTextStyle as _};

use super::ink::{Ink, themed};

/// Drawing units to a CSS pixel: the library places marks on whole units only.
const UNITS: f64 = 8.0;
/// The library writes a font size divided by this.
const FONT_FACTOR: f64 = 1.24;

/// A place in CSS pixels from the upper left corner.
pub(crate) type At = (f64, f64);

/// Something to draw on.
pub(crate) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// How a piece of text is set.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) ink: Ink,
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) align: HPos,
}

impl Type {
    pub(crate) const BODY: Self = Self {
        ink: Ink::Text,
        size: 13.0,
        bold: false,
        align: HPos::Left,
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

    pub(crate) const fn align(self, align: HPos) -> Self {
        Self { align, ..self }
    }
}

/// What a chart is called and shows, for a reader who cannot see it.
pub(crate) struct Words {
    /// Unlike that of every other drawing of the page.
    pub(crate) id: String,
    pub(crate) title: &'static str,
    pub(crate) description: String,
}

/// Draws a chart of a size in CSS pixels.
pub(crate) fn draw(
    width: f64,
    height: f64,
    words: &Words,
    paint: impl FnOnce(&Canvas<'_>),
) -> String {
    let mut svg = String::new();
    {
        let size = ((width * UNITS) as u32, (height * UNITS) as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let canvas = Canvas { area };
        paint(&canvas);
        sure(canvas.area.present());
    }
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let (units_wide, units_high) = (width * UNITS, height * UNITS);
    format!(
        "<svg viewBox=\"0 0 {units_wide:.0} {units_high:.0}\" role=\"img\" {}{}",
        words.markup(),
        themed(body).trim_end()
    )
}

impl Words {
    /// The rest of the drawing's first tag, and the two elements that it names.
    fn markup(&self) -> String {
        let Self { id, title, .. } = self;
        let description = escaped(&self.description);
        format!(
            "aria-labelledby=\"{id}-title {id}-desc\"><title id=\"{id}-title\">{title}</title>\
             <desc id=\"{id}-desc\">{description}</desc>"
        )
    }
}

impl Canvas<'_> {
    pub(crate) fn line(&self, from: At, to: At, ink: Ink, thickness: f64) {
        self.path(&[from, to], ink, thickness);
    }

    pub(crate) fn path(&self, places: &[At], ink: Ink, thickness: f64) {
        let places: Vec<(i32, i32)> = places.iter().copied().map(units).collect();
        let style = ink.stand_in().stroke_width((thickness * UNITS) as u32);
        sure(self.area.draw(&PathElement::new(places, style)));
    }

    /// A filled box between two corners.
    pub(crate) fn fill(&self, from: At, to: At, ink: Ink) {
        let style = ink.stand_in().filled();
        sure(
            self.area
                .draw(&Rectangle::new([units(from), units(to)], style)),
        );
    }

    /// The band between two heights in which the same thing differs from itself. Its ends are drawn
    /// too: a thin band could not be seen without them.
    pub(crate) fn noise(&self, (low, high): (f64, f64), (top, bottom): (f64, f64)) {
        self.fill((low, top), (high, bottom), Ink::Noise);
        for end in [low, high] {
            self.line((end, top), (end, bottom), Ink::Floor, 1.0);
        }
    }

    pub(crate) fn dot(&self, at: At, radius: f64, ink: Ink) {
        let style = ink.stand_in().filled();
        sure(
            self.area
                .draw(&Circle::new(units(at), (radius * UNITS) as i32, style)),
        );
    }

    /// A hollow dot: the figure is there, and no verdict on it.
    pub(crate) fn ring(&self, at: At, radius: f64, ink: Ink) {
        self.dot(at, radius, Ink::Paper);
        let style = ink.stand_in().stroke_width((1.75 * UNITS) as u32);
        let circle = Circle::new(units(at), (radius * UNITS) as i32, style);
        sure(self.area.draw(&circle));
    }

    /// A hollow diamond: a mark that is told from a dot without colour.
    pub(crate) fn diamond(&self, (x, y): At, radius: f64, ink: Ink) {
        let corners = [
            (x, y - radius),
            (x + radius, y),
            (x, y + radius),
            (x - radius, y),
        ];
        let ground = Ink::Paper.stand_in().filled();
        sure(
            self.area
                .draw(&Polygon::new(corners.map(units).to_vec(), ground)),
        );
        self.path(
            &[corners[0], corners[1], corners[2], corners[3], corners[0]],
            ink,
            1.75,
        );
    }

    /// A horizontal interval with its ends.
    pub(crate) fn whisker(&self, from: f64, to: f64, y: f64, ink: Ink) {
        self.line((from, y), (to, y), ink, 1.5);
        for x in [from, to] {
            self.line((x, y - 4.0), (x, y + 4.0), ink, 1.5);
        }
    }

    /// Text whose middle is at the height of `at`.
    pub(crate) fn text(&self, text: &str, at: At, set: Type) {
        let weight = if set.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = FontDesc::new(
            FontFamily::SansSerif,
            set.size * FONT_FACTOR * UNITS,
            weight,
        );
        let ink = set.ink.stand_in();
        let style = font
            .into_text_style(&self.area)
            .color(&ink)
            .pos(Pos::new(set.align, VPos::Center));
        sure(
            self.area
                .draw(&Text::new(text.to_owned(), units(at), style)),
        );
    }
}

fn units((x, y): At) -> (i32, i32) {
    ((x * UNITS).round() as i32, (y * UNITS).round() as i32)
}

/// The only errors that the library has are those of files and fonts; here are neither.
fn sure<T, E: std::fmt::Debug>(drawn: Result<T, E>) {
    drawn.expect("drawing into a string cannot fail");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_has_its_label_its_size_and_its_marks() {
        let words = Words {
            id: "dot".to_owned(),
            title: "Dot",
            description: "a \"dot\"".to_owned(),
        };
        let svg = draw(10.0, 20.0, &words, |canvas| {
            canvas.dot((5.0, 5.0), 2.0, Ink::Accent);
        });
        assert!(
            svg.starts_with("<svg viewBox=\"0 0 80 160\" role=\"img\" "),
            "{svg}"
        );
        let named = "aria-labelledby=\"dot-title dot-desc\"><title id=\"dot-title\">Dot</title>";
        assert!(
            svg.contains(named) && svg.contains(">a &quot;dot&quot;</desc>"),
            "{svg}"
        );
        assert!(
            svg.contains("fill=\"var(--accent)\"") && svg.contains("cx=\"40\""),
            "{svg}"
        );
    }
}
