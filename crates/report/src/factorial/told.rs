//! What was found, as a sentence tells it: no more than its verdict allows.

use model::Verdict;
use model::judgement::LevelResult;

use crate::sentences;

/// Cells or pairs of levels that are still told one by one.
pub(super) const MOST_TOLD: usize = 3;

/// One level against another, no more than the verdict allows, without a full stop: `lead` begins the
/// sentence, `cells` says where it holds, and `why` where there is no verdict.
pub(super) fn told(
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
            "No verdict on “{level}” against “{against}”{cells}: {}. Seen was {size}",
            why()
        ),
    }
}

/// A sentence that holds in one cell.
pub(super) fn placed(cell: &str, said: &str) -> String {
    if cell.is_empty() {
        return format!("{said}.");
    }
    let cell = sentences::capitalised(cell);
    format!("{cell}: {}.", sentences::uncapitalised(said))
}

/// How far a change is from none, whatever its direction.
pub(crate) fn size(found: &LevelResult) -> f64 {
    found.change.ratio().map_or(0.0, |ratio| ratio.ln().abs())
}

/// `6 better, 3 worse, 1 not told apart`.
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
