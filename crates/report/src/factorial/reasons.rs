//! Why a comparison has no verdict. The usual reasons are given in words here; the others are among
//! the doubts.

use model::judgement::LevelResult;
use model::{CommandDoubt, Doubt};

use super::view::View;
use crate::grouped::grouped;

/// Why one level has no verdict against another.
pub(crate) fn of_contrast(view: View<'_>, found: &LevelResult) -> String {
    let titles = titles(view, found);
    let cell: Vec<&str> = found.cell.values().map(String::as_str).collect();
    let cell = cell.join(", ");
    let own = view.judgement.doubts.iter().find_map(|doubt| match doubt {
        Doubt::Command(CommandDoubt::OutputsDiffer { cell: other, .. }) if *other == cell => {
            Some("they must print the same and do not".to_owned())
        }
        Doubt::Command(CommandDoubt::TimedOut { command, .. }) if titles.contains(command) => {
            Some("some of its runs did not end in time".to_owned())
        }
        _ => None,
    });
    whole(view)
        .or(own)
        .or_else(|| failed(view, found))
        .unwrap_or_else(|| of_run(view))
}

/// Why one level has no verdict against another in any of these cells. Where there are several
/// reasons, each comes with its cell or the number of its cells.
pub(crate) fn of_contrasts(view: View<'_>, cells: &[&LevelResult]) -> String {
    let reasons = grouped(cells.iter().copied(), |found| of_contrast(view, found));
    let placed = |(reason, cells): &(String, Vec<&LevelResult>)| match cells.as_slice() {
        [only] => format!("{reason} ({})", view.cell(&only.cell)),
        several => format!("{reason} ({} cells)", several.len()),
    };
    match reasons.as_slice() {
        [(everywhere, _)] => everywhere.clone(),
        _ => reasons.iter().map(placed).collect::<Vec<_>>().join("; "),
    }
}

/// Why a whole run has no verdict.
pub(crate) fn of_run(view: View<'_>) -> String {
    whole(view)
        .or_else(|| crate::sentences::too_few_pairs(&view.judgement.doubts))
        .unwrap_or_else(|| "the doubts below say why".to_owned())
}

/// Why nothing in the run can have a verdict: the same command differed from itself, or the smoke
/// sizes were measured.
fn whole(view: View<'_>) -> Option<String> {
    let why = view.judgement.doubts.iter().find_map(|doubt| match doubt {
        Doubt::ControlDiffers { .. } | Doubt::Command(CommandDoubt::ControlIsAnother { .. }) => {
            Some("in this run the same command came out different from itself")
        }
        Doubt::Command(CommandDoubt::SmokeSizes { .. }) => Some("the smoke sizes were measured"),
        _ => None,
    });
    why.map(str::to_owned)
}

/// The titles of both arms.
fn titles(view: View<'_>, found: &LevelResult) -> Vec<String> {
    arms(view, found).map(|arm| arm.title.clone()).collect()
}

fn arms<'a>(
    view: View<'a>,
    found: &LevelResult,
) -> impl Iterator<Item = &'a model::judgement::ArmFigures> {
    let mut reference = found.cell.clone();
    reference.insert(view.judgement.compare.clone(), found.against.clone());
    let name = found.arm.clone();
    let all = view.judgement.arms.iter();
    all.filter(move |arm| arm.name == name || arm.levels == reference)
}

/// Names failed runs as the reason where they left an arm fewer good runs than there were rounds.
fn failed(view: View<'_>, found: &LevelResult) -> Option<String> {
    let arm = arms(view, found).max_by_key(|arm| arm.failed)?;
    let others = arm.runs.saturating_sub(arm.failed);
    let is_why = arm.failed > 0 && others < view.judgement.rounds_done;
    is_why.then(|| format!("{} of {} runs failed", arm.failed, arm.runs))
}
