//! When a verdict may be given: enough pairs, a control that came out alike, an effect beyond it.

use model::{Effect, Verdict};

use crate::family;
use crate::holm::FAMILY_ALPHA;
use crate::verdict::{self, Direction};

/// Pairs below which no verdict is given: eight that all agree have a p-value of 0.0078.
const FEWEST_PAIRS: u32 = 10;
/// Pairs of a quick form, whose arms share the error by [`crate::holm`].
pub const QUICK_PAIRS: u32 = 16;
/// Error of the control's interval, which is shown as the noise floor.
pub(crate) const CONTROL_ALPHA: f64 = 0.05;
/// Level at which a control that differs voids a run.
const CONTROL_VOIDS_AT: f64 = 0.005;

/// What holds for all comparisons of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// The smallest change worth knowing, as a share.
    pub(crate) smallest_effect: f64,
    pub(crate) fewest_pairs: u32,
    /// The error that all comparisons share.
    pub(crate) family_alpha: f64,
    /// Whether the same processes are asked for so long that states which last for some rounds weigh more than chance.
    pub(crate) states_last: bool,
}

/// The fewest pairs that a verdict takes, count, where the first success of its family is given the two-sided error
/// `alpha`.
pub fn fewest_pairs(alpha: f64) -> u32 {
    FEWEST_PAIRS.max(family::fewest_that_can_tell(alpha))
}

/// Share of the rounds done that must have given pairs; losing more than a quarter is a choice of
/// data by whatever lost them.
const FEWEST_PAIRS_SHARE: f64 = 0.75;

/// The pairs that so many rounds must have given.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of the rounds, which are a u32"
)]
pub(crate) fn most_of(rounds_done: u32) -> u32 {
    (f64::from(rounds_done) * FEWEST_PAIRS_SHARE).ceil() as u32
}

impl Rules {
    /// Those for a run, or a part of one, of which so many rounds are complete.
    pub(crate) fn of_rounds(smallest_effect: f64, rounds_done: u32) -> Self {
        Self {
            smallest_effect,
            fewest_pairs: FEWEST_PAIRS.max(most_of(rounds_done)),
            family_alpha: FAMILY_ALPHA,
            states_last: false,
        }
    }

    /// The verdict on an effect that was given the error `alpha`, beside a control's effect.
    pub(crate) fn verdict(
        &self,
        effect: Option<&Effect>,
        direction: Direction,
        alpha: f64,
        control: Option<&Effect>,
    ) -> Verdict {
        let Some(effect) = effect.filter(|effect| self.has_enough(effect)) else {
            return Verdict::Invalid;
        };
        let said = verdict::decide(effect, direction, self.smallest_effect);
        let stands = effect.alpha <= alpha
            && control.is_none_or(|control| verdict::is_beyond_noise_floor(effect, control));
        match said {
            Verdict::Better | Verdict::Worse if !stands => Verdict::Inconclusive,
            said => said,
        }
    }

    /// The verdict on a control. It is not claimed to be better or worse: either its difference
    /// voids the run, or it is none.
    pub(crate) fn control_verdict(&self, effect: Option<&Effect>) -> Verdict {
        match effect {
            Some(effect) if self.has_enough(effect) && !self.control_differs(effect) => {
                if verdict::is_within(effect, self.smallest_effect) {
                    Verdict::NoDifferenceThatMatters
                } else {
                    Verdict::Inconclusive
                }
            }
            _ => Verdict::Invalid,
        }
    }

    /// Whether two identical arms came out different at the 0.5 % level.
    ///
    /// A difference that lies wholly within the smallest effect does not count: two processes of
    /// one binary do differ by a few tenths of a per cent, by where their memory lies, and enough
    /// pairs will show it. No verdict is about so little, and each must clear the noise floor.
    pub(crate) fn control_differs(&self, effect: &Effect) -> bool {
        effect.p_value < CONTROL_VOIDS_AT && !verdict::is_within(effect, self.smallest_effect)
    }

    pub(crate) fn has_enough(&self, effect: &Effect) -> bool {
        effect.n >= self.fewest_pairs
    }
}
