//! Rows of dots with their intervals under headings, and their figures in columns beside them.

use std::ops::Range;

use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, TITLES, fitted, width_of};

/// Titles of rows take no more room than this from the marks of a wide chart.
const WIDEST_TITLES: f64 = 340.0;
/// Between a title and the marks.
const TITLE_GAP: f64 = 12.0;
/// Room for each of the columns of figures beside a wide chart.
const COLUMN: f64 = 136.0;
/// Ticks whose letters would touch are left out.
const TICK_GAP: f64 = 58.0;
/// Largest value ÷ smallest from which a log scale shows them better.
const LOG_FROM: f64 = 8.0;

/// A chart of dots.
pub(crate) struct Dots {
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
    dots: &'a Dots,
    is_log: bool,
    scale: Scale,
    form: Form,
    plot: Range<f64>,
}

/// A heading of a group, or a row, with the height at which it begins.
enum Line<'a> {
    Title(&'a str),
    Row(&'a Dot),
}

impl Dots {
    /// Draws it under a name; `None` where no row has a value.
    pub(crate) fn draw(&self, name: &str, title: &'static str, form: Form) -> Option<String> {
        let range = self.range()?;
        let plot = self.plot(form);
        let is_log = range.start > 0.0;
        let scale = if is_log {
            Scale::logarithmic(range, plot.clone())
        } else {
            Scale::new(range, plot.clone())
        };
        let plot = Plot {
            dots: self,
            is_log,
            scale,
            form,
            plot,
        };
        let words = Words {
            id: form.id(name),
            title,
            description: self.described(),
        };
        Some(draw(form.width(), plot.bottom() + 40.0, &words, |canvas| {
            plot.draw(canvas);
        }))
    }

    fn rows(&self) -> impl Iterator<Item = &Dot> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Width of the titles left of a wide chart's marks.
    fn titles(&self) -> f64 {
        let widths = self.rows().map(|row| width_of(&row.title, Type::BODY));
        let widest = widths.fold(0.0, f64::max);
        (widest + TITLE_GAP + 1.0).clamp(TITLES, WIDEST_TITLES)
    }

    fn has_published(&self) -> bool {
        self.rows().any(|row| !row.published.is_empty())
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
        self.rows().find_map(|row| row.at)?;
        let dots = self.rows().filter_map(|row| row.at).flatten();
        let published = self.rows().flat_map(|row| row.published.iter().copied());
        let ground = match self.kind {
            Kind::Ratios { noise } => vec![Some(1.0), noise.map(|it| it.0), noise.map(|it| it.1)],
            Kind::Amounts => vec![],
        };
        let ends = dots.chain(published).chain(ground.into_iter().flatten());
        let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = self.kind != Kind::Amounts || high / low >= LOG_FROM;
        // A mark at the very edge would be cut in two by what stands beside the plot.
        Some(match is_log && low > 0.0 {
            true => low * 0.98..high * 1.02,
            false => low.min(0.0)..high,
        })
    }

    fn described(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let rows = group.rows.iter().map(Dot::described);
            let rows: Vec<String> = rows.collect();
            match group.title.as_str() {
                "" => rows.join(", "),
                title => format!("{title}: {}", rows.join(", ")),
            }
        });
        let groups: Vec<String> = groups.collect();
        format!("{}. {}", self.heading, groups.join("; "))
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
    fn draw(&self, canvas: &Canvas<'_>) {
        let left = self.text_left();
        let width = self.form.width() - left;
        let heading = fitted(&self.dots.heading, width, Type::BODY.bold());
        canvas.text(&heading, (left, 10.0), Type::BODY.bold());
        let remark = fitted(&self.remark(), width, Type::SMALL);
        canvas.text(&remark, (left, 28.0), Type::SMALL);
        self.column_headings(canvas);
        self.ground(canvas);
        for (line, top) in self.lines() {
            match line {
                Line::Title(title) => self.title(canvas, title, top),
                Line::Row(row) => self.row(canvas, row, top),
            }
        }
        self.axis(canvas);
    }

    /// That ratios are on a log scale goes without saying.
    fn remark(&self) -> String {
        let log = self.is_log && self.dots.kind == Kind::Amounts;
        format!(
            "{}{}",
            self.dots.remark,
            if log { "; log scale" } else { "" }
        )
    }

    fn text_left(&self) -> f64 {
        match self.form {
            Form::Wide => self.dots.titles(),
            Form::Narrow => 0.0,
        }
    }

    fn top(&self) -> f64 {
        match self.form {
            Form::Wide => 62.0,
            Form::Narrow => 44.0,
        }
    }

    fn title_height(&self, title: &str) -> f64 {
        if title.is_empty() { 8.0 } else { 32.0 }
    }

    fn row_height(&self) -> f64 {
        match self.form {
            Form::Wide => 27.0,
            Form::Narrow => 44.0,
        }
    }

    fn lines(&self) -> Vec<(Line<'_>, f64)> {
        let mut lines = Vec::new();
        let mut top = self.top();
        for group in &self.dots.groups {
            lines.push((Line::Title(&group.title), top));
            top += self.title_height(&group.title);
            for row in &group.rows {
                lines.push((Line::Row(row), top));
                top += self.row_height();
            }
        }
        lines
    }

    fn bottom(&self) -> f64 {
        let titles = self.dots.groups.iter();
        let titles: f64 = titles.map(|group| self.title_height(&group.title)).sum();
        self.top() + titles + self.dots.rows().count() as f64 * self.row_height() + 4.0
    }

    fn column_ends(&self) -> [f64; 2] {
        let right = self.form.width();
        if self.dots.has_published() {
            [right - COLUMN, right]
        } else {
            [right, right + COLUMN]
        }
    }

    fn column_headings(&self, canvas: &Canvas<'_>) {
        if self.form == Form::Narrow {
            return;
        }
        let y = self.top() - 8.0;
        let [here, article] = self.column_ends();
        let set = Type::SMALL.align(HPos::Right);
        canvas.text(self.dots.columns[0], (here, y), set);
        if self.dots.has_published() {
            canvas.text(self.dots.columns[1], (article, y), set.ink(Ink::Published));
        }
    }

    fn title(&self, canvas: &Canvas<'_>, title: &str, top: f64) {
        let width = self.form.width() - if self.form == Form::Wide { 240.0 } else { 8.0 };
        let set = Type::BODY.bold();
        canvas.text(&fitted(title, width, set), (0.0, top + 18.0), set);
    }

    fn row(&self, canvas: &Canvas<'_>, row: &Dot, top: f64) {
        let middle = match self.form {
            Form::Wide => top + 13.0,
            Form::Narrow => top + 31.0,
        };
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
    fn mark(&self, canvas: &Canvas<'_>, row: &Dot, y: f64) {
        let Some([value, low, high]) = row.at else {
            return;
        };
        let ink = if row.is_void { Ink::Muted } else { Ink::Accent };
        if low < high {
            canvas.whisker(self.scale.at(low), self.scale.at(high), y, ink);
        }
        let at = (self.scale.at(value), y);
        if row.is_void {
            canvas.ring(at, 3.5, ink);
        } else {
            canvas.dot(at, 3.5, ink);
        }
    }

    fn beside(&self, canvas: &Canvas<'_>, row: &Dot, y: f64) {
        let titles = self.dots.titles() - TITLE_GAP;
        let title = fitted(&row.title, titles, Type::BODY);
        let right = Type::BODY.align(HPos::Right);
        canvas.text(&title, (titles, y), right);
        let [here, article] = self.column_ends();
        let figure = fitted(&row.cells[0], COLUMN - 8.0, right.bold());
        canvas.text(&figure, (here, y), right.bold());
        if self.dots.has_published() {
            let published = fitted(&row.cells[1], COLUMN - 8.0, right);
            canvas.text(&published, (article, y), right.ink(Ink::Published));
        }
    }

    fn above(&self, canvas: &Canvas<'_>, row: &Dot, y: f64) {
        let set = Type::BODY.bold().align(HPos::Right);
        let cell = fitted(&row.cells[0], 145.0, set);
        canvas.text(&cell, (self.form.width(), y), set);
        let room = self.form.width() - width_of(&cell, set) - TITLE_GAP;
        canvas.text(&fitted(&row.title, room, Type::BODY), (0.0, y), Type::BODY);
    }

    /// The line of no difference, and about it the band in which identical arms differ.
    fn ground(&self, canvas: &Canvas<'_>) {
        let Kind::Ratios { noise } = self.dots.kind else {
            return;
        };
        let one = self.scale.at(1.0);
        for (from, to) in self.spans() {
            if let Some((low, high)) = noise {
                canvas.noise((self.scale.at(low), self.scale.at(high)), (from, to));
            }
            canvas.line((one, from), (one, to), Ink::Muted, 1.0);
        }
    }

    /// Where the line of no difference is drawn: beside the marks, where no title stands.
    fn spans(&self) -> Vec<(f64, f64)> {
        let (from, to) = match self.form {
            Form::Wide => (0.0, self.row_height()),
            Form::Narrow => (22.0, 40.0),
        };
        let lines = self.lines().into_iter();
        let rows = lines.filter(|(line, _)| matches!(line, Line::Row(_)));
        rows.map(|(_, top)| (top + from, top + to)).collect()
    }

    fn axis(&self, canvas: &Canvas<'_>) {
        let bottom = self.bottom();
        canvas.line(
            (self.plot.start, bottom),
            (self.plot.end, bottom),
            Ink::Muted,
            1.0,
        );
        let most = if self.form == Form::Wide { 8 } else { 5 };
        let mut last = f64::NEG_INFINITY;
        for tick in self.scale.ticks(most) {
            let x = self.scale.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            if x - last >= TICK_GAP && x + 20.0 <= self.form.width() {
                let set = Type::SMALL.align(HPos::Center);
                canvas.text(&(self.dots.tick)(tick), (x, bottom + 15.0), set);
                last = x;
            }
        }
    }
}
