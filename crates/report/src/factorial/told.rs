//! Sentences about what was found, which claim no more than the verdicts allow.

use model::Verdict;
use model::judgement::LevelResult;

use crate::sentences;

/// Most cells or pairs of levels that are described one by one.
pub(super) const MOST_TOLD: usize = 3;

/// Compares one level with another in a sentence without a full stop that claims no more than the
/// verdict allows. `lead` begins the sentence, `cells` says where it holds, and `why` explains a
/// missing verdict.
pub(super) fn verdict_sentence(
    verdict: Verdict,
    [level, against]: [&str; 2],
    (lead, cells): (&str, &str),
    size: &str,
    why: impl FnOnce() -> String,
) -> String {
    let (there, whole) = match lead {
        "" => ("There", ""),
        _ => ("there", " on the whole"),
    };
    match verdict {
        Verdict::Better => format!("{lead}“{level}” is better than “{against}”{cells}: {size}"),
        Verdict::Worse => format!("{lead}“{level}” is worse than “{against}”{cells}: {size}"),
        Verdict::NoDifferenceThatMatters => format!(
            "{lead}{there} is no difference that matters between “{level}” and “{against}”{cells}: \
             {size}"
        ),
        Verdict::Inconclusive => format!(
            "This run cannot tell{cells} whether “{level}” is better than “{against}”{whole}: {size}"
        ),
        Verdict::Invalid => format!(
            "No verdict on “{level}” against “{against}”{cells}: {}. Measured: {size}",
            why()
        ),
    }
}

/// Prefixes a sentence with the cell in which it holds, and adds the full stop.
pub(super) fn placed(cell: &str, said: &str) -> String {
    if cell.is_empty() {
        return format!("{said}.");
    }
    let cell = sentences::capitalised(cell);
    format!("{cell}: {}.", sentences::uncapitalised(said))
}

/// Size of a change in either direction: the absolute logarithm of its ratio.
pub(crate) fn size(found: &LevelResult) -> f64 {
    found.change.ratio().map_or(0.0, |ratio| ratio.ln().abs())
}

/// Counts the verdicts: `6 better, 3 worse, 1 not told apart`.
pub(super) fn verdict_counts(of: &[Verdict]) -> String {
    let with = |verdict| of.iter().filter(|found| **found == verdict).count();
    sentences::counts(&[
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
