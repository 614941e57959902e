//! A table that fits: side by side where there is room, split into parts that repeat the first
//! column where there is less, and a list per row where there is little.

use super::paint::{Paint, Style};
use super::wrap::{columns, hanging, wrap};
use crate::numbers::glued;

const GAP: usize = 2;
/// Words wider than this are wrapped within their column. With two figures and their intervals
/// beside them, these widths fill 80 columns.
const WIDEST_KEY: usize = 24;
const WIDEST_WORDS: usize = 13;
/// A word of up to this width is not broken to keep to `WIDEST_WORDS`; a longer one is.
const WIDEST_WORD: usize = 16;
/// On a narrower terminal a list is easier to read than a table in many parts.
const NARROWEST_TABLE: usize = 60;

/// Rows of cells under headings; the first column names the row. A row of one cell is a heading for
/// the rows below it.
pub(crate) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A column that is shown: its place in the rows, its width and its heading.
struct Column<'a> {
    index: usize,
    width: usize,
    heading: &'a str,
}

impl Table {
    /// Makes a table whose cells and headings can neither steer the terminal nor break its lines.
    pub(crate) fn new(headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        let shown_row = |row: Vec<String>| row.iter().map(|cell| shown(cell)).collect();
        Self {
            headings: headings.iter().map(|text| shown(text)).collect(),
            rows: rows.into_iter().map(shown_row).collect(),
        }
    }

    /// Lays the table out in lines for a terminal of `width` columns.
    pub(crate) fn render(&self, width: usize, paint: Paint) -> Vec<String> {
        let columns = self.columns();
        match split(&columns, width) {
            Some(parts) if width >= NARROWEST_TABLE => {
                let parts: Vec<Vec<String>> =
                    parts.iter().map(|part| self.part(part, paint)).collect();
                parts.join(&String::new())
            }
            _ => self.list(width, paint),
        }
    }

    /// The columns that hold anything, each as narrow as its cells and its longest heading word
    /// allow.
    fn columns(&self) -> Vec<Column<'_>> {
        let rows = || self.rows.iter().filter(|row| !is_heading(row));
        let cells = |index: usize| rows().filter_map(move |row| row.get(index));
        self.headings
            .iter()
            .enumerate()
            .filter(|(index, _)| cells(*index).any(|cell| !cell.is_empty()))
            .map(|(index, heading)| {
                let widest = cells(index).map(|cell| columns(cell)).max().unwrap_or(0);
                let heading_text = glued(heading);
                let words = heading_text.split_ascii_whitespace();
                let word = words.map(columns).max().unwrap_or(0);
                let limit = match index {
                    0 => WIDEST_KEY,
                    _ if cells(index).any(|cell| is_figure(cell)) => usize::MAX,
                    _ => cells(index)
                        .map(|cell| whole_words(cell))
                        .fold(WIDEST_WORDS, usize::max),
                };
                Column {
                    index,
                    width: widest.min(limit).max(word),
                    heading,
                }
            })
            .collect()
    }

    fn part(&self, part: &[&Column<'_>], paint: Paint) -> Vec<String> {
        let headings = part.iter().map(|column| wrap(column.heading, column.width));
        let mut lines: Vec<String> = set(
            part,
            &bottom_aligned(headings.collect()),
            Paint { colour: false },
        )
        .iter()
        .map(|line| paint.span(Style::Quiet, line))
        .collect();
        let width = width_of(part);
        for row in &self.rows {
            if is_heading(row) {
                lines.extend(wrap(&row[0], width));
                continue;
            }
            let cells = part.iter().map(|column| {
                let cell = row.get(column.index).map_or("", String::as_str);
                wrap(cell, column.width)
            });
            lines.extend(set(part, &cells.collect::<Vec<_>>(), paint));
        }
        lines
    }

    fn list(&self, width: usize, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let title = row.first().map_or("", String::as_str);
            lines.extend(
                wrap(title, width)
                    .iter()
                    .map(|line| paint.span(Style::Strong, line)),
            );
            for (heading, cell) in self.headings.iter().zip(row).skip(1) {
                if !cell.is_empty() {
                    lines.extend(hanging("  ", &format!("{heading}: {cell}"), width));
                }
            }
        }
        lines
    }
}

fn shown(text: &str) -> String {
    foreign::shown(text).into_owned()
}

