//! Contrasts that share one error of 5 %: their effects, and the verdict on each.

use model::judgement::Judged;
use model::{Effect, Verdict};

use super::contrast::Contrast;
use super::layout::{Pair, Square};
use super::means::Mean;
use super::values::Values;
use crate::holm;
use crate::rules::Rules;
use crate::signed_rank::{self, SignedRank};
use crate::verdict::Direction;

/// What all contrasts of a run are judged by.
pub(crate) struct Family<'a> {
    pub(crate) values: &'a Values<'a>,
    pub(crate) rules: Rules,
    pub(crate) direction: Direction,
    pub(crate) control: Option<Effect>,
}

impl Family<'_> {
    /// Each contrast with Holm's share of the error, in their order. `is_void` says which may not
    /// have a verdict, whatever their figures.
    pub(crate) fn judge(
        &self,
        contrasts: &[Contrast<'_>],
        is_void: impl Fn(&Contrast<'_>) -> bool,
    ) -> Vec<Judged> {
        let all = contrasts.iter();
        let log_ratios: Vec<Vec<f64>> = all.map(|one| one.log_ratios(self.values)).collect();
        let p_values: Vec<f64> = log_ratios.iter().map(|logs| p_value(logs)).collect();
        let alphas = holm::alphas(&p_values, holm::FAMILY_ALPHA);
        let judged = contrasts.iter().zip(&log_ratios).zip(alphas);
        judged
            .map(|((contrast, log_ratios), alpha)| {
                let effect = signed_rank::effect(log_ratios, alpha);
                let verdict = if is_void(contrast) {
                    Verdict::Invalid
                } else {
                    self.verdict(contrast, effect.as_ref(), alpha)
                };
                Judged { verdict, effect }
            })
            .collect()
    }

    fn verdict(&self, contrast: &Contrast<'_>, effect: Option<&Effect>, alpha: f64) -> Verdict {
        let noise = self.control.map(|control| Effect {
            ratio: control.ratio.powf(contrast.pairs_of_bias()),
            ..control
        });
        self.rules
            .verdict(effect, self.direction, alpha, noise.as_ref())
    }
}

/// All contrasts that a study asks about, each once: what is a corner of a square may be a pair too.
pub(crate) fn each_once<'a, 'b>(
    pairs: impl Iterator<Item = &'b Pair<'a>>,
    means: &[Mean<'a>],
    squares: &[Square<'a>],
) -> Vec<Contrast<'a>>
where
    'a: 'b,
{
    let all = pairs
        .map(Pair::contrast)
        .chain(means.iter().filter_map(Mean::contrast))
        .chain(squares.iter().flat_map(Square::contrasts));
    let mut family: Vec<Contrast<'_>> = Vec::new();
    for contrast in all {
        if !family.contains(&contrast) {
            family.push(contrast);
        }
    }
    family
}

/// The smallest effect that the pairs of two identical arms could see, at the error that the
/// first success of so many contrasts is given.
pub(crate) fn smallest_visible(
    noise: &Contrast<'_>,
    values: &Values<'_>,
    family: usize,
) -> Option<f64> {
    let log_ratios = noise.log_ratios(values);
    let pairs = u32::try_from(log_ratios.len()).ok()?;
    crate::smallest_visible(&log_ratios, pairs, share_of_first(family))
}

/// The fewest pairs of which it can be shown at all, among so many contrasts, that they differ:
/// `n` that all agree have a chance of 2 ÷ 2^n.
pub(crate) fn fewest_that_can_tell(family: usize) -> u32 {
    let agreeing = (2.0 / share_of_first(family)).log2().ceil();
    // Between 6, for a lone contrast, and 71, for as many as a machine's words can count.
    (0..=71)
        .find(|pairs| f64::from(*pairs) >= agreeing)
        .unwrap_or(71)
}

pub(crate) fn share_of_first(family: usize) -> f64 {
    holm::FAMILY_ALPHA / family.max(1) as f64
}

fn p_value(log_ratios: &[f64]) -> f64 {
    SignedRank::of(log_ratios).map_or(1.0, |test| test.p_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_contrasts_need_more_pairs_that_agree() {
        // 2 ÷ 2^6 is 0.031, 2 ÷ 2^11 less than 0.05 ÷ 27 and 2 ÷ 2^10 more.
        assert_eq!([1, 26, 27].map(fewest_that_can_tell), [6, 11, 11]);
        assert_eq!(fewest_that_can_tell(25), 10);
    }
}
