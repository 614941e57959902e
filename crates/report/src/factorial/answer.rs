//! Answers the question of a factorial study in a sentence that claims no more than the verdicts
//! allow.

use model::Verdict;
use model::judgement::{InteractionResult, Judged, LevelResult, MeanResult, Together};

use super::told::{MOST_TOLD, placed, size, verdict_counts, verdict_sentence};
use super::view::View;
use super::{levels, reasons};
use crate::view::Shown;
use crate::{numbers, sentences};

/// Answers the study's question: by interactions if it asks for them, else by means, else by
/// levels.
pub(crate) fn sentence(view: View<'_>) -> String {
    let judgement = view.judgement;
    if !judgement.interactions.is_empty() {
        interactions(view)
    } else if !judgement.means.is_empty() {
        means(view)
    } else {
        levels::sentence(view)
    }
}

fn interactions(view: View<'_>) -> String {
    let all = &view.judgement.interactions;
    if all.len() <= MOST_TOLD {
        let parts: Vec<String> = all.iter().map(|found| interaction(view, found)).collect();
        return parts.join(" ");
    }
    let with = |together: Together| {
        all.iter()
            .filter(|one| one.square.together == together)
            .count()
    };
    let counted = sentences::counts(&[
        (with(Together::OnlyTogether), "where they only pay together"),
        (
            with(Together::MoreTogether),
            "where they pay more together than apart",
        ),
        (
            with(Together::Independent),
            "where neither depends on the other",
        ),
        (
            with(Together::LessTogether),
            "where they pay less together than apart",
        ),
        (with(Together::Inconclusive), "where this run cannot tell"),
        (with(Together::Invalid), "without a verdict"),
    ]);
    let [first, second] = named(view, &all[0]);
    format!("Of {} cases of {first} and {second}: {counted}.", all.len())
}

/// Titles of the two factors, quoted for a sentence.
fn named(view: View<'_>, found: &InteractionResult) -> [String; 2] {
    let [first, second] = &found.factors;
    let title = |name: &String| {
        let factor = view.run.study.factor(name);
        format!("“{}”", factor.map_or(name.as_str(), |factor| &factor.title))
    };
    [title(first), title(second)]
}

fn interaction(view: View<'_>, found: &InteractionResult) -> String {
    let titles = named(view, found);
    let [first, second] = &titles;
    let missing = || numbers::MISSING.to_owned();
    let alone = |judged: &Judged| {
        let effect = judged.effect.as_ref();
        effect.map_or_else(missing, |effect| numbers::ratio(effect.ratio))
    };
    let both = found.square.both.effect.as_ref();
    let figures = format!(
        "alone they change {} by {} and {}, together by {}",
        view.metric().title,
        alone(&found.square.alone[0]),
        alone(&found.square.alone[1]),
        both.map_or_else(missing, numbers::ratio_with_interval)
    );
    let said = sentences::pay_together(found.square.together, &titles);
    let said = said.map_or_else(
        || match found.square.together {
            Together::Invalid => format!(
                "No verdict on {first} and {second}: {}. Measured: {figures}",
                reasons::of_run(view)
            ),
            _ => format!(
                "This run cannot tell whether {first} and {second} depend on one another: {figures}"
            ),
        },
        |said| format!("{said}: {figures}"),
    );
    placed(&view.cell(&found.cell), &said)
}

/// Describes each of a few means. Of many it counts the verdicts, and describes the largest change
/// for the better and for the worse.
fn means(view: View<'_>) -> String {
    let all = &view.judgement.means;
    if all.len() <= MOST_TOLD {
        let parts: Vec<String> = all.iter().map(|mean| mean_of(view, mean)).collect();
        return parts.join(" ");
    }
    let verdicts: Vec<Verdict> = all.iter().map(|mean| mean.verdict).collect();
    let why = if verdicts.iter().all(|verdict| verdict.is_void()) {
        format!(", because {}", reasons::of_run(view))
    } else {
        String::new()
    };
    let counted = verdict_counts(&verdicts);
    let most = [Verdict::Better, Verdict::Worse].map(|verdict| {
        let with = all.iter().filter(|mean| mean.verdict == verdict);
        with.max_by(|a, b| distance(a).total_cmp(&distance(b)))
    });
    let parts = most.into_iter().flatten().map(|mean| mean_of(view, mean));
    let counted = format!("Of {} geometric means: {counted}{why}.", all.len());
    let parts: Vec<String> = std::iter::once(counted).chain(parts).collect();
    parts.join(" ")
}

/// Distance of a mean from no change in either direction: the absolute logarithm of its ratio.
fn distance(mean: &MeanResult) -> f64 {
    let effect = mean.effect.as_ref();
    effect.map_or(0.0, |effect| effect.ratio.ln().abs())
}

fn mean_of(view: View<'_>, mean: &MeanResult) -> String {
    let (level, against) = (view.compared(&mean.level), view.compared(&mean.against));
    let Some(effect) = &mean.effect else {
        return format!(
            "“{level}” and “{against}” cannot be compared on the whole: {}.",
            reasons::of_run(view)
        );
    };
    let size = format!(
        "{} {}, the geometric mean over {} levels of “{}”",
        view.metric().title,
        numbers::ratio_with_interval(effect),
        mean.of.len(),
        view.factor(&mean.over)
    );
    let said = verdict_sentence(
        mean.verdict,
        [&level, &against],
        ("On the whole ", ""),
        &size,
        || reasons::of_run(view),
    );
    placed(&view.cell(&mean.cell), &(said + &regressions(view, mean)))
}

/// Counts the levels that are worse, which a mean hides, and names the worst of them.
fn regressions(view: View<'_>, mean: &MeanResult) -> String {
    let regressed = regressed(view, mean);
    let Some(worst) = regressed.first() else {
        return String::new();
    };
    let name = worst.cell.get(&mean.over).map_or("", String::as_str);
    let most = if regressed.len() == 1 { "" } else { " most" };
    format!(
        "; it is worse in {} of them, “{}”{most} ({})",
        regressed.len(),
        view.level(&mean.over, name),
        Shown::changed(&worst.change).value
    )
}

/// Contrasts that a mean covers and that came out worse, worst first.
fn regressed<'a>(view: View<'a>, mean: &MeanResult) -> Vec<&'a LevelResult> {
    let is_of = |found: &&LevelResult| {
        let mut cell = found.cell.clone();
        cell.remove(&mean.over);
        (&cell, &found.level, &found.against) == (&mean.cell, &mean.level, &mean.against)
    };
    let all = view.judgement.contrasts.iter().filter(is_of);
    let mut worse: Vec<&LevelResult> = all
        .filter(|found| found.verdict == Verdict::Worse)
        .collect();
    worse.sort_by(|a, b| size(b).total_cmp(&size(a)));
    worse
}
