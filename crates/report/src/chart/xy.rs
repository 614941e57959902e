//! Lines of one quantity against another with their intervals, in one or several panels of one
//! scale.

use std::ops::Range;

use super::canvas::{Align, At, Canvas, Ink, Type};
use super::scale::Scale;
use super::{Chart, Form, fitted};
use crate::numbers;

const TOP: f64 = 48.0;
const TITLE: f64 = 22.0;
const LEGEND: f64 = 18.0;
const FOOT: f64 = 46.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;
/// The most points that are listed for a reader who cannot see the chart; of a longer line, only
/// the range is given.
const MOST_TOLD: usize = 24;
/// The least that strips span either way, %, so that a quiet run does not look like a wild one.
const LEAST_SPAN: f64 = 1.0;

/// An x-y chart.
pub(crate) struct Curves {
    pub(crate) heading: String,
    pub(crate) remark: String,
    pub(crate) panels: Vec<Panel>,
    /// Panels side by side on a wide page.
    pub(crate) columns: usize,
    /// Height of a panel's plot, CSS pixels.
    pub(crate) height: f64,
    /// Title of the horizontal axis.
    pub(crate) below: &'static str,
    /// Labelled places of the horizontal axis; round numbers where there are none.
    pub(crate) places: Vec<(f64, String)>,
    pub(crate) rise: Rise,
    /// Unit of the upright axis.
    pub(crate) unit: String,
    /// Places on the horizontal axis at which a stopped run was resumed.
    pub(crate) resumed: Vec<f64>,
}

/// The upright scale.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rise {
    FromZero,
    Log,
    /// Per cent around 0, in strips above one axis.
    Strips,
}

/// One plot.
#[derive(Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Curve>,
    /// Figures from the article.
    pub(crate) published: Vec<At>,
}

/// One line.
pub(crate) struct Curve {
    pub(crate) title: String,
    pub(crate) ink: Ink,
    pub(crate) path: Vec<At>,
    /// Values with the low and the high end, each after its place on the horizontal axis.
    pub(crate) points: Vec<(f64, [f64; 3])>,
}

/// The ranges of values that all panels share, before a panel has its place.
struct Extents {
    x: Range<f64>,
    y: Range<f64>,
}

/// The scales of a panel and its frame.
struct Frame {
    x: Scale,
    y: Scale,
    from: f64,
    to: f64,
    top: f64,
    bottom: f64,
    /// Whether the horizontal axis has labels here.
    has_words: bool,
}

impl Chart for Curves {
    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let extents = self.extents()?;
        let columns = if form == Form::Wide { self.columns } else { 1 };
        let rows = self.panels.len().div_ceil(columns) as f64;
        let height = TOP + rows * self.row() + if self.is_strips() { FOOT } else { 0.0 };
        let id = form.id(name);
        let size = (form.width(), height);
        let mut canvas = Canvas::new(size, &id, &self.heading, &self.described());
        canvas.heading((&self.heading, &self.remark), 0.0, form);
        let width = form.width() / columns as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let corner = (width * column as f64, TOP + self.row() * row as f64);
            let is_last = index + 1 == self.panels.len();
            let has_words = is_last || !self.is_strips();
            let frame = self.frame(&extents, corner, width, has_words);
            self.panel(&mut canvas, panel, &frame, corner.1);
        }
        Some(canvas.svg())
    }
}

impl Curves {
    fn is_strips(&self) -> bool {
        self.rise == Rise::Strips
    }

    /// Height of a row of panels.
    fn row(&self) -> f64 {
        self.head() + self.height + if self.is_strips() { 0.0 } else { FOOT }
    }

    /// Height of what is above a plot: its title and its legend.
    fn head(&self) -> f64 {
        let has_title = self.panels.iter().any(|panel| !panel.title.is_empty());
        let legend = self.panels.iter().map(|panel| panel.legend().len()).max();
        let title = if has_title { TITLE } else { 0.0 };
        title + LEGEND * legend.unwrap_or(0) as f64 + 8.0
    }

    /// Returns the ranges of all marks; `None` without any.
    fn extents(&self) -> Option<Extents> {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let paths = lines().flat_map(|line| line.path.iter().copied());
        let points = lines().flat_map(|line| {
            let ends = |(x, [_, low, high]): &(f64, [f64; 3])| [(*x, *low), (*x, *high)];
            line.points.iter().flat_map(ends)
        });
        let published = self.panels.iter().flat_map(|panel| panel.published.clone());
        let all = paths.chain(points).chain(published);
        let all: Vec<At> = all
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let span = |of: fn(&At) -> f64| {
            let low = all.iter().map(of).reduce(f64::min)?;
            Some(low..all.iter().map(of).reduce(f64::max)?)
        };
        let (x, y) = (span(|at| at.0)?, span(|at| at.1)?);
        let y = match self.rise {
            Rise::Log if y.start > 0.0 => y.start * 0.9..y.end * 1.1,
            Rise::FromZero | Rise::Log => 0.0..y.end * 1.05,
            Rise::Strips => y.start.min(-LEAST_SPAN)..y.end.max(LEAST_SPAN),
        };
        Some(Extents { x, y })
    }

