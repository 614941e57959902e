//! Sentences that accompany the answer on every page of a factorial run.

use std::collections::BTreeSet;

use model::Verdict;
use model::command_study::{Against, CpuUse, Factor};
use model::judgement::{InteractionResult, Judged, MeanResult};

use super::view::View;
use super::words::after_comma;
use crate::{numbers, sentences};

/// Says how far the same command differs from itself.
pub(crate) fn noise_floor(view: View<'_>) -> Option<String> {
    let control = view.judgement.control.as_ref()?;
    let effect = control
        .change
        .effect()
        .filter(|effect| sentences::is_bounded(effect))?;
    Some(format!(
        "The same command differs from itself here by {} % (n = {} pairs).",
        sentences::spread(effect),
        effect.n
    ))
}

/// Says how far the figures can be trusted.
pub(crate) fn trust(view: View<'_>) -> Vec<String> {
    let judgement = view.judgement;
    let sequential = judgement.sequential.as_ref();
    [
        noise_floor(view),
        judgement.smallest_visible.map(sentences::visible),
        sequential.map(|found| sentences::sequential(found, "commands")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Says what each level is compared with, and which errors the verdicts and intervals allow.
pub(crate) fn comparisons(view: View<'_>) -> String {
    let against = match view.run.study.design.against {
        Against::First => "the first level",
        Against::Previous => "the level before it",
    };
    format!(
        "Changes compare each level of “{}” with {against} in the same cell, by pairs of runs \
         within a round; all verdicts share one error of 5 %, and metrics other than the first have \
         95 % intervals and no verdict.",
        view.factor(&view.judgement.compare)
    )
}

/// The programs that the commands need, with their versions.
pub(crate) fn programs(view: View<'_>) -> Option<String> {
    let programs = view.run.programs.iter();
    let programs: Vec<String> = programs
        .map(|program| format!("{} {}", program.title, program.version))
        .collect();
    (!programs.is_empty()).then(|| format!("Programs: {}.", programs.join(", ")))
}

/// The timed command and how often it ran, without a full stop.
pub(crate) fn workload(view: View<'_>) -> String {
    let workload = &view.run.study.workload;
    let cpus = match workload.cpus {
        CpuUse::One => "on one CPU, the same for all",
        CpuUse::All => "on all CPUs",
    };
    format!(
        "Timed: `{}`, {cpus}, once for every arm in each of {} rounds, in random order",
        workload.run.join(" "),
        view.judgement.rounds_done
    )
}

/// The factors with how many levels were run of each: `version (3) × compiler (1 of 2)`.
pub(crate) fn design(view: View<'_>) -> String {
    let factor = |factor: &Factor| {
        let arms = view.judgement.arms.iter();
        let levels: BTreeSet<_> = arms
            .filter_map(|arm| arm.levels.get(&factor.name))
            .collect();
        let count = match (levels.len(), factor.levels.len()) {
            (run, known) if run == known => run.to_string(),
            (run, known) => format!("{run} of {known}"),
        };
        format!("{} ({count})", factor.title.to_lowercase())
    };
    let factors: Vec<String> = view.run.study.factors.iter().map(factor).collect();
    format!(
        "Factors, and how many levels of each were run: {}.",
        factors.join(" × ")
    )
}

/// Describes a mean with its verdict.
pub(crate) fn mean(view: View<'_>, mean: &MeanResult) -> String {
    let place = after_comma(&view.cell(&mean.cell));
    let effect = mean.effect.as_ref();
    let figure = effect.map_or_else(missing, numbers::ratio_with_interval);
    let without = if mean.without.is_empty() {
        String::new()
    } else {
        let names = mean.without.iter();
        let names: Vec<String> = names.map(|name| view.level(&mean.over, name)).collect();
        format!("; left out: {}", names.join(", "))
    };
    format!(
        "Geometric mean over {} levels of “{}”{place}: “{}” against “{}” {figure}, {}, n = {} \
         rounds{without}.",
        mean.of.len(),
        view.factor(&mean.over),
        view.compared(&mean.level),
        view.compared(&mean.against),
        mean.verdict.words(),
        effect.map_or(0, |effect| effect.n)
    )
}

/// Describes what two factors do together, with every verdict that this rests on.
pub(crate) fn interaction(view: View<'_>, found: &InteractionResult) -> String {
    let [first, second] = &found.factors;
    let (first, second) = (view.factor(first), view.factor(second));
    let cell = view.cell(&found.cell);
    let place = if cell.is_empty() {
        String::new()
    } else {
        format!("{}: ", sentences::capitalised(&cell))
    };
    format!(
        "{place}“{first}” alone {}; “{second}” alone {}; both {}; both beyond the product of each \
         alone {}.",
        judged(&found.square.alone[0]),
        judged(&found.square.alone[1]),
        judged(&found.square.both),
        judged(&found.square.interaction)
    )
}

fn judged(found: &Judged) -> String {
    let figure = found
        .effect
        .as_ref()
        .map_or_else(missing, numbers::ratio_with_interval);
    let verdict = match found.verdict {
        Verdict::NoDifferenceThatMatters => "none that matters",
        other => other.words(),
    };
    format!("{figure}, {verdict}")
}

fn missing() -> String {
    numbers::MISSING.to_owned()
}

/// Names the cells in which nothing is compared because only one level is there.
pub(crate) fn lone_cells(view: View<'_>) -> Option<String> {
    let cells = view.cells();
    let lone: Vec<String> = cells
        .iter()
        .filter(|cell| cell.arms.len() == 1 && cells.len() > 1)
        .map(|cell| {
            let level = view.own_level(cell.arms[0]);
            format!("{} has only “{level}”", cell.title)
        })
        .collect();
    (!lone.is_empty()).then(|| format!("Nothing is compared in some cells: {}.", lone.join("; ")))
}
