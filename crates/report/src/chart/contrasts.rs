//! Ratios with their intervals in rows under headings: how each arm compares with another, beside
//! the figures of an article.

use std::ops::Range;

use super::canvas::{Align, Canvas, Ink, Type};
use super::scale::Scale;
use super::{Chart, Form, fitted, width_of};
use crate::numbers;

/// Width of the titles left of a wide chart's marks.
const TITLES: Range<f64> = 250.0..340.0;
/// Gap between a title and the marks.
const TITLE_GAP: f64 = 12.0;
/// Room for each of the columns of figures beside a wide chart.
const COLUMN: f64 = 136.0;
/// Least distance between labelled ticks; closer labels would touch and are left out.
const TICK_GAP: f64 = 58.0;

/// A chart of contrasts.
pub(crate) struct Contrasts {
    pub(crate) heading: String,
    pub(crate) remark: String,
    pub(crate) groups: Vec<Group>,
    /// The band in which identical arms differ.
    pub(crate) noise: Option<[f64; 2]>,
}

/// Rows under one heading.
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) rows: Vec<Contrast>,
}

/// One row.
pub(crate) struct Contrast {
    pub(crate) title: String,
    /// The ratio with its interval; `None` leaves the row without a mark.
    pub(crate) ratio: Option<[f64; 3]>,
    pub(crate) is_void: bool,
    /// Ratios from the article.
    pub(crate) published: Vec<f64>,
}

/// The chart with everything placed.
struct Plot<'a> {
    chart: &'a Contrasts,
    scale: Scale,
    form: Form,
    sides: Range<f64>,
}

/// Heights in one form, CSS pixels, and the number of ticks for which it has room.
struct Measures {
    top: f64,
    row: f64,
    /// Height of a row's marks, from the top of the row.
    middle: f64,
    /// Top and bottom of the line of no difference within a row: beside the marks, where no title
    /// is.
    ground: (f64, f64),
    ticks: usize,
}

const WIDE: Measures = Measures {
    top: 62.0,
    row: 27.0,
    middle: 13.0,
    ground: (0.0, 27.0),
    ticks: 8,
};

const NARROW: Measures = Measures {
    top: 44.0,
    row: 44.0,
    middle: 31.0,
    ground: (22.0, 40.0),
    ticks: 5,
};

fn title_height(title: &str) -> f64 {
    if title.is_empty() { 8.0 } else { 32.0 }
}

impl Chart for Contrasts {
    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let sides = self.sides(form);
        let plot = Plot {
            chart: self,
            scale: Scale::logarithmic(self.range()?, sides.clone()),
            form,
            sides,
        };
        let id = form.id(name);
        let size = (form.width(), plot.bottom() + 40.0);
        let mut canvas = Canvas::new(size, &id, &self.heading, &self.described());
        plot.draw(&mut canvas);
        Some(canvas.svg())
    }
}

impl Contrasts {
    fn all(&self) -> impl Iterator<Item = &Contrast> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    fn titles(&self) -> f64 {
        let widths = self.all().map(|row| width_of(&row.title, Type::BODY));
        let widest = widths.fold(0.0, f64::max);
        (widest + TITLE_GAP + 1.0).clamp(TITLES.start, TITLES.end)
    }

    /// Whether any row has a figure from the article.
    pub(crate) fn has_published(&self) -> bool {
        self.all().any(|row| !row.published.is_empty())
    }

    /// Returns the left and the right end of the marks.
    fn sides(&self, form: Form) -> Range<f64> {
        let columns = 1.0 + f64::from(u8::from(self.has_published()));
        match form {
            Form::Wide => self.titles() + 10.0..form.width() - columns * COLUMN - 24.0,
            Form::Narrow => 8.0..form.width() - 8.0,
        }
    }

    /// Returns the range of all marks, which always includes 1, no difference; `None` without any
    /// ratio.
    fn range(&self) -> Option<Range<f64>> {
        self.all().find_map(|row| row.ratio)?;
        let ratios = self.all().filter_map(|row| row.ratio).flatten();
        let published = self.all().flat_map(|row| row.published.iter().copied());
        let ends = ratios.chain(published).chain([1.0]);
        let ends = ends.chain(self.noise.into_iter().flatten());
        let ends = ends.filter(|end| end.is_finite() && *end > 0.0);
        let (low, high) = ends.fold((1.0, 1.0), |(low, high): (f64, f64), end| {
            (low.min(end), high.max(end))
        });
        // A mark at the very edge would be cut in two by what is beside the plot.
        Some(low * 0.98..high * 1.02)
    }

    fn described(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let rows: Vec<String> = group.rows.iter().map(Contrast::described).collect();
            match group.title.as_str() {
                "" => rows.join(", "),
                title => format!("{title}: {}", rows.join(", ")),
            }
        });
        let groups: Vec<String> = groups.collect();
        format!("{}, {}. {}", self.heading, self.remark, groups.join("; "))
    }
}

impl Contrast {
    fn figure(&self) -> String {
        let missing = || numbers::MISSING.to_owned();
        self.ratio
            .map_or_else(missing, |[ratio, ..]| numbers::ratio(ratio))
    }

    /// Formats the article's ratio, or the least and the largest of several; empty without any.
    fn article(&self) -> String {
        let low = self.published.iter().copied().reduce(f64::min);
        let high = self.published.iter().copied().reduce(f64::max);
        match low.zip(high) {
            None => String::new(),
            Some((low, high)) if low == high => numbers::ratio(low),
            Some((low, high)) => numbers::ratio_span(low, high),
        }
    }

