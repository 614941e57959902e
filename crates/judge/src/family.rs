//! From values to judgements: contrasts that share one error of 5 %, their effects, and the verdict
//! on each.

use model::judgement::Judged;
use model::{Effect, Verdict};

use crate::contrast::Contrast;
use crate::rules::{CONTROL_ALPHA, Rules};
use crate::signed_rank;
use crate::values::Values;
use crate::verdict::Direction;
use crate::{count, holm, lasting};

/// A contrast of one metric, with what its verdict depends on.
pub(crate) struct Question<'a> {
    pub(crate) contrast: Contrast<'a>,
    pub(crate) values: &'a Values<'a>,
    pub(crate) direction: Direction,
    /// The control's effect on the metric.
    pub(crate) control: Option<Effect>,
    /// Whether it may not have a verdict, whatever its figures.
    pub(crate) is_void: bool,
}

/// The judgement on a question.
pub(crate) struct Answer {
    /// Its share of the family's error.
    alpha: f64,
    states_last: bool,
    pub(crate) judged: Judged,
}

impl Answer {
    /// The effect on other values, judged like those of the question.
    pub(crate) fn effect(&self, log_ratios: &[f64]) -> Option<Effect> {
        effect(log_ratios, self.alpha, self.states_last)
    }
}

/// The verdict on each contrast of a family.
pub(crate) struct Verdicts<'a> {
    family: Vec<Contrast<'a>>,
    answers: Vec<Answer>,
}

impl<'a> Verdicts<'a> {
    pub(crate) fn new(family: Vec<Contrast<'a>>, answers: Vec<Answer>) -> Self {
        Self { family, answers }
    }

    pub(crate) fn on(&self, contrast: &Contrast<'_>) -> Judged {
        let mut all = self.family.iter().zip(&self.answers);
        let found = all.find(|(member, _)| *member == contrast);
        found.map_or(Judged::NONE, |(_, answer)| answer.judged)
    }
}

/// Contrasts that share an error, each once: a contrast of a square may also be a pair.
pub(crate) fn each_once<'a>(all: impl Iterator<Item = Contrast<'a>>) -> Vec<Contrast<'a>> {
    let mut family: Vec<Contrast<'_>> = Vec::new();
    for contrast in all {
        if !family.contains(&contrast) {
            family.push(contrast);
        }
    }
    family
}

/// The answer to each question, in their order, by Holm's step-down.
pub(crate) fn judge(family: &[Question<'_>], rules: Rules) -> Vec<Answer> {
    let log_ratios: Vec<Vec<f64>> = family.iter().map(Question::log_ratios).collect();
    let effect = |logs: &[f64], alpha| effect(logs, alpha, rules.states_last);
    let p_values = log_ratios.iter().map(|logs| {
        let effect = effect(logs, rules.family_alpha);
        effect.map_or(1.0, |effect| effect.p_value)
    });
    let alphas = holm::alphas(&p_values.collect::<Vec<f64>>(), rules.family_alpha);
    let asked = family.iter().zip(&log_ratios).zip(alphas);
    asked
        .map(|((question, log_ratios), alpha)| {
            let effect = effect(log_ratios, alpha);
            let verdict = question.verdict(effect.as_ref(), alpha, rules);
            Answer {
                alpha,
                states_last: rules.states_last,
                judged: Judged { verdict, effect },
            }
        })
        .collect()
}

/// Judges a baseline against itself, with an error of its own.
pub(crate) fn judge_control(control: &Contrast<'_>, values: &Values<'_>, rules: Rules) -> Answer {
    let log_ratios = control.log_ratios(values);
    let effect = effect(&log_ratios, CONTROL_ALPHA, rules.states_last);
    Answer {
        alpha: CONTROL_ALPHA,
        states_last: rules.states_last,
        judged: Judged {
            verdict: rules.control_verdict(effect.as_ref()),
            effect,
        },
    }
}

/// Whether a control, where one was planned, forbids all other verdicts: it differs, or too little
/// is left of it to say how far two identical arms lie apart.
pub(crate) fn voids(control: Option<Verdict>) -> bool {
    control == Some(Verdict::Invalid)
}

impl Question<'_> {
    fn log_ratios(&self) -> Vec<f64> {
        self.contrast.log_ratios(self.values)
    }

    fn verdict(&self, effect: Option<&Effect>, alpha: f64, rules: Rules) -> Verdict {
        if self.is_void {
            return Verdict::Invalid;
        }
        let noise = self.control.map(|control| Effect {
            ratio: control.ratio.powf(self.contrast.pairs_of_bias()),
            ..control
        });
        rules.verdict(effect, self.direction, alpha, noise.as_ref())
    }
}

/// The smallest effect that the pairs of two identical arms could see, at the error of the first
/// success among `family` contrasts; `None` where the pairs are too few for a verdict.
pub(crate) fn smallest_visible(
    noise: &Contrast<'_>,
    values: &Values<'_>,
    family: usize,
) -> Option<f64> {
    let log_ratios = noise.log_ratios(values);
    crate::smallest_visible(&log_ratios, count(log_ratios.len()), share_of_first(family))
}

/// The fewest pairs that can show a difference at all at the error `alpha`: `n` pairs all agree by
/// chance with a probability of 2 ÷ 2^n.
pub(crate) fn fewest_that_can_tell(alpha: f64) -> u32 {
    let agreeing = (2.0 / alpha).log2().ceil();
    // Between 6, for a lone contrast, and 71, for as many as a machine's words can count.
    (0..=71)
        .find(|pairs| f64::from(*pairs) >= agreeing)
        .unwrap_or(71)
}

pub(crate) fn share_of_first(family: usize) -> f64 {
    holm::FAMILY_ALPHA / family.max(1) as f64
}

fn effect(log_ratios: &[f64], alpha: f64, states_last: bool) -> Option<Effect> {
    let effect = signed_rank::effect(log_ratios, alpha)?;
    Some(if states_last {
        lasting::widened(effect, lasting::widening(log_ratios))
    } else {
        effect
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_contrasts_need_more_pairs_that_agree() {
        // 2 ÷ 2^6 is 0.031, 2 ÷ 2^11 less than 0.05 ÷ 27 and 2 ÷ 2^10 more.
        let fewest = |family| fewest_that_can_tell(share_of_first(family));
        assert_eq!([1, 25, 26, 27].map(fewest), [6, 10, 11, 11]);
    }
}