/// Distributes columns over parts that fit, each with the first column. `None` if even one does not
/// fit.
fn split<'a, 'b>(all: &'a [Column<'b>], width: usize) -> Option<Vec<Vec<&'a Column<'b>>>> {
    let (key, rest) = all.split_first()?;
    let mut parts = Vec::new();
    let mut part = vec![key];
    let mut used = key.width;
    for column in rest {
        if used + GAP + column.width > width {
            if part.len() == 1 || key.width + GAP + column.width > width {
                return None;
            }
            parts.push(std::mem::replace(&mut part, vec![key]));
            used = key.width;
        }
        used += GAP + column.width;
        part.push(column);
    }
    parts.push(part);
    Some(parts)
}

/// Width of a part, gaps included.
fn width_of(part: &[&Column<'_>]) -> usize {
    let widths: usize = part.iter().map(|column| column.width).sum();
    widths + GAP * part.len().saturating_sub(1)
}

fn is_heading(row: &[String]) -> bool {
    row.len() == 1
}

/// Width of the widest word that is not broken.
fn whole_words(cell: &str) -> usize {
    let words = cell.split_ascii_whitespace().map(columns);
    let whole = words.filter(|word| *word <= WIDEST_WORD);
    whole.max().unwrap_or(0)
}

fn is_figure(cell: &str) -> bool {
    cell.contains(|sign: char| sign.is_ascii_digit())
}

/// Aligns the headings at their last lines.
fn bottom_aligned(mut cells: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let tallest = cells.iter().map(Vec::len).max().unwrap_or(0);
    for cell in &mut cells {
        let missing = tallest - cell.len();
        cell.splice(0..0, std::iter::repeat_n(String::new(), missing));
    }
    cells
}

/// Sets the lines of one row: the first column flush left, the others flush right.
fn set(part: &[&Column<'_>], cells: &[Vec<String>], paint: Paint) -> Vec<String> {
    let tallest = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..tallest)
        .map(|at| {
            let mut line = String::new();
            for (place, (column, cell)) in part.iter().zip(cells).enumerate() {
                let text = cell.get(at).map_or("", String::as_str);
                let padding = " ".repeat(column.width.saturating_sub(columns(text)));
                let text = painted_verdict(text, paint);
                let gap = " ".repeat(if place == 0 { 0 } else { GAP });
                line += &match column.index {
                    0 => format!("{text}{padding}"),
                    _ => format!("{gap}{padding}{text}"),
                };
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// Colours the words of a verdict; no other cells have a colour.
fn painted_verdict(text: &str, paint: Paint) -> String {
    match text {
        "better" => paint.span(Style::Good, text),
        "worse" | "invalid" => paint.span(Style::Bad, text),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn table() -> Table {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        Table {
            headings: row(["step", "cost of it", "nothing", "verdict"]),
            rows: vec![
                row(["first", "11.9", "", ""]),
                row(["last", "6.1", "", "better"]),
            ],
        }
    }

    #[test]
    fn figures_stand_right_and_empty_columns_are_left_out() {
        let lines = table().render(80, PLAIN);
        assert_eq!(
            lines,
            [
                "       cost",
                "         of",
                "step     it  verdict",
                "first  11.9",
                "last    6.1   better"
            ]
        );
    }

    #[test]
    fn a_word_of_a_few_more_letters_widens_its_column_and_a_long_one_is_broken() {
        let mut table = table();
        table.rows[0][3] = "the busiest-thread".to_owned();
        let lines = table.render(80, PLAIN);
        assert!(lines.iter().any(|line| line.ends_with("busiest-thread")));
        table.rows[0][3] = "x".repeat(40);
        let lines = table.render(80, PLAIN);
        let cut = format!("  {}", "x".repeat(WIDEST_WORDS));
        assert!(lines.iter().any(|line| line.ends_with(&cut)));
    }

    #[test]
    fn too_many_columns_are_split_with_the_first_repeated() {
        let mut table = table();
        table.rows[0][1] = "9".repeat(40);
        table.rows[0][2] = "8".repeat(40);
        let lines = table.render(70, PLAIN);
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.starts_with("first"))
                .count(),
            2
        );
    }

    #[test]
    fn a_row_of_one_cell_is_a_heading_over_all_columns_and_widens_none() {
        let mut table = table();
        let heading = "all of these belong together".to_owned();
        table.rows.insert(0, vec![heading.clone()]);
        let lines = table.render(80, PLAIN);
        assert_eq!(lines[3..5], ["all of these belong", "together"]);
        assert_eq!(lines[5], "first  11.9");
        assert_eq!(table.render(40, PLAIN)[0], heading);
    }

    #[test]
    fn a_narrow_terminal_gets_a_list() {
        let lines = table().render(24, PLAIN);
        assert_eq!(
            lines,
            [
                "first",
                "  cost of it: 11.9",
                "last",
                "  cost of it: 6.1",
                "  verdict: better"
            ]
        );
    }
}
