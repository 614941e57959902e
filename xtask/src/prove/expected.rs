//! The expected result of one comparison: a range for the estimate, and the verdicts that are
//! right.

use std::ops::RangeInclusive;

use model::Verdict;
use model::judgement::StepResult;

use super::{Proof, step_words};

/// The range in which an estimated ratio of CPU time per request must lie, and the verdicts that
/// are right.
pub(super) struct Expected {
    pub(super) ratios: RangeInclusive<f64>,
    pub(super) verdicts: &'static [Verdict],
}

const ANY: RangeInclusive<f64> = 0.0..=f64::INFINITY;

pub(super) const SURELY_WORSE: Expected = Expected {
    ratios: ANY,
    verdicts: &[Verdict::Worse],
};
pub(super) const NOT_DIFFERENT: Expected = Expected {
    ratios: ANY,
    verdicts: &ALIKE_OR_NOT_YET,
};
/// A busy machine makes a verdict wait: there a worse or an equal arm may still be inconclusive.
pub(super) const WORSE_OR_NOT_YET: [Verdict; 2] = [Verdict::Worse, Verdict::Inconclusive];
pub(super) const ALIKE_OR_NOT_YET: [Verdict; 2] =
    [Verdict::NoDifferenceThatMatters, Verdict::Inconclusive];

impl Expected {
    pub(super) fn holds(&self, step: &StepResult) -> bool {
        let is_near = step
            .effect
            .is_some_and(|effect| self.ratios.contains(&effect.ratio));
        is_near && self.verdicts.contains(&step.verdict)
    }

    /// The proof that a step has the expected result; `what` names the step in the claim.
    pub(super) fn proof(&self, what: &str, step: &StepResult) -> Proof {
        let verdicts: Vec<&str> = self
            .verdicts
            .iter()
            .map(|verdict| verdict.words())
            .collect();
        let (low, high) = self.ratios.clone().into_inner();
        Proof {
            claim: format!(
                "{what} is estimated at {low:.2} to {high:.2}, and called {}",
                verdicts.join(" or ")
            ),
            seen: step_words(step),
            held: self.holds(step),
        }
    }
}
