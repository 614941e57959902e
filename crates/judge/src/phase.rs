//! Judges contrasts of one phase of a run under load.

use model::Effect;
use model::judgement::Outcome;

use crate::contrast::Contrast;
use crate::family::{self, Answer, Question};
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::rules::Rules;
use crate::{doubts, failures};

/// The blocks of one phase, and the rules by which its contrasts are judged.
pub(crate) struct JudgedPhase<'a> {
    pub(crate) rounds: &'a Rounds<'a>,
    pub(crate) outcome: Outcome,
    pub(crate) rules: Rules,
    pub(crate) control: Option<Effect>,
    /// Whether every verdict is withheld.
    pub(crate) is_void: bool,
}

impl<'a> JudgedPhase<'a> {
    /// Judges all contrasts as one family that shares the error.
    pub(crate) fn judge(&self, contrasts: &[Contrast<'a>]) -> Vec<Answer> {
        let metric = Metric::of_outcome(self.outcome);
        let question = |contrast: &Contrast<'a>| Question {
            contrast: contrast.clone(),
            values: self.rounds.values(metric),
            direction: metric.direction(),
            control: self.control,
            is_void: self.is_void || self.is_unfair(contrast),
        };
        let family: Vec<Question<'_>> = contrasts.iter().map(question).collect();
        family::judge(&family, self.rules)
    }

    /// Whether the arms of a contrast fail differently, or the outcome is a rate that the client
    /// limited.
    fn is_unfair(&self, contrast: &Contrast<'_>) -> bool {
        let blocks_of = |arm| self.rounds.blocks_of(arm);
        let mut failed = contrast
            .arms()
            .map(|arm| failures::failed_share(blocks_of(arm)));
        let first = failed.next().unwrap_or_default();
        let is_limit = |arm| doubts::is_frequent(blocks_of(arm), doubts::is_client_limit);
        failed.any(|other| failures::differ(first, other))
            || (self.outcome == Outcome::Throughput && contrast.arms().any(is_limit))
    }
}
