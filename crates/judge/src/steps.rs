//! The comparisons of a run under load: one arm against another.

use model::judgement::StepResult;
use model::study::Role;
use model::{Arm, RunRecord};

use crate::contrast::Contrast;
use crate::family::Answer;
use crate::metric::Metric;
use crate::rounds::Rounds;

/// An arm and what it is measured against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) against: &'a str,
}

/// All comparisons of a run, in one family of error.
pub(crate) struct Comparisons<'a> {
    /// Each step against its own reference.
    pub(crate) steps: Vec<Comparison<'a>>,
    /// The last step against the baseline.
    pub(crate) whole: Option<Comparison<'a>>,
    pub(crate) control: Option<Comparison<'a>>,
}

impl<'a> Comparisons<'a> {
    pub(crate) fn of(run: &'a RunRecord) -> Self {
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
            steps,
            whole,
            control: with_role(Role::Control).next(),
        }
    }

    /// Comparisons that share the family's error: every step, and the whole where no step is the
    /// same comparison.
    pub(crate) fn family(&self) -> Vec<Comparison<'a>> {
        let last_reference = self.steps.last().map(|step| step.against);
        let own_whole = self
            .whole
            .filter(|whole| Some(whole.against) != last_reference);
        self.steps.iter().copied().chain(own_whole).collect()
    }

    /// Every step, the control and the whole.
    pub(crate) fn all(&self) -> impl Iterator<Item = Comparison<'a>> {
        let of_steps = self.steps.iter().chain(&self.control);
        of_steps.chain(&self.whole).copied()
    }

    /// The comparison whose spread is that of noise: two identical arms, or without a control the
    /// arms of the first step.
    pub(crate) fn noise(&self) -> Option<Comparison<'a>> {
        self.control.or_else(|| self.steps.first().copied())
    }
}

impl<'a> Comparison<'a> {
    pub(crate) fn contrast(&self) -> Contrast<'a> {
        Contrast::pair(&self.arm.name, self.against)
    }

    /// The judged outcome, and the effects on all metrics at the same error.
    pub(crate) fn result(&self, answer: &Answer, rounds: &Rounds<'_>) -> StepResult {
        let effect = |metric| {
            let log_ratios = self.contrast().log_ratios(rounds.values(metric));
            answer.effect(&log_ratios)
        };
        StepResult {
            arm: self.arm.name.clone(),
            title: self.arm.title.clone(),
            against: self.against.to_owned(),
            verdict: answer.judged.verdict,
            effect: answer.judged.effect,
            server_cpu: effect(Metric::ServerCpu),
            client_cpu: effect(Metric::ClientCpu),
            throughput: effect(Metric::Throughput),
            published: self.arm.published,
        }
    }
}
