//! One row per arm in words, cell by cell: the table that text and HTML both show.

use model::judgement::{ArmFigures, Beside, LevelResult};
use model::{Role, Verdict};

use super::view::{Cell, View, figure_on};
use super::words::{Shown, pairs};
use crate::machine_runs;

/// The rows of one cell.
#[derive(serde::Serialize)]
pub(crate) struct CellRows {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

/// One arm.
#[derive(serde::Serialize)]
pub(crate) struct Row {
    pub(crate) level: String,
    /// The control, which stands beside the cells.
    pub(crate) beside: bool,
    pub(crate) figure: Shown,
    pub(crate) change: Shown,
    pub(crate) verdict: String,
    /// `better`, `worse`, `none`, for the page's colours.
    pub(crate) tone: &'static str,
    pub(crate) n: String,
    /// Of the metrics beside the first.
    pub(crate) others: Vec<Other>,
    /// `2 of 16 runs failed`; empty where none did.
    pub(crate) failed: String,
}

/// A metric that no verdict is about.
#[derive(serde::Serialize)]
pub(crate) struct Other {
    pub(crate) figure: Shown,
    pub(crate) change: Shown,
}

/// The cells in their order, and the control in one of its own at the end.
pub(crate) fn cells(view: View<'_>) -> Vec<CellRows> {
    let rows = |cell: &Cell<'_>| CellRows {
        title: cell.title.clone(),
        rows: cell.arms.iter().map(|arm| row(view, arm)).collect(),
    };
    let mut cells: Vec<CellRows> = view.cells().iter().map(rows).collect();
    cells.extend(view.control().map(|control| CellRows {
        title: "control".to_owned(),
        rows: vec![row(view, control)],
    }));
    cells
}

fn row<'a>(view: View<'a>, arm: &'a ArmFigures) -> Row {
    let found = view.contrast(arm);
    let figure = view.figure(arm);
    Row {
        level: if arm.role == Role::Control {
            arm.title.clone()
        } else {
            view.own_level(arm).to_owned()
        },
        beside: arm.role == Role::Control,
        figure: Shown::figure(figure, view.metric()),
        change: found.map_or_else(Shown::default, |found| Shown::change(&found.change)),
        verdict: found.map_or_else(String::new, |found| found.verdict.words().to_owned()),
        tone: tone(found),
        n: found.map_or_else(
            || figure.map_or_else(String::new, |figure| figure.estimate.n.to_string()),
            |found| pairs(&found.change).to_string(),
        ),
        others: others(view, arm, found),
        failed: match arm.failed {
            0 => String::new(),
            failed => format!("{failed} of {} runs failed", arm.runs),
        },
    }
}

/// The account of the whole machine beside that of each arm's commands; empty where it is hidden.
pub(crate) fn machine(view: View<'_>) -> Vec<Vec<String>> {
    let row = |arm: &ArmFigures| {
        let process = figure_on(arm, "cpu_ns").map(|figure| figure.estimate.value);
        machine_runs::cells(&arm.title, process, arm.machine.as_ref())
    };
    view.judgement.arms.iter().filter_map(row).collect()
}

fn tone(found: Option<&LevelResult>) -> &'static str {
    match found.map(|found| found.verdict) {
        Some(Verdict::Better) => "better",
        Some(Verdict::Worse | Verdict::Invalid) => "worse",
        _ => "none",
    }
}

fn others(view: View<'_>, arm: &ArmFigures, found: Option<&LevelResult>) -> Vec<Other> {
    let metrics = view.judgement.metrics.iter().skip(1);
    let other = metrics.map(|metric| {
        let mut beside = found.into_iter().flat_map(|found| &found.beside);
        let change = beside.find(|beside: &&Beside| beside.metric == metric.name);
        Other {
            figure: Shown::figure(figure_on(arm, &metric.name), metric),
            change: change.map_or_else(Shown::default, |beside| Shown::change(&beside.change)),
        }
    });
    other.collect()
}
