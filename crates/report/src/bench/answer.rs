//! The answer in one sentence, as a person would say it, and no more than the verdicts allow.

use model::bench::{BenchComparison, BenchJudgement, BenchRecord};
use model::judgement::Judged;
use model::study::Role;
use model::{Effect, Verdict};

use super::{called, whole_ns};
use crate::{numbers, sentences};

/// The most comparisons that are described one by one.
const MOST_TOLD: usize = 3;

/// Says which command is faster, by how much, and what else it costs.
pub(super) fn sentence(record: &BenchRecord, judgement: &BenchJudgement) -> String {
    match judgement.comparisons.as_slice() {
        [] => alone(record, judgement),
        [one] => pair(record, one),
        several if several.len() <= MOST_TOLD => {
            let pairs: Vec<String> = several.iter().map(|one| pair(record, one)).collect();
            pairs.join(" ")
        }
        many => summary(record, many),
    }
}

/// Describes one command by itself: the range of its times.
fn alone(record: &BenchRecord, judgement: &BenchJudgement) -> String {
    let baseline = record.arms.iter().find(|arm| arm.role == Role::Baseline);
    let figures = judgement.arms.first().zip(baseline);
    let Some((wall, arm)) = figures.and_then(|(figures, arm)| Some((figures.wall_ns?, arm))) else {
        return "Nothing was measured.".to_owned();
    };
    let median = wall.median;
    format!(
        "{} takes {}; most runs lie between {} and {}.",
        called(record, &arm.name),
        numbers::duration_with_interval(
            whole_ns(median.value),
            whole_ns(median.low),
            whole_ns(median.high)
        ),
        numbers::duration(whole_ns(wall.p10)),
        numbers::duration(whole_ns(wall.p90)),
    )
}

fn pair(record: &BenchRecord, comparison: &BenchComparison) -> String {
    let one = called(record, &comparison.arm);
    let other = called(record, &comparison.against);
    let Some(effect) = comparison.wall.effect else {
        return format!("{one} and {other} cannot be compared: no round has both.");
    };
    let beside = beside(comparison);
    match comparison.wall.verdict {
        Verdict::Better => format!("{one} is {}{beside}.", faster(&effect, &other)),
        Verdict::Worse => format!("{one} {}{beside}.", slower(&effect, &other)),
        Verdict::NoDifferenceThatMatters => format!(
            "Between {one} and {other} there is no difference in time that matters: {}{beside}.",
            numbers::effect(&effect)
        ),
        Verdict::Inconclusive => format!(
            "This run cannot tell whether {one} or {other} is faster: {}{beside}.",
            numbers::effect(&effect)
        ),
        Verdict::Invalid => format!(
            "No verdict on {one} against {other}: the time differs by {}; the doubts say why.",
            numbers::effect(&effect)
        ),
    }
}

/// `1.80 times as fast as ‘a’ (1.75 … 1.86)`.
fn faster(effect: &Effect, other: &str) -> String {
    let [value, low, high] =
        [effect.ratio, effect.high, effect.low].map(|ratio| times(1.0 / ratio));
    format!("{value} times as fast as {other} ({low} … {high})")
}

fn slower(effect: &Effect, other: &str) -> String {
    let [value, low, high] = [effect.ratio, effect.low, effect.high].map(times);
    format!("takes {value} times as long as {other} ({low} … {high})")
}

/// Writes a ratio with two digits after the point below ten, where a hundredth is a per cent, and
/// with three figures beyond.
fn times(ratio: f64) -> String {
    match ratio {
        small if small < 9.995 => format!("{small:.2}"),
        middle if middle < 99.95 => format!("{middle:.1}"),
        large => numbers::whole(large),
    }
}

/// Adds CPU time and memory, where a verdict calls them different.
fn beside(comparison: &BenchComparison) -> String {
    let parts: Vec<String> = [
        more_or_less(&comparison.cpu, "CPU time"),
        more_or_less(&comparison.peak_memory, "memory"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(", using {}", parts.join(" and ")),
    }
}

/// `12 % less memory`, `3.1 times the memory`.
fn more_or_less(found: &Judged, what: &str) -> Option<String> {
    let ratio = found.effect?.ratio;
    match found.verdict {
        Verdict::Better => Some(format!("{} less {what}", numbers::share(1.0 - ratio))),
        Verdict::Worse if ratio >= 2.0 => Some(format!("{} times the {what}", times(ratio))),
        Verdict::Worse => Some(format!("{} more {what}", numbers::share(ratio - 1.0))),
        _ => None,
    }
}

/// Sums up comparisons that are too many to describe one by one: how many of each verdict, and the
/// fastest command.
fn summary(record: &BenchRecord, comparisons: &[BenchComparison]) -> String {
    let with = |verdict| {
        let has = |one: &&BenchComparison| one.wall.verdict == verdict;
        comparisons.iter().filter(has).collect::<Vec<_>>()
    };
    let counted = sentences::counts(&[
        (with(Verdict::Better).len(), "faster"),
        (with(Verdict::Worse).len(), "slower"),
        (with(Verdict::NoDifferenceThatMatters).len(), "no different"),
        (with(Verdict::Inconclusive).len(), "not told apart"),
        (with(Verdict::Invalid).len(), "without a verdict"),
    ]);
    let against = comparisons.first().map_or("", |one| one.against.as_str());
    let ratio = |one: &&BenchComparison| one.wall.effect.map_or(1.0, |effect| effect.ratio);
    let better = with(Verdict::Better);
    let fastest = better.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let fastest = fastest.map_or_else(String::new, |one| format!(" {}", pair(record, one)));
    format!(
        "Of {} commands against {}: {counted}.{fastest}",
        comparisons.len(),
        called(record, against),
    )
}
