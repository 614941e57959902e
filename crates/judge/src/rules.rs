//! When a verdict may be given: enough pairs, a control that does not differ, and an effect beyond
//! the control's.

use model::{Effect, Verdict};

use crate::family;
use crate::holm::FAMILY_ALPHA;
use crate::verdict::{self, Direction};

/// Pairs below which no verdict is given: eight that all agree have a p-value of 0.0078.
const FEWEST_PAIRS: u32 = 10;
/// Pairs of a quick form, whose arms share the error by Holm's method ([`crate::holm`]).
pub const QUICK_PAIRS: u32 = 16;
/// Error of the control's interval, which is shown as the noise floor.
pub(crate) const CONTROL_ALPHA: f64 = 0.05;
/// Level at which a control that differs voids a run.
const CONTROL_VOIDS_AT: f64 = 0.005;

/// The rules for all comparisons of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// The smallest change worth knowing, as a share.
    pub(crate) smallest_effect: f64,
    pub(crate) fewest_pairs: u32,
    /// The error that all comparisons share.
    pub(crate) family_alpha: f64,
    /// Whether the run asks processes that live on from round to round. Then states that last for
    /// some rounds weigh more than chance.
    pub(crate) states_last: bool,
}

/// The fewest pairs for a verdict, count, where the first success of its family gets the two-sided
/// error `alpha`.
pub fn fewest_pairs(alpha: f64) -> u32 {
    FEWEST_PAIRS.max(family::fewest_that_can_tell(alpha))
}

/// Least share of the rounds done that must have given pairs: where more than a quarter is lost,
/// whatever lost them has selected the data.
const FEWEST_PAIRS_SHARE: f64 = 0.75;

/// The pairs that this many rounds must have given.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of the rounds, which are a u32"
)]
pub(crate) fn most_of(rounds_done: u32) -> u32 {
    (f64::from(rounds_done) * FEWEST_PAIRS_SHARE).ceil() as u32
}

impl Rules {
    /// The rules for a run, or a part of one, of which this many rounds are complete.
    pub(crate) fn of_rounds(smallest_effect: f64, rounds_done: u32) -> Self {
        Self {
            smallest_effect,
            fewest_pairs: FEWEST_PAIRS.max(most_of(rounds_done)),
            family_alpha: FAMILY_ALPHA,
            states_last: false,
        }
    }

    /// The verdict on an effect that may use the error `alpha`, compared with the effect of a
    /// control.
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

    /// The verdict on a control, which never counts as better or worse: either its difference voids
    /// the run, or it counts as no difference.
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
