//! Rows of dots with their intervals under headings, and their figures in columns beside them.

use std::ops::Range;

use super::canvas::{Align, Canvas, Ink, Type, Words};
use super::scale::Scale;
use super::{Chart, Form, LOG_FROM, TITLES, fitted, width_of};

/// Titles of rows take no more room than this from the marks of a wide chart.
const WIDEST_TITLES: f64 = 340.0;
/// Between a title and the marks.
const TITLE_GAP: f64 = 12.0;
/// Room for each of the columns of figures beside a wide chart.
const COLUMN: f64 = 136.0;
/// Ticks whose letters would touch are left out.
const TICK_GAP: f64 = 58.0;
/// Height of a bar.
const BAR: f64 = 16.0;

/// A chart of rows.
pub(crate) struct Rows {
    /// For a reader who cannot see it.
    pub(crate) title: &'static str,
    pub(crate) heading: String,
    pub(crate) remark: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) kind: Kind,
    /// Headings of the columns; the second holds what the article has.
    pub(crate) columns: [&'static str; 2],
    /// A value on the axis, in words.
    pub(crate) tick: Box<dyn Fn(f64) -> String>,
}

/// What the values are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Figures, from zero or on a log scale.
    Amounts,
    /// Figures as bars from zero, with a part of each that no step can take away.
    Bars { floor: Option<f64> },
    /// Ratios about 1, with the band in which identical arms differ.
    Ratios { noise: Option<(f64, f64)> },
}

/// Rows under one heading.
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) rows: Vec<Dot>,
}

/// One row.
pub(crate) struct Dot {
    pub(crate) title: String,
    /// Value and interval; `None` leaves the row without a mark.
    pub(crate) at: Option<[f64; 3]>,
    pub(crate) is_void: bool,
    pub(crate) published: Vec<f64>,
    pub(crate) cells: [String; 2],
}

/// The chart with all its places.
struct Plot<'a> {
    rows: &'a Rows,
    is_log: bool,
    scale: Scale,
    form: Form,
    plot: Range<f64>,
}

/// Heights of a form, CSS pixels, and how many ticks it has room for.
struct Measures {
    top: f64,
    row: f64,
    /// Of a row's marks, from its top.
    middle: f64,
    /// Where the line of no difference stands in a row: beside the marks, where no title is.
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

impl Chart for Rows {
    fn is_empty(&self) -> bool {
        self.range().is_none()
    }

    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let range = self.range()?;
        let plot = self.plot(form);
        let is_log = range.start > 0.0;
        let scale = if is_log {
            Scale::logarithmic(range, plot.clone())
        } else {
            Scale::new(range, plot.clone())
        };
        let plot = Plot {
            rows: self,
            is_log,
            scale,
            form,
            plot,
        };
        let words = Words {
            id: form.id(name),
            title: self.title,
            description: self.described(),
        };
        let mut canvas = Canvas::new(form.width(), plot.bottom() + 40.0, &words);
        plot.draw(&mut canvas);
        Some(canvas.svg())
    }
}

impl Rows {
    fn all(&self) -> impl Iterator<Item = &Dot> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Width of the titles left of a wide chart's marks.
    fn titles(&self) -> f64 {
        let widths = self.all().map(|row| width_of(&row.title, Type::BODY));
        let widest = widths.fold(0.0, f64::max);
        (widest + TITLE_GAP + 1.0).clamp(TITLES, WIDEST_TITLES)
    }

    fn has_published(&self) -> bool {
        self.all().any(|row| !row.cells[1].is_empty())
    }

    fn plot(&self, form: Form) -> Range<f64> {
        let columns = 1.0 + f64::from(u8::from(self.has_published()));
        match form {
            Form::Wide => self.titles() + 10.0..form.width() - columns * COLUMN - 24.0,
            Form::Narrow => 8.0..form.width() - 8.0,
        }
    }

