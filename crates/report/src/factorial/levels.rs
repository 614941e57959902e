//! Answers which level is better: compares each with its reference in all the cells that have both.

use model::Verdict;
use model::judgement::LevelResult;

use super::reasons;
use super::told::{MOST_TOLD, placed, size, verdict_counts, verdict_sentence};
use super::view::View;
use crate::grouped::grouped;
use crate::numbers;
use crate::view::Shown;

/// Answers a study that asks for neither a mean nor an interaction.
pub(super) fn sentence(view: View<'_>) -> String {
    let of_pair = |found: &&LevelResult| (found.level.clone(), found.against.clone());
    let pairs = grouped(&view.judgement.contrasts, of_pair).into_iter();
    let pairs: Vec<Vec<&LevelResult>> = pairs.map(|(_, cells)| cells).collect();
    match pairs.len() {
        0 => nothing(view),
        few if few <= MOST_TOLD => {
            let parts: Vec<String> = pairs.iter().map(|pair| pair_of(view, pair)).collect();
            parts.join(" ")
        }
        _ => summary(view, &pairs),
    }
}

fn nothing(view: View<'_>) -> String {
    let mut levels: Vec<String> = Vec::new();
    for arm in &view.judgement.arms {
        let level = arm.levels.get(&view.judgement.compare);
        let level = level.map(|name| view.compared(name));
        levels.extend(level.filter(|level| !levels.contains(level)));
    }
    match levels.as_slice() {
        [only] => format!("Nothing could be compared: only “{only}” is in this run."),
        _ => "Nothing could be compared.".to_owned(),
    }
}

/// Compares one level with another in all their cells.
fn pair_of(view: View<'_>, cells: &[&LevelResult]) -> String {
    let verdict = cells[0].verdict;
    match cells {
        [one] => alone(view, one),
        _ if is_alike(cells) => alike(view, cells, verdict),
        _ => mixed(view, cells),
    }
}

fn alone(view: View<'_>, found: &LevelResult) -> String {
    let (level, against) = (view.compared(&found.level), view.compared(&found.against));
    let size = format!(
        "{} {}",
        view.metric().title,
        Shown::changed(&found.change).spoken()
    );
    let pair = [level.as_str(), &against];
    let said = verdict_sentence(found.verdict, pair, ("", ""), &size, || {
        reasons::of_contrast(view, found)
    });
    placed(&view.cell(&found.cell), &said)
}

/// Compares two levels whose verdict is the same in every cell.
fn alike(view: View<'_>, cells: &[&LevelResult], verdict: Verdict) -> String {
    let (level, against) = (
        view.compared(&cells[0].level),
        view.compared(&cells[0].against),
    );
    let all = match cells.len() {
        2 => "both".to_owned(),
        more => format!("all {more}"),
    };
    let pair = [level.as_str(), &against];
    let said = verdict_sentence(
        verdict,
        pair,
        ("", &format!(" in {all} cells")),
        &range(view, cells),
        || reasons::of_contrasts(view, cells),
    );
    said + "."
}

/// Range of the changes over the cells:
/// `compute time +16.0 % (gcc, -O1) … 5.53 times (clang, native)`.
fn range(view: View<'_>, cells: &[&LevelResult]) -> String {
    let mut known: Vec<(&LevelResult, f64)> = cells
        .iter()
        .filter_map(|found| Some((*found, found.change.ratio()?)))
        .collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let title = &view.metric().title;
    let (Some((least, low)), Some((most, high))) = (known.first(), known.last()) else {
        return format!("{title} has no ratio");
    };
    if known.len() == 1 {
        let only = numbers::ratio(*low);
        return format!("{title} {only} ({})", view.cell(&least.cell));
    }
    let [low, high] = numbers::ratios_alike([*low, *high]);
    format!(
        "{title} {low} ({}) … {high} ({})",
        view.cell(&least.cell),
        view.cell(&most.cell)
    )
}

