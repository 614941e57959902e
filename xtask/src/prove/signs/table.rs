//! What a family of signs came to, one line for each.

use super::{Change, Expected, Family, Seen, Sign};
use crate::prove::step_words;

/// Of a family, each sign with what was seen of it.
pub(super) fn of(family: &Family, seen: &[Seen]) -> Vec<String> {
    let rows = family
        .signs
        .iter()
        .zip(seen)
        .map(|(sign, seen)| row(sign, seen));
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows);
    aligned(&lines)
}

const HEAD: [&str; 5] = [
    "set",
    "expected",
    "server CPU per request",
    "before",
    "held",
];

fn row(sign: &Sign, seen: &Seen) -> [String; 5] {
    let is_held = sign.holds(seen);
    [
        match sign.change {
            Change::Adds(lever) => lever.to_owned(),
            Change::TakesAway(lever) => format!("without {lever}"),
        },
        expected(sign.expected).to_owned(),
        match seen {
            Seen::Judged(step) => step_words(step),
            Seen::Absent(why) => format!("not here: {why}"),
        },
        sign.before.to_owned(),
        if is_held { "yes" } else { "NO" }.to_owned(),
    ]
}

fn expected(expected: Expected) -> &'static str {
    match expected {
        Expected::Better => "better",
        Expected::Worse => "worse",
        Expected::Nothing => "no call",
    }
}

fn aligned(lines: &[[String; 5]]) -> Vec<String> {
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    let padded = |line: &[String; 5]| {
        let cells = line.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect()
}