    /// From the least to the largest of all marks; `None` without any.
    fn range(&self) -> Option<Range<f64>> {
        self.all().find_map(|row| row.at)?;
        let dots = self.all().filter_map(|row| row.at).flatten();
        let published = self.all().flat_map(|row| row.published.iter().copied());
        let ground = match self.kind {
            Kind::Ratios { noise } => vec![Some(1.0), noise.map(|it| it.0), noise.map(|it| it.1)],
            Kind::Bars { floor } => vec![Some(0.0), floor],
            Kind::Amounts => vec![],
        };
        let ends = dots.chain(published).chain(ground.into_iter().flatten());
        let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = matches!(self.kind, Kind::Ratios { .. }) || high / low >= LOG_FROM;
        // A mark at the very edge would be cut in two by what stands beside the plot.
        Some(match is_log && low > 0.0 {
            true => low * 0.98..high * 1.02,
            false => low.min(0.0)..high,
        })
    }

    fn described(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let rows: Vec<String> = group.rows.iter().map(Dot::described).collect();
            match group.title.as_str() {
                "" => rows.join(", "),
                title => format!("{title}: {}", rows.join(", ")),
            }
        });
        let groups: Vec<String> = groups.collect();
        format!("{}, {}. {}", self.heading, self.remark, groups.join("; "))
    }
}

impl Dot {
    fn described(&self) -> String {
        let void = if self.is_void {
            " without a verdict"
        } else {
            ""
        };
        let article = match self.cells[1].as_str() {
            "" => String::new(),
            figure => format!(", published {figure}"),
        };
        format!("{} {}{void}{article}", self.title, self.cells[0])
    }
}

