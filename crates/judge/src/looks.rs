//! The planned looks: after how many rounds a run may end early, and what error each look has.
//!
//! Looking after every pair with a 95 % interval finds a difference between identical arms in a
//! fifth of cases. Looks that are planned beforehand share the error of the family: the sum of
//! their errors bounds the error of all looks, however they depend on one another.

use model::judgement::StepResult;
use model::{Effect, Verdict};

use crate::holm::FAMILY_ALPHA;
use crate::rules::QUICK_PAIRS;

/// The looks of a run of at most `most_rounds` rounds: the first after as many rounds as a quick
/// form has, each further one after half as many again, and the last at the end.
pub fn planned(most_rounds: u32) -> Vec<u32> {
    let growing = std::iter::successors(Some(QUICK_PAIRS), |look| Some(look + look / 2));
    let before = growing.take_while(|look| *look < most_rounds);
    before.chain([most_rounds]).collect()
}

/// The error of the look that is due now, or else of the next; all of the family's error where none
/// is planned.
///
/// It grows from look to look: one episode of noise may cover all of a few pairs, so early looks
/// demand more.
pub(crate) fn alpha(looks: &[u32], rounds_done: u32) -> f64 {
    let Some(last) = looks.len().checked_sub(1) else {
        return FAMILY_ALPHA;
    };
    let next = looks.iter().position(|look| *look >= rounds_done);
    let share = |at: usize| (at + 1) as f64;
    let shares: f64 = (0..=last).map(share).sum();
    FAMILY_ALPHA * share(next.unwrap_or(last)) / shares
}

/// Whether each answer is as precise as was asked: the whole interval lies within the smallest
/// effect, or the difference is known to within that effect.
pub(crate) fn are_clear(steps: &[StepResult], smallest_effect: f64) -> bool {
    let is_narrow = |effect: &Effect| {
        let ends = [effect.low, effect.high].map(|end| (end / effect.ratio).ln().abs());
        ends.into_iter().all(|end| end <= smallest_effect.ln_1p())
    };
    !steps.is_empty()
        && steps.iter().all(|step| match step.verdict {
            Verdict::NoDifferenceThatMatters => true,
            Verdict::Better | Verdict::Worse => step.effect.as_ref().is_some_and(is_narrow),
            Verdict::Inconclusive | Verdict::Invalid => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_by_half_and_end_with_the_last_round() {
        assert_eq!(planned(100), [16, 24, 36, 54, 81, 100]);
        assert_eq!(planned(16), [16]);
        assert_eq!(planned(5), [5]);
    }

    #[test]
    fn all_looks_together_spend_the_error_of_the_family_and_the_later_ones_more() {
        let looks = planned(100);
        let alphas: Vec<f64> = looks.iter().map(|look| alpha(&looks, *look)).collect();
        assert!((alphas.iter().sum::<f64>() - FAMILY_ALPHA).abs() < 1e-12);
        assert!(alphas.is_sorted());
        assert_eq!(alpha(&looks, 17), alpha(&looks, 24));
        assert_eq!(alpha(&[], 17), FAMILY_ALPHA);
    }
}