    fn frame(&self, extents: &Extents, (left, top): At, width: f64, has_words: bool) -> Frame {
        let (from, to) = (left + LEFT, left + width - RIGHT);
        let top = top + self.head();
        let bottom = top + self.height;
        let (x, y) = (extents.x.clone(), extents.y.clone());
        Frame {
            x: Scale::new(x, from + 6.0..to),
            y: match self.rise {
                Rise::Log => Scale::logarithmic(y, bottom..top),
                Rise::FromZero => Scale::new(y, bottom..top),
                Rise::Strips => Scale::new(y, bottom - 4.0..top + 4.0),
            },
            from,
            to,
            top,
            bottom,
            has_words,
        }
    }

    fn panel(&self, canvas: &mut Canvas, panel: &Panel, frame: &Frame, top: f64) {
        let set = Type::BODY.bold();
        let title = fitted(&panel.title, frame.to - frame.from, set);
        canvas.text(&title, (frame.from, top + 10.0), set);
        let title = if panel.title.is_empty() { 0.0 } else { TITLE };
        let legend = (frame.from, top + title + 8.0);
        panel.draw_legend(canvas, legend, frame.to - frame.from);
        self.axes(canvas, frame);
        for x in self.resumed.iter().map(|at| frame.x.at(*at)) {
            canvas.line((x, frame.top), (x, frame.bottom), Ink::Published, 1.0);
        }
        panel.draw(canvas, frame);
    }

    fn axes(&self, canvas: &mut Canvas, frame: &Frame) {
        let Frame {
            from, to, bottom, ..
        } = *frame;
        let most = if self.is_strips() { 3 } else { 6 };
        for tick in frame.y.ticks(most) {
            let at = frame.y.at(tick);
            canvas.line((from, at), (to, at), Ink::Rule, 1.0);
            let set = Type::SMALL.align(Align::Right);
            let text = fitted(&numbers::axis(tick, &self.unit), LEFT - 8.0, set);
            canvas.text(&text, (from - 8.0, at), set);
        }
        if !frame.has_words {
            return;
        }
        canvas.line((from, bottom), (to, bottom), Ink::Muted, 1.0);
        let places = self.places(&frame.x);
        let room = (to - from) / places.len().max(1) as f64 - 8.0;
        for (place, text) in places {
            let x = frame.x.at(place);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            let set = Type::SMALL.align(Align::Center);
            canvas.text(&fitted(&text, room.max(44.0), set), (x, bottom + 15.0), set);
        }
        canvas.text(self.below, (from, bottom + 35.0), Type::SMALL);
    }

    fn places(&self, scale: &Scale) -> Vec<(f64, String)> {
        if !self.places.is_empty() {
            return self.places.clone();
        }
        let ticks = scale.ticks(4).into_iter();
        ticks.map(|tick| (tick, numbers::axis(tick, ""))).collect()
    }

    fn described(&self) -> String {
        let panel = |panel: &Panel| {
            let lines = panel.lines.iter().map(|line| self.line_in_words(line));
            std::iter::once(panel.title.clone())
                .chain(lines)
                .filter(|words| !words.is_empty())
                .collect::<Vec<_>>()
                .join(": ")
        };
        let panels: Vec<String> = self.panels.iter().map(panel).collect();
        panels.join("; ")
    }

    fn line_in_words(&self, line: &Curve) -> String {
        let shown = |value: f64| numbers::quantity(value, &self.unit);
        let word = |(x, y): &At| {
            let mut places = self.places.iter();
            let place = places.find(|(at, _)| at == x);
            let place = place.map_or_else(|| numbers::axis(*x, ""), |(_, word)| word.clone());
            format!("{place} {}", shown(*y))
        };
        let told: Vec<At> = match line.points.as_slice() {
            [] => line.path.clone(),
            points => points.iter().map(|(x, [y, ..])| (*x, *y)).collect(),
        };
        if told.len() > MOST_TOLD {
            let values = || told.iter().map(|at| at.1);
            let [low, high] = [values().reduce(f64::min), values().reduce(f64::max)]
                .map(|end| end.map_or_else(String::new, shown));
            return format!("{} {} marks, within {low} … {high}", line.title, told.len());
        }
        let told: Vec<String> = told.iter().map(word).collect();
        format!("{} {}", line.title, told.join(", "))
    }
}

impl Panel {
    /// Returns the names of the lines and diamonds; a single line needs no name.
    fn legend(&self) -> Vec<(&str, Ink)> {
        let lines = self.lines.iter();
        let lines = lines.map(|line| (line.title.as_str(), line.ink));
        let published = (!self.published.is_empty()).then_some(("published", Ink::Published));
        let entries: Vec<(&str, Ink)> = lines.chain(published).collect();
        if entries.len() < 2 {
            Vec::new()
        } else {
            entries
        }
    }

    fn draw_legend(&self, canvas: &mut Canvas, (left, top): At, width: f64) {
        for (index, (text, ink)) in self.legend().into_iter().enumerate() {
            let y = top + LEGEND * index as f64;
            match index < self.lines.len() {
                true => canvas.line((left, y), (left + 20.0, y), ink, 2.0),
                false => canvas.diamond((left + 10.0, y), 4.5, ink),
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
                if low < high {
                    canvas.upright_whisker(place, [y.at(*low), y.at(*high)], line.ink);
                }
                canvas.dot((place, y.at(*value)), 3.0, line.ink);
            }
        }
        for (place, value) in &self.published {
            canvas.diamond((x.at(*place), y.at(*value)), 4.5, Ink::Published);
        }
    }
}
