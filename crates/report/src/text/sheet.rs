//! A terminal page under construction: paragraphs, tables and doubts of one width.

use model::Doubt;

use super::paint::{Paint, Style};
use super::table::Table;
use super::wrap::{hanging, wrap};
use crate::view;

/// The text that has been set so far, and how the next is set.
pub(crate) struct Sheet {
    width: usize,
    paint: Paint,
    text: String,
}

impl Sheet {
    pub(crate) fn new(width: usize, paint: Paint) -> Self {
        Self {
            width,
            paint,
            text: String::new(),
        }
    }

    pub(crate) fn text(self) -> String {
        self.text
    }

    /// Adds lines of one style.
    pub(crate) fn styled(&mut self, style: Style, text: &str) {
        let lines = wrap(text, self.width).join("\n");
        self.text += &self.paint.lines(style, &lines);
        self.text.push('\n');
    }

    /// Adds an empty line, then a paragraph.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.text.push('\n');
        for line in wrap(text, self.width) {
            self.line(&line);
        }
    }

    /// Adds lines behind a mark.
    pub(crate) fn hanging(&mut self, mark: &str, text: &str) {
        for line in hanging(mark, text, self.width) {
            self.line(&line);
        }
    }

    /// Adds an empty line, then a table.
    pub(crate) fn table(&mut self, table: &view::Table) {
        let headings: Vec<&str> = table.headings().collect();
        let row = |row: &view::Row| match row.cells.as_slice() {
            [heading] => vec![format!("{}:", heading.value)],
            cells => cells.iter().map(view::Shown::joined).collect(),
        };
        let rows = table.rows.iter().map(row).collect();
        self.text.push('\n');
        for line in Table::new(&headings, rows).render(self.width, self.paint) {
            self.line(&line);
        }
    }

    /// Adds every doubt with its advice. The judge has put the run's own doubts among its own.
    pub(crate) fn doubts(&mut self, doubts: &[Doubt]) {
        if doubts.is_empty() {
            return;
        }
        self.paragraph("Doubts");
        for doubt in doubts {
            self.hanging("- ", &doubt.what());
            self.hanging("  → ", doubt.advice());
        }
    }

    /// Adds the items of a list, which the paragraph before it introduces.
    pub(crate) fn list(&mut self, items: &[String]) {
        for item in items {
            self.hanging("- ", item);
        }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }
}
