//! The page of a factorial run for a terminal: the answer first, then the table cell by cell.

use model::command_run::{CommandRun, Evidence, EvidencePiece};
use model::judgement::{FactorialJudgement, MetricInfo};

use super::rows::{CellRows, Row};
use super::view::View;
use super::{answer, rows, sentences};
use crate::machine_runs;
use crate::text::{NARROWEST, Paint, Sheet, Style};

/// Renders a judged run of commands for a terminal of `width` columns, with or without colour.
#[must_use]
pub fn render(
    run: &CommandRun,
    judgement: &FactorialJudgement,
    evidence: &Evidence,
    width: usize,
    colour: bool,
) -> String {
    let view = View { run, judgement };
    let mut sheet = Sheet::new(width.max(NARROWEST), Paint { colour });
    sheet.styled(Style::Strong, &answer::sentence(view));
    let cells = rows::cells(view);
    sheet.table(&headings(view), cells.iter().flat_map(figures).collect());
    beside(view, &mut sheet);
    short_evidence(&evidence.pieces, &mut sheet);
    others(view, &cells, &mut sheet);
    let machine = rows::machine(view);
    if !machine.is_empty() {
        sheet.table(&machine_runs::headings("arm"), machine);
    }
    published(view, &mut sheet);
    sheet.doubts(&judgement.doubts);
    sheet.text()
}

fn headings(view: View<'_>) -> Vec<String> {
    let metric = view.metric();
    vec![
        view.factor(&view.judgement.compare).to_owned(),
        metric.title.clone(),
        "change".to_owned(),
        "verdict".to_owned(),
        "n".to_owned(),
        "failed".to_owned(),
    ]
}

/// A cell's title as a row of its own, then its arms.
fn figures(cell: &CellRows) -> Vec<Vec<String>> {
    let arm = |row: &Row| {
        vec![
            row.level.clone(),
            row.figure.joined(),
            row.change.joined(),
            row.verdict.clone(),
            row.n.clone(),
            row.failed.clone(),
        ]
    };
    titled(cell, cell.rows.iter().map(arm).collect())
}

/// The cell's title over its rows.
fn titled(cell: &CellRows, rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    if cell.title.is_empty() {
        return rows;
    }
    let title = vec![format!("{}:", cell.title)];
    std::iter::once(title).chain(rows).collect()
}

fn beside(view: View<'_>, sheet: &mut Sheet) {
    for mean in &view.judgement.means {
        sheet.paragraph(&sentences::mean(view, mean));
    }
    for found in &view.judgement.interactions {
        sheet.paragraph(&sentences::interaction(view, found));
    }
    if let Some(lone) = sentences::lone_cells(view) {
        sheet.paragraph(&lone);
    }
    sheet.paragraph(&sentences::comparisons(view));
    let trust = sentences::trust(view);
    if !trust.is_empty() {
        sheet.paragraph(&trust.join(" "));
    }
    if let Some(programs) = sentences::programs(view) {
        sheet.paragraph(&programs);
    }
}

/// Lines of evidence that are shown at once: on a terminal, and unfolded on a page.
const FEW_LINES: usize = 16;

/// Whether a piece of evidence is so short that it may be the answer itself.
pub(crate) fn is_short(piece: &EvidencePiece) -> bool {
    let lines = piece.output.lines().count();
    piece.end.is_success() && piece.lines_left_out == 0 && (1..=FEW_LINES).contains(&lines)
}

/// What the evidence commands said where that is short.
fn short_evidence(pieces: &[EvidencePiece], sheet: &mut Sheet) {
    for piece in pieces.iter().filter(|piece| is_short(piece)) {
        sheet.paragraph(&format!("{}:", piece.title));
        for line in piece.output.lines() {
            sheet.hanging("  ", line);
        }
    }
}

/// Arms of which all the metrics beside the first are still shown.
const MOST_ARMS: usize = 12;

/// The metrics beside the first: what the reference has, and how the others change it. Of many arms
/// only what is predicted is shown, beside its prediction.
fn others(view: View<'_>, cells: &[CellRows], sheet: &mut Sheet) {
    let metrics = view.judgement.metrics.iter().enumerate().skip(1);
    let is_shown = |metric: &MetricInfo| {
        view.judgement.arms.len() <= MOST_ARMS || view.is_predicted(&metric.name)
    };
    let (shown, left_out): (Vec<_>, Vec<_>) = metrics.partition(|(_, metric)| is_shown(metric));
    if !shown.is_empty() {
        columns(view, cells, &shown, sheet);
    }
    if !left_out.is_empty() {
        let titles = left_out.iter().map(|(_, metric)| metric.title.as_str());
        let titles = titles.collect::<Vec<_>>().join(", ");
        sheet.paragraph(&format!("The report and --json have beside it: {titles}."));
    }
}

/// A table of some metrics, each with its place among all.
fn columns(view: View<'_>, cells: &[CellRows], shown: &[(usize, &MetricInfo)], sheet: &mut Sheet) {
    let mut headings = vec![view.factor(&view.judgement.compare).to_owned()];
    headings.extend(shown.iter().map(|(_, metric)| metric.title.clone()));
    let arm = |row: &Row| {
        let texts = shown.iter().map(|(place, metric)| {
            let other = &row.others[place - 1];
            if other.change.value.is_empty() || view.is_predicted(&metric.name) {
                other.figure.value.clone()
            } else {
                other.change.joined()
            }
        });
        std::iter::once(row.level.clone()).chain(texts).collect()
    };
    let of_cell = |cell: &CellRows| {
        let rows = cell.rows.iter().filter(|row| !row.beside);
        let rows: Vec<Vec<String>> = rows.map(arm).collect();
        if rows.is_empty() {
            return rows;
        }
        titled(cell, rows)
    };
    let rows: Vec<Vec<String>> = cells.iter().flat_map(of_cell).collect();
    sheet.table(&headings, rows);
}

fn published(view: View<'_>, sheet: &mut Sheet) {
    let rows = view.published();
    if rows.is_empty() {
        return;
    }
    if let Some(source) = &view.run.study.source {
        sheet.paragraph(&format!("Published: {} ({}).", source.title, source.year));
    }
    let cells = rows.into_iter().map(|row| {
        let note = if row.note.is_empty() {
            row.machine
        } else {
            format!("{}; {}", row.machine, row.note)
        };
        vec![row.levels, row.metric, row.published, row.here, note]
    });
    let headings = ["published for", "metric", "published", "here", "machine"];
    sheet.table(&headings.map(str::to_owned), cells.collect());
}
