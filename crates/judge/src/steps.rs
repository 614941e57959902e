//! One arm against another: effects from pairs, the error each may spend, and the verdict.

use model::judgement::{Outcome, StepResult};
use model::study::Role;
use model::{Arm, Effect, RunRecord, Verdict};

use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::rules::{CONTROL_ALPHA, Rules};
use crate::{holm, signed_rank};

/// An arm and what it is measured against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) against: &'a str,
}

/// All comparisons of a run, in one family of error.
pub(crate) struct Comparisons<'a> {
    rounds: &'a Rounds<'a>,
    outcome: Outcome,
    pub(crate) rules: Rules,
    /// Each step against its own reference.
    pub(crate) steps: Vec<Comparison<'a>>,
    /// The last step against the baseline.
    pub(crate) whole: Option<Comparison<'a>>,
    pub(crate) control: Option<Comparison<'a>>,
}

impl<'a> Comparisons<'a> {
    pub(crate) fn of(run: &'a RunRecord, rounds: &'a Rounds<'a>, outcome: Outcome) -> Self {
        let with_role = |role: Role| {
            let arms = run.arms.iter().filter(move |arm| arm.role == role);
            arms.filter_map(|arm| {
                let against = arm.against.as_deref()?;
                Some(Comparison { arm, against })
            })
        };
        let baseline = run.arms.iter().find(|arm| arm.role == Role::Baseline);
        let steps: Vec<Comparison<'a>> = with_role(Role::Step).collect();
        let whole = steps
            .last()
            .zip(baseline)
            .map(|(last, baseline)| Comparison {
                arm: last.arm,
                against: &baseline.name,
            });
        Self {
            rounds,
            outcome,
            rules: Rules::of_rounds(run.study.design.smallest_effect, rounds.complete(&run.arms)),
            steps,
            whole,
            control: with_role(Role::Control).next(),
        }
    }

    /// The pairs of a comparison on the outcome that verdicts are about.
    pub(crate) fn log_ratios(&self, comparison: &Comparison<'_>) -> Vec<f64> {
        self.log_ratios_of(comparison, Metric::of_outcome(self.outcome))
    }

    /// How many comparisons share the family's error: every step, and the whole where it is not
    /// one of them already.
    pub(crate) fn family_size(&self) -> usize {
        self.steps.len() + usize::from(self.has_whole_of_its_own())
    }

    /// The control against the baseline.
    pub(crate) fn judge_control(&self) -> Option<StepResult> {
        let control = self.control.as_ref()?;
        let mut result = self.result(control, CONTROL_ALPHA);
        result.verdict = self.rules.control_verdict(result.effect.as_ref());
        Some(result)
    }

    /// Every step and the whole, with Holm's share of the family's error for each. `is_void` says
    /// which comparisons may not have a verdict, whatever their figures.
    pub(crate) fn judge_family(
        &self,
        control: Option<&Effect>,
        is_void: impl Fn(&Comparison<'_>) -> bool,
    ) -> (Vec<StepResult>, Option<StepResult>) {
        let own_whole = self.whole.as_ref().filter(|_| self.has_whole_of_its_own());
        let family: Vec<&Comparison<'_>> = self.steps.iter().chain(own_whole).collect();
        let p_values: Vec<f64> = family.iter().map(|c| self.p_value(c)).collect();
        let mut results: Vec<StepResult> = family
            .iter()
            .zip(holm::alphas(&p_values, holm::FAMILY_ALPHA))
            .map(|(comparison, alpha)| {
                let mut result = self.result(comparison, alpha);
                if !is_void(comparison) {
                    let direction = Metric::of_outcome(self.outcome).direction();
                    let effect = result.effect.as_ref();
                    result.verdict = self.rules.verdict(effect, direction, alpha, control);
                }
                result
            })
            .collect();
        let whole = if own_whole.is_some() {
            results.pop()
        } else {
            results.last().cloned()
        };
        (results, whole)
    }

    fn has_whole_of_its_own(&self) -> bool {
        let last_reference = self.steps.last().map(|step| step.against);
        self.whole.map(|whole| whole.against) != last_reference
    }

    fn p_value(&self, comparison: &Comparison<'_>) -> f64 {
        signed_rank::SignedRank::of(&self.log_ratios(comparison)).map_or(1.0, |test| test.p_value())
    }

    /// All figures at one error, without a verdict yet.
    fn result(&self, comparison: &Comparison<'_>, alpha: f64) -> StepResult {
        let effect = |metric| {
            let log_ratios = self.log_ratios_of(comparison, metric);
            signed_rank::effect(&log_ratios, alpha)
        };
        StepResult {
            arm: comparison.arm.name.clone(),
            title: comparison.arm.title.clone(),
            against: comparison.against.to_owned(),
            verdict: Verdict::Invalid,
            effect: effect(Metric::of_outcome(self.outcome)),
            server_cpu: effect(Metric::ServerCpu),
            client_cpu: effect(Metric::ClientCpu),
            throughput: effect(Metric::Throughput),
            published: comparison.arm.published,
        }
    }

    fn log_ratios_of(&self, comparison: &Comparison<'_>, metric: Metric) -> Vec<f64> {
        self.rounds
            .log_ratios(&comparison.arm.name, comparison.against, metric)
    }
}
