//! The answer to which level is better: each against its reference, in all the cells that it has.

use model::Verdict;
use model::judgement::LevelResult;

use super::answer::{MOST_TOLD, placed, size, verdict_counts};
use super::reasons;
use super::view::View;
use super::words::Shown;
use crate::numbers;

/// The answer of a study that asks for neither a mean nor an interaction.
pub(super) fn sentence(view: View<'_>) -> String {
    let mut pairs: Vec<Vec<&LevelResult>> = Vec::new();
    for found in &view.judgement.contrasts {
        let same = |pair: &&mut Vec<&LevelResult>| {
            pair.first()
                .is_some_and(|one| (&one.level, &one.against) == (&found.level, &found.against))
        };
        match pairs.iter_mut().find(same) {
            Some(pair) => pair.push(found),
            None => pairs.push(vec![found]),
        }
    }
    match pairs.len() {
        0 => nothing(view),
        few if few <= MOST_TOLD => {
            let told: Vec<String> = pairs.iter().map(|pair| pair_of(view, pair)).collect();
            told.join(" ")
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
        [only] => format!("Nothing could be compared: only “{only}” is there."),
        _ => "Nothing could be compared.".to_owned(),
    }
}

/// One level against another in all its cells.
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
        Shown::change(&found.change).spoken()
    );
    let said = match found.verdict {
        Verdict::Better => format!("“{level}” is better than “{against}”: {size}"),
        Verdict::Worse => format!("“{level}” is worse than “{against}”: {size}"),
        Verdict::NoDifferenceThatMatters => {
            format!("There is no difference that matters between “{level}” and “{against}”: {size}")
        }
        Verdict::Inconclusive => {
            format!("This run cannot tell whether “{level}” is better than “{against}”: {size}")
        }
        Verdict::Invalid => format!(
            "No verdict on “{level}” against “{against}”: {}. Seen was {size}",
            reasons::of_contrast(view, found)
        ),
    };
    placed(&view.cell(&found.cell), &said)
}

/// The same verdict in every cell.
fn alike(view: View<'_>, cells: &[&LevelResult], verdict: Verdict) -> String {
    let (level, against) = (
        view.compared(&cells[0].level),
        view.compared(&cells[0].against),
    );
    let all = match cells.len() {
        2 => "both".to_owned(),
        more => format!("all {more}"),
    };
    let range = range(view, cells);
    match verdict {
        Verdict::Better => {
            format!("“{level}” is better than “{against}” in {all} cells: {range}.")
        }
        Verdict::Worse => {
            format!("“{level}” is worse than “{against}” in {all} cells: {range}.")
        }
        Verdict::NoDifferenceThatMatters => format!(
            "There is no difference that matters between “{level}” and “{against}” in \
             {all} cells: {range}."
        ),
        Verdict::Inconclusive => format!(
            "This run cannot tell in {all} cells whether “{level}” is better than \
             “{against}”: {range}."
        ),
        Verdict::Invalid => format!(
            "No verdict on “{level}” against “{against}” in {all} cells: {}. Seen was {range}.",
            reasons::of_contrasts(view, cells)
        ),
    }
}

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

/// The verdict of more than half of the cells, where that is one that a difference was called by.
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

/// `; the largest change −52.7 % (Clang, -O3)`, of those that were called otherwise than most.
fn largest_called(view: View<'_>, cells: &[&LevelResult]) -> String {
    let called = cells.iter().filter(|found| is_called(found));
    let largest = called.max_by(|a, b| size(a).total_cmp(&size(b)));
    largest.map_or_else(String::new, |found| {
        let (change, cell) = (Shown::change(&found.change).value, view.cell(&found.cell));
        format!("; the largest change {change} ({cell})")
    })
}

/// Too many to tell one by one: the pairs that came out alike in every cell, or else the largest
/// change that was called; and how many of each verdict.
fn summary(view: View<'_>, pairs: &[Vec<&LevelResult>]) -> String {
    let everywhere: Vec<&Vec<&LevelResult>> = pairs
        .iter()
        .filter(|cells| is_called(cells[0]) && is_alike(cells))
        .collect();
    if everywhere.is_empty() || everywhere.len() > MOST_TOLD {
        return largest(view);
    }
    let told: Vec<String> = everywhere
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
        return told.join(" ");
    }
    format!(
        "{} Of the {} other comparisons: {}.",
        told.join(" "),
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

/// `6 better, 3 worse, 1 not told apart`.
fn verdicts(cells: &[&LevelResult]) -> String {
    let all: Vec<Verdict> = cells.iter().map(|found| found.verdict).collect();
    verdict_counts(&all)
}