fn mixed(view: View<'_>, cells: &[&LevelResult]) -> String {
    let (level, against) = (
        view.compared(&cells[0].level),
        view.compared(&cells[0].against),
    );
    let Some((word, most)) = called_in_most(cells) else {
        return format!(
            "“{level}” against “{against}” in {} cells: {}; {}.",
            cells.len(),
            verdicts(cells),
            range(view, cells)
        );
    };
    let others = cells.iter().filter(|found| !most.contains(found));
    let others: Vec<&LevelResult> = others.copied().collect();
    format!(
        "“{level}” is {word} than “{against}” in {} of {} cells: {}. The rest: {}{}.",
        most.len(),
        cells.len(),
        range(view, &most),
        verdicts(&others),
        largest_called(view, &others)
    )
}

/// Finds the verdict of more than half of the cells, if it is better or worse, and those cells.
fn called_in_most<'a>(cells: &[&'a LevelResult]) -> Option<(&'static str, Vec<&'a LevelResult>)> {
    let with = |verdict| {
        let with = cells.iter().filter(|found| found.verdict == verdict);
        with.copied().collect::<Vec<_>>()
    };
    let all = [
        ("better", with(Verdict::Better)),
        ("worse", with(Verdict::Worse)),
    ];
    let mut most = all.into_iter();
    most.find(|(_, with)| with.len() * 2 > cells.len())
}

/// Names the largest change that was called in cells outside the majority:
/// `; the largest change −52.7 % (Clang, -O3)`.
fn largest_called(view: View<'_>, cells: &[&LevelResult]) -> String {
    let called = cells.iter().filter(|found| is_called(found));
    let largest = called.max_by(|a, b| size(a).total_cmp(&size(b)));
    largest.map_or_else(String::new, |found| {
        let (change, cell) = (Shown::changed(&found.change).value, view.cell(&found.cell));
        format!("; the largest change {change} ({cell})")
    })
}

/// Summarises too many pairs to describe one by one. Describes the pairs with the same called
/// verdict in every cell, or else the largest called change, and counts the verdicts.
fn summary(view: View<'_>, pairs: &[Vec<&LevelResult>]) -> String {
    let everywhere: Vec<&Vec<&LevelResult>> = pairs
        .iter()
        .filter(|cells| is_called(cells[0]) && is_alike(cells))
        .collect();
    if everywhere.is_empty() || everywhere.len() > MOST_TOLD {
        return largest(view);
    }
    let parts: Vec<String> = everywhere
        .iter()
        .map(|cells| pair_of(view, cells))
        .collect();
    let others: Vec<&LevelResult> = pairs
        .iter()
        .filter(|cells| !everywhere.contains(cells))
        .flatten()
        .copied()
        .collect();
    if others.is_empty() {
        return parts.join(" ");
    }
    format!(
        "{} Of the {} other comparisons: {}.",
        parts.join(" "),
        others.len(),
        verdicts(&others)
    )
}

fn largest(view: View<'_>) -> String {
    let all: Vec<&LevelResult> = view.judgement.contrasts.iter().collect();
    let called = all.iter().filter(|found| is_called(found));
    let largest = called.max_by(|a, b| size(a).total_cmp(&size(b)));
    let largest = largest.map_or_else(String::new, |found| {
        format!(" The largest: {}", alone(view, found))
    });
    format!(
        "Of {} comparisons of {}: {}.{largest}",
        all.len(),
        view.metric().title,
        verdicts(&all)
    )
}

fn is_called(found: &LevelResult) -> bool {
    found.verdict.is_call()
}

fn is_alike(cells: &[&LevelResult]) -> bool {
    cells.iter().all(|found| found.verdict == cells[0].verdict)
}

/// Counts the verdicts: `6 better, 3 worse, 1 not told apart`.
fn verdicts(cells: &[&LevelResult]) -> String {
    let all: Vec<Verdict> = cells.iter().map(|found| found.verdict).collect();
    verdict_counts(&all)
}
