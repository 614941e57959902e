//! Lines of one quantity against another with their intervals, in one panel or several of one scale.

use std::ops::Range;

use super::canvas::{Align, At, Canvas, Ink, Type, Words};
use super::scale::Scale;
use super::{Chart, Form, LOG_FROM, fitted};

const TOP: f64 = 48.0;
const TITLE: f64 = 22.0;
const LEGEND: f64 = 18.0;
const FOOT: f64 = 46.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;

/// An x-y chart.
pub(crate) struct Curves {
    /// For a reader who cannot see it.
    pub(crate) title: &'static str,
    pub(crate) description: String,
    pub(crate) heading: String,
    pub(crate) remark: String,
    pub(crate) panels: Vec<Panel>,
    /// Panels side by side on a wide page.
    pub(crate) columns: usize,
    /// Height of a panel's plot, CSS pixels.
    pub(crate) height: f64,
    pub(crate) x: Ticks,
    pub(crate) rise: Rise,
    /// A value on the upright axis, in words.
    pub(crate) tick: Box<dyn Fn(f64) -> String>,
}

/// What the axis below has.
pub(crate) enum Ticks {
    /// Round numbers in words.
    Round(fn(f64) -> String),
    /// These places, and what the axis is.
    At(Vec<(f64, String)>, &'static str),
}

/// The upright scale.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rise {
    FromZero,
    Log,
    /// Logarithmic where the values lie far apart.
    Either,
}

/// One plot.
#[derive(Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Curve>,
    /// What the article has, or what is expected, and what that is called in the legend.
    pub(crate) diamonds: Vec<At>,
    pub(crate) diamond: String,
}

/// One line.
pub(crate) struct Curve {
    pub(crate) title: String,
    pub(crate) ink: Ink,
    pub(crate) path: Vec<At>,
    /// Values with low and high end, each behind its place on the axis below.
    pub(crate) points: Vec<(f64, [f64; 3])>,
}

/// The scales that all panels share, as far as they are known before a panel has its place.
struct Extents {
    x: Range<f64>,
    y: Range<f64>,
    is_log: bool,
}

/// The lines of a panel and its frame.
struct Frame {
    x: Scale,
    y: Scale,
    from: f64,
    to: f64,
    bottom: f64,
}

impl Chart for Curves {
    fn is_empty(&self) -> bool {
        self.extents().is_none()
    }

    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let extents = self.extents()?;
        let columns = if form == Form::Wide { self.columns } else { 1 };
        let rows = self.panels.len().div_ceil(columns) as f64;
        let words = Words {
            id: form.id(name),
            title: self.title,
            description: self.description.clone(),
        };
        let mut canvas = Canvas::new(form.width(), TOP + rows * self.row(), &words);
        let set = Type::BODY.bold();
        let heading = fitted(&self.heading, form.width(), set);
        canvas.text(&heading, (0.0, 10.0), set);
        canvas.text(&self.remark, (0.0, 28.0), Type::SMALL);
        let width = form.width() / columns as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let corner = (width * column as f64, TOP + self.row() * row as f64);
            self.panel(&mut canvas, panel, &extents, corner, width);
        }
        Some(canvas.svg())
    }
}

impl Curves {
    /// Height of a row of panels.
    fn row(&self) -> f64 {
        self.head() + self.height + FOOT
    }

    /// Height of what stands above a plot: its title, and its legend.
    fn head(&self) -> f64 {
        let has_title = self.panels.iter().any(|panel| !panel.title.is_empty());
        let legend = self.panels.iter().map(|panel| panel.legend().len()).max();
        let title = if has_title { TITLE } else { 0.0 };
        title + LEGEND * legend.unwrap_or(0) as f64 + 8.0
    }

    /// From the least to the largest of all marks; `None` without any.
    fn extents(&self) -> Option<Extents> {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let paths = lines().flat_map(|line| line.path.iter().copied());
        let points = lines().flat_map(|line| {
            let ends = |(x, [_, low, high]): &(f64, [f64; 3])| [(*x, *low), (*x, *high)];
            line.points.iter().flat_map(ends)
        });
        let diamonds = self.panels.iter().flat_map(|panel| panel.diamonds.clone());
        let all = paths.chain(points).chain(diamonds);
        let all: Vec<At> = all
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let span = |of: fn(&At) -> f64| {
            let low = all.iter().map(of).reduce(f64::min)?;
            Some(low..all.iter().map(of).reduce(f64::max)?)
        };
        let (x, y) = (span(|at| at.0)?, span(|at| at.1)?);
        let is_log = y.start > 0.0
            && match self.rise {
                Rise::FromZero => false,
                Rise::Log => true,
                Rise::Either => y.end / y.start >= LOG_FROM,
            };
        let y = if is_log {
            y.start * 0.9..y.end * 1.1
        } else {
            0.0..y.end * 1.05
        };
        Some(Extents { x, y, is_log })
    }