    fn described(&self) -> String {
        let void = match self.is_void {
            true => " without a verdict",
            false => "",
        };
        let article = match self.article().as_str() {
            "" => String::new(),
            figure => format!(", published {figure}"),
        };
        format!("{} {}{void}{article}", self.title, self.figure())
    }
}

impl Plot<'_> {
    fn draw(&self, canvas: &mut Canvas) {
        let left = match self.form {
            Form::Wide => self.chart.titles(),
            Form::Narrow => 0.0,
        };
        canvas.heading((&self.chart.heading, &self.chart.remark), left, self.form);
        let mut top = self.measures().top;
        if self.form == Form::Wide {
            self.column_headings(canvas, top - 8.0);
        }
        for group in &self.chart.groups {
            let set = Type::BODY.bold();
            let title = fitted(&group.title, self.form.width() - left, set);
            canvas.text(&title, (0.0, top + 18.0), set);
            top += title_height(&group.title);
            for row in &group.rows {
                self.row(canvas, row, top);
                top += self.measures().row;
            }
        }
        self.axis(canvas);
    }

    fn measures(&self) -> &'static Measures {
        match self.form {
            Form::Wide => &WIDE,
            Form::Narrow => &NARROW,
        }
    }

    fn bottom(&self) -> f64 {
        let titles = self.chart.groups.iter();
        let titles: f64 = titles.map(|group| title_height(&group.title)).sum();
        let Measures { top, row, .. } = self.measures();
        top + titles + self.chart.all().count() as f64 * row + 4.0
    }

    /// Returns the right ends of the columns of our own figures and of the article's.
    fn column_ends(&self) -> [f64; 2] {
        let right = self.form.width();
        match self.chart.has_published() {
            true => [right - COLUMN, right],
            false => [right, right + COLUMN],
        }
    }

    fn column_headings(&self, canvas: &mut Canvas, y: f64) {
        let [here, article] = self.column_ends();
        let set = Type::SMALL.align(Align::Right);
        canvas.text("here", (here, y), set);
        if self.chart.has_published() {
            canvas.text("published", (article, y), set.ink(Ink::Published));
        }
    }

    fn row(&self, canvas: &mut Canvas, row: &Contrast, top: f64) {
        let Measures { middle, ground, .. } = self.measures();
        let middle = top + middle;
        self.ground(canvas, (top + ground.0, top + ground.1));
        let ends = [self.sides.start, self.sides.end].map(|x| (x, middle));
        canvas.line(ends[0], ends[1], Ink::Rule, 1.0);
        for published in &row.published {
            canvas.diamond((self.scale.at(*published), middle), 5.0, Ink::Published);
        }
        self.mark(canvas, row, middle);
        match self.form {
            Form::Wide => self.beside(canvas, row, middle),
            Form::Narrow => self.above(canvas, row, top + 13.0),
        }
    }

    /// Draws the ratio with its interval, hollow and grey where there is no verdict.
    fn mark(&self, canvas: &mut Canvas, row: &Contrast, y: f64) {
        let Some(places) = row.ratio.map(|ratio| ratio.map(|at| self.scale.at(at))) else {
            return;
        };
        let [at, low, high] = places;
        let ink = if row.is_void { Ink::Muted } else { Ink::Accent };
        if low < high {
            canvas.whisker([low, high], y, ink);
        }
        match row.is_void {
            true => canvas.ring((at, y), 3.5, ink),
            false => canvas.dot((at, y), 3.5, ink),
        }
    }

    fn beside(&self, canvas: &mut Canvas, row: &Contrast, y: f64) {
        let titles = self.chart.titles() - TITLE_GAP;
        let right = Type::BODY.align(Align::Right);
        let [here, article] = self.column_ends();
        let mut put = |text: &str, (room, at): (f64, f64), set| {
            canvas.text(&fitted(text, room, set), (at, y), set);
        };
        put(&row.title, (titles, titles), right);
        put(&row.figure(), (COLUMN - 8.0, here), right.bold());
        put(
            &row.article(),
            (COLUMN - 8.0, article),
            right.ink(Ink::Published),
        );
    }

    fn above(&self, canvas: &mut Canvas, row: &Contrast, y: f64) {
        let set = Type::BODY.bold().align(Align::Right);
        let figure = fitted(&row.figure(), 145.0, set);
        canvas.text(&figure, (self.form.width(), y), set);
        let room = self.form.width() - width_of(&figure, set) - TITLE_GAP;
        canvas.text(&fitted(&row.title, room, Type::BODY), (0.0, y), Type::BODY);
    }

    /// Draws the line of no difference, and around it the band in which identical arms differ.
    fn ground(&self, canvas: &mut Canvas, span: (f64, f64)) {
        if let Some(ends) = self.chart.noise {
            let [low, high] = ends.map(|end| self.scale.at(end));
            canvas.noise((low, high), span);
        }
        let none = self.scale.at(1.0);
        canvas.line((none, span.0), (none, span.1), Ink::Muted, 1.0);
    }

    fn axis(&self, canvas: &mut Canvas) {
        let bottom = self.bottom();
        let ends = [self.sides.start, self.sides.end].map(|x| (x, bottom));
        canvas.line(ends[0], ends[1], Ink::Muted, 1.0);
        let mut last = f64::NEG_INFINITY;
        for tick in self.scale.ticks(self.measures().ticks) {
            let x = self.scale.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            if x - last >= TICK_GAP && x + 20.0 <= self.form.width() {
                let set = Type::SMALL.align(Align::Center);
                canvas.text(&ratio_tick(tick), (x, bottom + 15.0), set);
                last = x;
            }
        }
    }
}

/// Labels a ratio on the axis.
fn ratio_tick(ratio: f64) -> String {
    if ratio == 1.0 {
        return "none".to_owned();
    }
    numbers::ratio_roughly(ratio)
}
