//! One view of a run, whatever was measured: the answer, key figures, and sections of sentences,
//! tables and charts. The terminal and the browser are two renderers of it.

use model::judgement::Judged;
use model::{Doubt, Effect, Estimate, Verdict};
use serde::Serialize;

use crate::chart::{Chart, Form};
use crate::numbers;

/// Where a part is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Everywhere,
    Terminal,
    Browser,
}

impl Medium {
    fn is_on(self, other: Self) -> bool {
        self == Self::Everywhere || self == other
    }
}

/// Everything that is said of a run.
#[derive(Default, Serialize)]
pub(crate) struct Page {
    pub(crate) answer: String,
    /// A remark that must be read with the answer; shown only in a browser.
    pub(crate) note: Option<String>,
    pub(crate) keys: Vec<Key>,
    pub(crate) sections: Vec<Section>,
    #[serde(skip)]
    pub(crate) doubts: Vec<Doubt>,
}

/// A figure beside the answer.
#[derive(Serialize)]
pub(crate) struct Key {
    pub(crate) figure: String,
    pub(crate) caption: String,
}

/// Parts under a heading; the terminal leaves the heading out.
#[derive(Serialize)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) parts: Vec<Placed>,
}

#[derive(Serialize)]
pub(crate) struct Placed {
    #[serde(skip)]
    place: Medium,
    pub(crate) part: Item,
}

/// One part of a section.
#[derive(Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub(crate) enum Item {
    /// A heading above parts that belong together within a section, in a browser.
    Heading(&'static str),
    Paragraph(String),
    /// A paragraph in smaller letters.
    Note(String),
    /// One paragraph on a terminal; a paragraph for each sentence in a browser.
    Sentences(Vec<String>),
    /// A list, which the paragraph before it introduces.
    List(Vec<String>),
    /// A command's output.
    Lines(Vec<String>),
    Table(Table),
    Figure(Figure),
    /// The article of a study, in a browser.
    Article(Article),
    /// Commands to be copied, in a browser: what they are, and the lines.
    Commands(String, Vec<String>),
    Listing(Listing),
}

/// A chart with its name and its caption, drawn in both its forms.
#[derive(Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    wide: String,
    narrow: String,
    caption: String,
    #[serde(skip)]
    is_searched: bool,
}

#[derive(Serialize)]
pub(crate) struct Article {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) is_web: bool,
    pub(crate) year: u32,
    pub(crate) machine: String,
    /// Warns of what its figures must not be taken for.
    pub(crate) caution: &'static str,
}

/// The output of a command, which is folded away unless it is short.
#[derive(Serialize)]
pub(crate) struct Listing {
    pub(crate) title: String,
    pub(crate) command: String,
    pub(crate) output: String,
    /// How many lines were left out, how many hold a counted text, and how the command failed.
    pub(crate) remarks: String,
    pub(crate) is_open: bool,
}

/// Rows under headings; the first column names the row.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// Describes the table to a reader who cannot see it.
    title: &'static str,
    columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) heading: String,
    is_words: bool,
    #[serde(skip)]
    place: Medium,
}

/// A row of a table. A row of one cell is a heading for the rows below it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    /// Whether it is the control or the floor, which are no part of what is asked.
    pub(crate) beside: bool,
    pub(crate) cells: Vec<Shown>,
}

/// A value and its interval, as shown; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Shown {
    pub(crate) value: String,
    pub(crate) interval: String,
    /// Shown below the value in a browser: why a step is taken, or how a figure changed.
    pub(crate) remark: String,
    /// `better`, `worse` or `none` of a verdict, for its colour.
    pub(crate) tone: &'static str,
}

impl Page {
    /// Begins a section. Parts are added to the last section.
    pub(crate) fn section(&mut self, id: &'static str, title: &'static str) {
        self.sections.push(Section {
            id,
            title,
            parts: Vec::new(),
        });
    }

    pub(crate) fn add(&mut self, part: Item) {
        self.put(Medium::Everywhere, part);
    }

    pub(crate) fn add_to_terminal(&mut self, part: Item) {
        self.put(Medium::Terminal, part);
    }

    pub(crate) fn add_to_browser(&mut self, part: Item) {
        self.put(Medium::Browser, part);
    }

    fn put(&mut self, place: Medium, part: Item) {
        if let Some(section) = self.sections.last_mut() {
            section.parts.push(Placed { place, part });
        }
    }

    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.add(Item::Paragraph(text.into()));
    }

    /// Adds a table, unless it has no rows.
    pub(crate) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.add(Item::Table(table));
        }
    }

    /// Adds a chart, unless it has nothing to show.
    pub(crate) fn figure(
        &mut self,
        name: &'static str,
        chart: &dyn Chart,
        caption: impl Into<String>,
    ) {
        let drawn = [Form::Wide, Form::Narrow].map(|form| chart.draw(name, form));
        if let [Some(wide), Some(narrow)] = drawn {
            self.add_to_browser(Item::Figure(Figure {
                name,
                wide,
                narrow,
                caption: caption.into(),
                is_searched: chart.is_searched(),
            }));
        }
    }

    /// Whether there is a chart that a reader zooms into and searches.
    pub(crate) fn is_searched(&self) -> bool {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        parts
            .filter_map(|placed| match &placed.part {
                Item::Figure(figure) => Some(figure.is_searched),
                _ => None,
            })
            .any(|is_searched| is_searched)
    }

    /// Keeps only what is shown in a place.
    pub(crate) fn on(mut self, place: Medium) -> Self {
        for section in &mut self.sections {
            section.parts.retain(|placed| placed.place.is_on(place));
            for placed in &mut section.parts {
                if let Item::Table(table) = &mut placed.part {
                    table.keep(place);
                }
            }
        }
        self.sections.retain(|section| !section.parts.is_empty());
        self
    }
}

