//! The answer in one sentence that a person would say, no more than the verdicts allow.

use model::Verdict;
use model::judgement::{InteractionResult, Judged, LevelResult, MeanResult, Together};

use super::reasons;
use super::view::View;
use super::words::Shown;
use crate::{numbers, sentences};

/// Cells or pairs of levels that are still told one by one.
const MOST_TOLD: usize = 3;

/// The answer to the study's question: what it asks for first, in this order.
pub(crate) fn sentence(view: View<'_>) -> String {
    let judgement = view.judgement;
    if !judgement.interactions.is_empty() {
        interactions(view)
    } else if !judgement.means.is_empty() {
        let told: Vec<String> = judgement
            .means
            .iter()
            .map(|mean| mean_of(view, mean))
            .collect();
        told.join(" ")
    } else {
        contrasts(view)
    }
}

fn interactions(view: View<'_>) -> String {
    let all = &view.judgement.interactions;
    if all.len() <= MOST_TOLD {
        let told: Vec<String> = all.iter().map(|found| interaction(view, found)).collect();
        return told.join(" ");
    }
    let with = |together: Together| all.iter().filter(|one| one.together == together).count();
    let counted = counts(&[
        (with(Together::OnlyTogether), "they only pay together"),
        (
            with(Together::MoreTogether),
            "they pay more together than apart",
        ),
        (with(Together::Independent), "neither depends on the other"),
        (
            with(Together::LessTogether),
            "they pay less together than apart",
        ),
        (with(Together::Inconclusive), "this run cannot tell"),
        (with(Together::Invalid), "there is no verdict"),
    ]);
    let [first, second] = named(view, &all[0]);
    format!("Of {} cases of {first} and {second}: {counted}.", all.len())
}

/// The two factors, as a sentence calls them.
fn named(view: View<'_>, found: &InteractionResult) -> [String; 2] {
    let [first, second] = &found.factors;
    let title = |name: &String| {
        let factor = view.run.study.factor(name);
        format!("“{}”", factor.map_or(name.as_str(), |factor| &factor.title))
    };
    [title(first), title(second)]
}

fn interaction(view: View<'_>, found: &InteractionResult) -> String {
    let [first, second] = named(view, found);
    let missing = || numbers::MISSING.to_owned();
    let alone = |judged: &Judged| {
        let effect = judged.effect.as_ref();
        effect.map_or_else(missing, |effect| numbers::ratio(effect.ratio))
    };
    let both = found.both.effect.as_ref();
    let figures = format!(
        "alone they change {} by {} and {}, together by {}",
        view.metric().title,
        alone(&found.alone[0]),
        alone(&found.alone[1]),
        both.map_or_else(missing, numbers::ratio_with_interval)
    );
    let said = match found.together {
        Together::OnlyTogether => format!("{first} and {second} only pay together: {figures}"),
        Together::MoreTogether => {
            format!("{first} and {second} pay more together than apart: {figures}")
        }
        Together::LessTogether => {
            format!("{first} and {second} pay less together than apart: {figures}")
        }
        Together::Independent => {
            format!("{first} and {second} do not depend on one another by what matters: {figures}")
        }
        Together::Inconclusive => format!(
            "This run cannot tell whether {first} and {second} depend on one another: {figures}"
        ),
        Together::Invalid => format!(
            "No verdict on {first} and {second}: {}. Seen was that {figures}",
            reasons::of_run(view)
        ),
    };
    placed(&view.cell(&found.cell), &said)
}

/// A sentence that holds in one cell.
fn placed(cell: &str, said: &str) -> String {
    if cell.is_empty() {
        return format!("{said}.");
    }
    let cell = sentences::capitalised(cell);
    format!("{cell}: {}.", sentences::uncapitalised(said))
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
    let said = match mean.verdict {
        Verdict::Better => format!("On the whole “{level}” is better than “{against}”: {size}"),
        Verdict::Worse => format!("On the whole “{level}” is worse than “{against}”: {size}"),
        Verdict::NoDifferenceThatMatters => format!(
            "On the whole there is no difference that matters between “{level}” and “{against}”: \
             {size}"
        ),
        Verdict::Inconclusive => format!(
            "This run cannot tell whether “{level}” is better than “{against}” on the whole: {size}"
        ),
        Verdict::Invalid => format!(
            "No verdict on “{level}” against “{against}”: {}. Seen was {size}",
            reasons::of_run(view)
        ),
    };
    placed(&view.cell(&mean.cell), &(said + &regressions(view, mean)))
}

/// What a mean hides, worst first.
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
        Shown::change(&worst.change).value
    )
}

/// The contrasts of a mean that came out worse, worst first.
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

/// How far a change is from none, whatever its direction.
pub(crate) fn size(found: &LevelResult) -> f64 {
    found.change.ratio().map_or(0.0, |ratio| ratio.ln().abs())
}

fn contrasts(view: View<'_>) -> String {
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
            reasons::of_contrast(view, cells[0])
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
        "“{level}” is {word} than “{against}” in {} of {} cells: {}; of the others {}{}.",
        most.len(),
        cells.len(),
        range(view, &most),
        verdicts(&others),
        furthest_called(view, &others)
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

/// `, as far as −52.7 % (Clang, -O3)`, of those that were called otherwise than most.
fn furthest_called(view: View<'_>, cells: &[&LevelResult]) -> String {
    let called = cells.iter().filter(|found| is_called(found));
    let furthest = called.max_by(|a, b| size(a).total_cmp(&size(b)));
    furthest.map_or_else(String::new, |found| {
        let (change, cell) = (Shown::change(&found.change).value, view.cell(&found.cell));
        format!(", as far as {change} ({cell})")
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
    let with = |verdict| {
        cells
            .iter()
            .filter(|found| found.verdict == verdict)
            .count()
    };
    counts(&[
        (with(Verdict::Better), "better"),
        (with(Verdict::Worse), "worse"),
        (
            with(Verdict::NoDifferenceThatMatters),
            "without a difference that matters",
        ),
        (with(Verdict::Inconclusive), "not told apart"),
        (with(Verdict::Invalid), "without a verdict"),
    ])
}

fn counts(parts: &[(usize, &str)]) -> String {
    let told = parts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    told.join(", ")
}
