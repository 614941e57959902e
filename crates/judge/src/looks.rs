//! The planned looks: when a comparison may stop, and what it may say then.
//!
//! Looking after every pair with a 95 % interval finds a difference between identical arms in a
//! fifth of cases. Four looks planned beforehand spend 0.05 between them; the sum bounds the error
//! whatever the dependence between looks.

use model::{Effect, Verdict};

use crate::signed_rank::SignedRank;
use crate::verdict::{Direction, decide};

/// A number of pairs at which the data are looked at, and the two-sided error spent there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub pairs: usize,
    pub alpha: f64,
}

/// The looks of a full run. None before 10: eight pairs that all agree have a p-value of 0.0078.
pub const PLANNED: [Look; 4] = [
    Look {
        pairs: 10,
        alpha: 0.005,
    },
    Look {
        pairs: 16,
        alpha: 0.010,
    },
    Look {
        pairs: 24,
        alpha: 0.015,
    },
    Look {
        pairs: 40,
        alpha: 0.020,
    },
];

/// Pairs at the one look of the quick form; its arms share the error by [`crate::holm`].
pub const QUICK_PAIRS: u32 = 16;

/// A comparison that is fed pair by pair.
#[derive(Clone, Debug)]
pub struct Looks {
    direction: Direction,
    smallest_effect: f64,
    differences: Vec<f64>,
    progress: Progress,
}

/// How far a comparison has got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// More pairs are needed up to the next look.
    Continue { next_look: usize },
    /// It is settled; further pairs change nothing.
    Done { verdict: Verdict, effect: Effect },
}

impl Looks {
    /// A comparison without pairs, for the smallest change worth knowing as a share.
    #[must_use]
    pub fn new(direction: Direction, smallest_effect: f64) -> Self {
        Self {
            direction,
            smallest_effect,
            differences: Vec::new(),
            progress: Progress::Continue {
                next_look: PLANNED[0].pairs,
            },
        }
    }

    /// Takes the log ratio of one more pair, and looks if a look is due. A value that is not
    /// finite is no pair and is passed over.
    pub fn feed(&mut self, difference: f64) -> Progress {
        let running = matches!(self.progress, Progress::Continue { .. });
        if running && difference.is_finite() {
            self.differences.push(difference);
            self.look_if_due();
        }
        self.progress
    }

    /// How far it has got.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    fn look_if_due(&mut self) {
        let pairs = self.differences.len();
        let Some(index) = PLANNED.iter().position(|look| look.pairs == pairs) else {
            return;
        };
        let Some(test) = SignedRank::of(&self.differences) else {
            return;
        };
        let effect = test.effect(PLANNED[index].alpha);
        let verdict = decide(&effect, self.direction, self.smallest_effect);
        self.progress = match (verdict, PLANNED.get(index + 1)) {
            (Verdict::Inconclusive, Some(next)) => Progress::Continue {
                next_look: next.pairs,
            },
            _ => Progress::Done { verdict, effect },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(differences: impl Iterator<Item = f64>) -> Looks {
        let mut looks = Looks::new(Direction::LowerIsBetter, 0.03);
        differences.for_each(|difference| {
            looks.feed(difference);
        });
        looks
    }

    #[test]
    fn nine_pairs_that_agree_settle_nothing_and_the_tenth_does() {
        let slower = |count: u32| fed((0..count).map(|i| 0.1 + f64::from(i) / 1e3));
        assert_eq!(slower(9).progress(), Progress::Continue { next_look: 10 });
        let Progress::Done { verdict, effect } = slower(10).progress() else {
            panic!("ten agreeing pairs must settle it");
        };
        assert_eq!(
            (verdict, effect.n, effect.alpha),
            (Verdict::Worse, 10, 0.005)
        );
    }

    #[test]
    fn equal_arms_stop_early_as_no_difference_that_matters() {
        let looks = fed((0..10).map(|i| f64::from(i % 5 - 2) / 1e3));
        assert!(matches!(
            looks.progress(),
            Progress::Done {
                verdict: Verdict::NoDifferenceThatMatters,
                ..
            }
        ));
    }

    #[test]
    fn noise_goes_to_the_last_look_and_ends_inconclusive() {
        let noise = |count: u32| fed((0..count).map(|i| f64::from(i * 17 % 41) / 100.0 - 0.2));
        assert_eq!(noise(39).progress(), Progress::Continue { next_look: 40 });
        assert!(matches!(
            noise(40).progress(),
            Progress::Done {
                verdict: Verdict::Inconclusive,
                ..
            }
        ));
    }

    #[test]
    fn pairs_after_the_end_change_nothing() {
        let mut looks = fed((0..10).map(|_| 0.1));
        let settled = looks.progress();
        assert!((0..40).all(|_| looks.feed(-5.0) == settled));
    }

    #[test]
    fn a_value_that_is_no_number_is_no_pair() {
        let slower = (0..10).flat_map(|i| [f64::NAN, 0.1 + f64::from(i) / 1e3]);
        assert!(matches!(
            fed(slower).progress(),
            Progress::Done {
                verdict: Verdict::Worse,
                ..
            }
        ));
    }

    #[test]
    fn the_looks_spend_no_more_than_the_family_error() {
        let spent: f64 = PLANNED.iter().map(|look| look.alpha).sum();
        assert!(spent <= crate::holm::FAMILY_ALPHA + 1e-12);
    }
}