impl Table {
    pub(crate) fn new(title: &'static str, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self {
            title,
            columns,
            rows,
        }
    }

    /// Makes a table of texts without intervals and verdicts.
    pub(crate) fn of_texts<S: Into<String>>(
        title: &'static str,
        headings: impl IntoIterator<Item = S>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let row = |cells: Vec<String>| Row::of(cells.into_iter().map(Shown::text).collect());
        let columns = headings.into_iter().map(Column::figures).collect();
        Self::new(title, columns, rows.into_iter().map(row).collect())
    }

    pub(crate) fn headings(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.heading.as_str())
    }

    /// Keeps the columns that are shown in a place: the first, and those that hold anything.
    fn keep(&mut self, place: Medium) {
        let is_kept = |(index, column): (usize, &Column)| {
            let mut rows = self.rows.iter().filter(|row| row.cells.len() > 1);
            let has_any = rows.any(|row| row.cells.get(index).is_some_and(|cell| !cell.is_empty()));
            column.place.is_on(place) && (index == 0 || has_any)
        };
        let kept: Vec<bool> = self.columns.iter().enumerate().map(is_kept).collect();
        retain(&mut self.columns, &kept);
        for row in &mut self.rows {
            retain(&mut row.cells, &kept);
        }
    }
}

fn retain<T>(of: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    of.retain(|_| kept.next().copied().unwrap_or(false));
}

impl Column {
    /// A column of figures, which are flush right.
    pub(crate) fn figures(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            is_words: false,
            place: Medium::Everywhere,
        }
    }

    /// A column of words, which are flush left in a browser.
    pub(crate) fn words(heading: impl Into<String>) -> Self {
        Self {
            is_words: true,
            ..Self::figures(heading)
        }
    }

    pub(crate) fn only_on(self, place: Medium) -> Self {
        Self { place, ..self }
    }
}

impl Row {
    pub(crate) fn of(cells: Vec<Shown>) -> Self {
        Self {
            beside: false,
            cells,
        }
    }

    /// A heading for the rows below it.
    pub(crate) fn heading(title: String) -> Self {
        Self::of(vec![Shown::text(title)])
    }
}

impl Shown {
    pub(crate) fn text(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            ..Self::default()
        }
    }

    pub(crate) fn estimate(found: Option<Estimate>, shown: impl Fn(f64) -> String) -> Self {
        found.map_or_else(Self::default, |found| Self {
            value: shown(found.value),
            interval: numbers::interval(&found, &shown),
            ..Self::default()
        })
    }

    pub(crate) fn change(effect: Option<Effect>) -> Self {
        effect.map_or_else(Self::default, |found| Self {
            value: numbers::change(found.ratio),
            interval: numbers::change_interval(&found),
            ..Self::default()
        })
    }

    pub(crate) fn verdict(verdict: Option<Verdict>) -> Self {
        Self {
            tone: match verdict {
                Some(Verdict::Better) => "better",
                Some(Verdict::Worse | Verdict::Invalid) => "worse",
                _ => "none",
            },
            ..Self::text(verdict.map_or("", Verdict::words))
        }
    }

    /// Shows an effect in one text, and its verdict.
    pub(crate) fn judged(judged: Option<&Judged>) -> [Self; 2] {
        let change = judged.map_or_else(String::new, effect_or_none);
        [
            Self::text(change),
            Self::verdict(judged.map(|it| it.verdict)),
        ]
    }

    pub(crate) fn with_remark(self, remark: impl Into<String>) -> Self {
        Self {
            remark: remark.into(),
            ..self
        }
    }

    pub(crate) fn without_interval(self) -> Self {
        Self {
            interval: String::new(),
            ..self
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.value.is_empty() && self.remark.is_empty()
    }

    /// Formats the value for one line of a table: `11.9 (11.7…12.1)`.
    pub(crate) fn joined(&self) -> String {
        if self.interval.is_empty() {
            return self.value.clone();
        }
        format!("{} ({})", self.value, self.interval.replace(" … ", "…"))
    }

    /// Formats the value for a sentence: `304 µs (301 … 307)`.
    pub(crate) fn spoken(&self) -> String {
        if self.interval.is_empty() {
            return self.value.clone();
        }
        format!("{} ({})", self.value, self.interval)
    }
}

/// Formats the effect of a judged comparison in one text, or a dash if there is none.
pub(crate) fn effect_or_none(judged: &Judged) -> String {
    let effect = judged.effect.as_ref();
    effect.map_or_else(|| numbers::MISSING.to_owned(), numbers::effect)
}
