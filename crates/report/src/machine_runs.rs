//! The whole machine's account of the runs of a command, in a reader's words.

use model::reading::MachineRuns;

use crate::numbers;
use crate::rows::MACHINE_PARTS;
use crate::view::Table;

/// Builds a table of the machine's accounts, each beside that of its process. Rows whose account is
/// hidden, and all rows of older runs, are left out.
pub(crate) fn table<'a>(
    first: &str,
    rows: impl IntoIterator<Item = (&'a str, Option<f64>, Option<&'a MachineRuns>)>,
) -> Table {
    let process = [
        first,
        "CPU time of the process",
        "whole machine, mean per run",
    ];
    let headings = process.into_iter().chain(MACHINE_PARTS);
    let rows = rows.into_iter();
    let rows = rows.filter_map(|(title, process, found)| Some(cells(title, process, found?)));
    Table::of_texts(
        "CPU time of the process and of the whole machine",
        headings,
        rows,
    )
}

/// Cells of one row. Where the machine counts over a tenth less than the process, the runs were too
/// short for its ticks, and its account is shown as missing.
fn cells(title: &str, process: Option<f64>, found: &MachineRuns) -> Vec<String> {
    let each = found.each();
    let is_whole = process.is_none_or(|ns| each.busy_ns() as f64 >= 0.9 * ns);
    let process = process.map_or_else(String::new, |ns| numbers::quantity(ns, "ns"));
    let parts = [
        each.busy_ns(),
        each.user_ns,
        each.system_ns,
        each.irq_ns,
        each.softirq_ns,
        each.stolen_ns,
    ];
    let parts = parts.map(|ns| match is_whole {
        true => numbers::quantity(ns as f64, "ns"),
        false => numbers::MISSING.to_owned(),
    });
    [title.to_owned(), process]
        .into_iter()
        .chain(parts)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_counted_less_than_the_process_is_not_known() {
        let mut found = MachineRuns {
            runs: 3,
            ..MachineRuns::default()
        };
        let dashes = |found: &MachineRuns| {
            let cells = cells("true", Some(720e3), found);
            cells
                .iter()
                .filter(|cell| *cell == numbers::MISSING)
                .count()
        };
        assert_eq!(dashes(&found), 6);
        found.spent.user_ns = 30_000_000;
        assert_eq!(dashes(&found), 0);
    }
}