    fn panel(
        &self,
        canvas: &mut Canvas,
        panel: &Panel,
        extents: &Extents,
        (left, top): At,
        width: f64,
    ) {
        let (from, to) = (left + LEFT, left + width - RIGHT);
        let bottom = top + self.head() + self.height;
        let pixels = bottom..top + self.head();
        let frame = Frame {
            x: Scale::new(extents.x.clone(), from + 6.0..to),
            y: if extents.is_log {
                Scale::logarithmic(extents.y.clone(), pixels)
            } else {
                Scale::new(extents.y.clone(), pixels)
            },
            from,
            to,
            bottom,
        };
        let set = Type::BODY.bold();
        let title = fitted(&panel.title, width - LEFT, set);
        canvas.text(&title, (from, top + 10.0), set);
        let legend_top = top
            + if panel.title.is_empty() {
                8.0
            } else {
                TITLE + 8.0
            };
        panel.draw_legend(canvas, (from, legend_top), width - LEFT - RIGHT);
        self.axes(canvas, &frame);
        panel.draw(canvas, &frame);
    }

    fn axes(&self, canvas: &mut Canvas, frame: &Frame) {
        let Frame {
            from, to, bottom, ..
        } = *frame;
        for tick in frame.y.ticks(6) {
            let at = frame.y.at(tick);
            canvas.line((from, at), (to, at), Ink::Rule, 1.0);
            let set = Type::SMALL.align(Align::Right);
            let text = fitted(&(self.tick)(tick), LEFT - 8.0, set);
            canvas.text(&text, (from - 8.0, at), set);
        }
        canvas.line((from, bottom), (to, bottom), Ink::Muted, 1.0);
        let (ticks, caption) = match &self.x {
            Ticks::Round(words) => {
                let ticks = frame.x.ticks(4).into_iter();
                (ticks.map(|tick| (tick, words(tick))).collect(), "")
            }
            Ticks::At(places, caption) => (places.clone(), *caption),
        };
        let room = (to - from) / ticks.len().max(1) as f64 - 8.0;
        for (place, text) in ticks {
            let x = frame.x.at(place);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            // The ends of an axis have no room beyond them.
            let align = match &self.x {
                Ticks::At(places, _) if places.len() == 2 && x < from + 10.0 => Align::Left,
                Ticks::At(places, _) if places.len() == 2 => Align::Right,
                _ => Align::Center,
            };
            let set = Type::SMALL.align(align);
            canvas.text(&fitted(&text, room.max(44.0), set), (x, bottom + 15.0), set);
        }
        canvas.text(caption, (from, bottom + 35.0), Type::SMALL);
    }
}

impl Panel {
    /// What the lines and diamonds are; one line alone needs no name.
    fn legend(&self) -> Vec<(&str, Ink, bool)> {
        let lines = self.lines.iter();
        let mut entries: Vec<(&str, Ink, bool)> = lines
            .map(|line| (line.title.as_str(), line.ink, false))
            .collect();
        if !self.diamonds.is_empty() {
            entries.push((&self.diamond, Ink::Published, true));
        }
        if entries.len() < 2 {
            Vec::new()
        } else {
            entries
        }
    }

    fn draw_legend(&self, canvas: &mut Canvas, (left, top): At, width: f64) {
        for (index, (text, ink, is_diamond)) in self.legend().into_iter().enumerate() {
            let y = top + LEGEND * index as f64;
            if is_diamond {
                canvas.diamond((left + 10.0, y), 4.5, ink);
            } else {
                canvas.line((left, y), (left + 20.0, y), ink, 2.0);
            }
            let set = Type::BODY.ink(ink);
            canvas.text(&fitted(text, width - 28.0, set), (left + 28.0, y), set);
        }
    }

    fn draw(&self, canvas: &mut Canvas, Frame { x, y, .. }: &Frame) {
        for line in &self.lines {
            let places: Vec<At> = line
                .path
                .iter()
                .map(|at| (x.at(at.0), y.at(at.1)))
                .collect();
            let thickness = if line.points.is_empty() { 1.25 } else { 2.0 };
            canvas.path(&places, line.ink, thickness);
            for (place, [value, low, high]) in &line.points {
                let place = x.at(*place);
                canvas.upright_whisker(place, [y.at(*low), y.at(*high)], line.ink);
                canvas.dot((place, y.at(*value)), 3.0, line.ink);
            }
        }
        for (place, value) in &self.diamonds {
            canvas.diamond((x.at(*place), y.at(*value)), 4.5, Ink::Published);
        }
    }
}
