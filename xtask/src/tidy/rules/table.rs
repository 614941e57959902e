//! The tables of ARCHITECTURE.md whose last column says what a part may use.

use std::collections::BTreeMap;

use crate::tidy::tree::Tree;

/// Where the map stands.
pub(super) const MAP: &str = "ARCHITECTURE.md";

/// A row of such a table.
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) uses: Vec<String>,
}

/// By the part's path, from tables with a column `uses`.
pub(super) fn rows(tree: &Tree) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let mut column = None;
    let text = tree.texts.get(MAP).map_or("", String::as_str);
    for (line, cells) in (1..).zip(text.lines().map(cells)) {
        match (cells.is_empty(), column) {
            (true, _) => column = None,
            (false, None) => column = cells.iter().position(|cell| *cell == "uses"),
            (false, Some(column)) => {
                let uses = cells.get(column).map_or_else(Vec::new, |cell| names(cell));
                rows.insert(cells[0].trim_matches('`').to_owned(), Row { line, uses });
            }
        }
    }
    rows
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line
        .trim()
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'));
    inner.map_or_else(Vec::new, |inner| inner.split('|').map(str::trim).collect())
}

/// What stands between backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