impl Plot<'_> {
    fn draw(&self, canvas: &mut Canvas) {
        let left = self.text_left();
        let width = self.form.width() - left;
        let heading = fitted(&self.rows.heading, width, Type::BODY.bold());
        canvas.text(&heading, (left, 10.0), Type::BODY.bold());
        let remark = fitted(&self.remark(), width, Type::SMALL);
        canvas.text(&remark, (left, 28.0), Type::SMALL);
        self.column_headings(canvas);
        let mut top = self.measures().top;
        for group in &self.rows.groups {
            self.title(canvas, &group.title, top);
            top += title_height(&group.title);
            for row in &group.rows {
                self.row(canvas, row, top);
                top += self.measures().row;
            }
        }
        self.axis(canvas);
    }

    /// That ratios are on a log scale goes without saying.
    fn remark(&self) -> String {
        let log = self.is_log && self.rows.kind == Kind::Amounts;
        let scale = if log { "; log scale" } else { "" };
        format!("{}{scale}", self.rows.remark)
    }

    fn text_left(&self) -> f64 {
        match self.form {
            Form::Wide => self.rows.titles(),
            Form::Narrow => 0.0,
        }
    }

    fn measures(&self) -> &'static Measures {
        match self.form {
            Form::Wide => &WIDE,
            Form::Narrow => &NARROW,
        }
    }

    fn bottom(&self) -> f64 {
        let titles = self.rows.groups.iter();
        let titles: f64 = titles.map(|group| title_height(&group.title)).sum();
        let Measures { top, row, .. } = self.measures();
        top + titles + self.rows.all().count() as f64 * row + 4.0
    }

    fn column_ends(&self) -> [f64; 2] {
        let right = self.form.width();
        if self.rows.has_published() {
            [right - COLUMN, right]
        } else {
            [right, right + COLUMN]
        }
    }

    fn column_headings(&self, canvas: &mut Canvas) {
        if self.form == Form::Narrow {
            return;
        }
        let y = self.measures().top - 8.0;
        let [here, article] = self.column_ends();
        let set = Type::SMALL.align(Align::Right);
        canvas.text(self.rows.columns[0], (here, y), set);
        if self.rows.has_published() {
            canvas.text(self.rows.columns[1], (article, y), set.ink(Ink::Published));
        }
    }

    fn title(&self, canvas: &mut Canvas, title: &str, top: f64) {
        let width = self.form.width() - if self.form == Form::Wide { 240.0 } else { 8.0 };
        let set = Type::BODY.bold();
        canvas.text(&fitted(title, width, set), (0.0, top + 18.0), set);
    }

    fn row(&self, canvas: &mut Canvas, row: &Dot, top: f64) {
        let Measures { middle, ground, .. } = self.measures();
        let middle = top + middle;
        self.ground(canvas, (top + ground.0, top + ground.1));
        canvas.line(
            (self.plot.start, middle),
            (self.plot.end, middle),
            Ink::Rule,
            1.0,
        );
        for published in &row.published {
            canvas.diamond((self.scale.at(*published), middle), 5.0, Ink::Published);
        }
        self.mark(canvas, row, middle);
        match self.form {
            Form::Wide => self.beside(canvas, row, middle),
            Form::Narrow => self.above(canvas, row, top + 13.0),
        }
    }

    /// Hollow and grey where there is no verdict.
    fn mark(&self, canvas: &mut Canvas, row: &Dot, y: f64) {
        let Some([value, low, high]) = row.at else {
            return;
        };
        let ink = match self.rows.kind {
            Kind::Bars { floor } => {
                self.bar(canvas, value, floor, y);
                Ink::Text
            }
            _ if row.is_void => Ink::Muted,
            _ => Ink::Accent,
        };
        if low < high {
            canvas.whisker([low, high].map(|end| self.scale.at(end)), y, ink);
        }
        if matches!(self.rows.kind, Kind::Bars { .. }) {
            return;
        }
        let at = (self.scale.at(value), y);
        if row.is_void {
            canvas.ring(at, 3.5, ink);
        } else {
            canvas.dot(at, 3.5, ink);
        }
    }

    fn bar(&self, canvas: &mut Canvas, value: f64, floor: Option<f64>, y: f64) {
        let mut fill = |to: f64, ink| {
            let from = (self.scale.at(0.0), y - BAR / 2.0);
            canvas.fill(from, (self.scale.at(to), y + BAR / 2.0), ink);
        };
        fill(value, Ink::Soft);
        if let Some(floor) = floor {
            fill(floor.min(value), Ink::Floor);
        }
    }

    fn beside(&self, canvas: &mut Canvas, row: &Dot, y: f64) {
        let titles = self.rows.titles() - TITLE_GAP;
        let title = fitted(&row.title, titles, Type::BODY);
        let right = Type::BODY.align(Align::Right);
        canvas.text(&title, (titles, y), right);
        let [here, article] = self.column_ends();
        let figure = fitted(&row.cells[0], COLUMN - 8.0, right.bold());
        canvas.text(&figure, (here, y), right.bold());
        if self.rows.has_published() {
            let published = fitted(&row.cells[1], COLUMN - 8.0, right);
            canvas.text(&published, (article, y), right.ink(Ink::Published));
        }
    }

    fn above(&self, canvas: &mut Canvas, row: &Dot, y: f64) {
        let set = Type::BODY.bold().align(Align::Right);
        let cell = fitted(&row.cells[0], 145.0, set);
        canvas.text(&cell, (self.form.width(), y), set);
        let room = self.form.width() - width_of(&cell, set) - TITLE_GAP;
        canvas.text(&fitted(&row.title, room, Type::BODY), (0.0, y), Type::BODY);
    }

    /// The line of no difference, and about it the band in which identical arms differ; or the floor.
    fn ground(&self, canvas: &mut Canvas, span: (f64, f64)) {
        let (line, noise) = match self.rows.kind {
            Kind::Ratios { noise } => (1.0, noise),
            Kind::Bars { floor: Some(floor) } => (floor, None),
            Kind::Bars { floor: None } | Kind::Amounts => return,
        };
        let line = self.scale.at(line);
        if let Some((low, high)) = noise {
            canvas.noise((self.scale.at(low), self.scale.at(high)), span);
        }
        canvas.line((line, span.0), (line, span.1), Ink::Muted, 1.0);
    }

    fn axis(&self, canvas: &mut Canvas) {
        let bottom = self.bottom();
        canvas.line(
            (self.plot.start, bottom),
            (self.plot.end, bottom),
            Ink::Muted,
            1.0,
        );
        let mut last = f64::NEG_INFINITY;
        for tick in self.scale.ticks(self.measures().ticks) {
            let x = self.scale.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            if x - last >= TICK_GAP && x + 20.0 <= self.form.width() {
                let set = Type::SMALL.align(Align::Center);
                canvas.text(&(self.rows.tick)(tick), (x, bottom + 15.0), set);
                last = x;
            }
        }
    }
}
