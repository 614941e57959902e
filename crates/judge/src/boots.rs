//! Judges a step that takes a reboot, on the last state of a ladder: each boot gives one value.

use model::judgement::{BetweenBoots, BootEstimate, BootResult, Judged, Outcome};
use model::reboot::Reboot;
use model::run::Phase;
use model::study::Role;
use model::{BlockRecord, RunRecord};

use crate::contrast::Contrast;
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::rules::Rules;
use crate::{count, family, median, welch};

/// Two-sided error of intervals.
const ALPHA: f64 = 0.05;
/// Fewest boots per arm for an interval: with fewer, how boots vary by themselves is too little
/// known.
const FEWEST_BOOTS: usize = 4;

/// Judges the step that takes a reboot; `None` where the run asked for none.
pub(crate) fn judge(
    run: &RunRecord,
    blocks: &[BlockRecord],
    outcome: Outcome,
) -> Option<BetweenBoots> {
    let reboot = run.reboot.as_ref()?;
    let rounds = Rounds::of_phase(blocks, Phase::Boot);
    let boots: Vec<Boot> = (0..reboot.boots.len())
        .map(|place| Boot::of(run, reboot, place, &rounds, outcome))
        .collect();
    let step = run.study.steps.iter().find(|step| step.name == reboot.step);
    let title = step.map_or(&reboot.step, |step| &step.title);
    Some(BetweenBoots {
        step: reboot.step.clone(),
        title: title.clone(),
        option: reboot.option.clone(),
        waits: waits(&boots),
        estimate: estimate(&boots),
        boots: boots.into_iter().map(|boot| boot.result).collect(),
    })
}

/// Whether the run waits for a boot with the step: a boot without it is whole, and none has it yet.
fn waits(boots: &[Boot]) -> bool {
    let is_begun = boots.iter().any(|boot| boot.result.has_step);
    !is_begun && boots.iter().any(Boot::is_whole)
}

/// A boot as it is reported, and the one value that it gives.
struct Boot {
    result: BootResult,
    /// The logarithm of the outcome's median.
    log_median: Option<f64>,
}

impl Boot {
    fn of(
        run: &RunRecord,
        reboot: &Reboot,
        place: usize,
        all: &Rounds<'_>,
        outcome: Outcome,
    ) -> Self {
        let rounds = all.within(&reboot.rounds_of(place));
        let values = |metric| -> Vec<f64> {
            let arms = reboot.arms.iter();
            arms.flat_map(|arm| rounds.values(metric).of_arm(&arm.name))
                .collect()
        };
        let over_blocks = |metric| median::estimate(&values(metric), ALPHA);
        let rounds_done = rounds.complete(&reboot.arms);
        let rules = Rules::of_rounds(run.study.design.smallest_effect, rounds_done);
        let metric = Metric::of_outcome(outcome);
        let control = control(reboot, &rounds, metric, rules);
        let drifted = (control.effect).is_some_and(|effect| rules.control_differs(&effect));
        Self {
            log_median: median::of(&values(metric)).map(f64::ln),
            result: BootResult {
                has_step: reboot.boots[place].has_step,
                server_cpu_us_per_request: over_blocks(Metric::ServerCpu),
                throughput_rps: over_blocks(Metric::Throughput),
                control,
                drifted,
                rounds_done,
                rounds_planned: reboot.rounds,
            },
        }
    }

    fn is_whole(&self) -> bool {
        self.result.rounds_done >= self.result.rounds_planned
    }
}

/// Judges the control: the last state against itself.
fn control(reboot: &Reboot, rounds: &Rounds<'_>, metric: Metric, rules: Rules) -> Judged {
    let again = reboot.arms.iter().find(|arm| arm.role == Role::Control);
    let pair = again.and_then(|again| Some(Contrast::pair(&again.name, again.against.as_deref()?)));
    let judge = |pair| family::judge_control(&pair, rounds.values(metric), rules).judged;
    pair.map_or(Judged::NONE, judge)
}

/// The effect of the step; only boots that were measured in full count.
fn estimate(boots: &[Boot]) -> Option<BootEstimate> {
    let of_arm = |has_step: bool| -> Vec<f64> {
        let boots = boots.iter().filter(|boot| boot.is_whole());
        let of_arm = boots.filter(|boot| boot.result.has_step == has_step);
        of_arm.filter_map(|boot| boot.log_median).collect()
    };
    let (with, without) = (of_arm(true), of_arm(false));
    let has_enough = with.len().min(without.len()) >= FEWEST_BOOTS;
    let interval = has_enough.then(|| welch::interval(&with, &without, ALPHA));
    let spreads = [&with, &without].into_iter().filter_map(|arm| spread(arm));
    Some(BootEstimate {
        ratio: (mean(&with)? - mean(&without)?).exp(),
        without: count(without.len()),
        with: count(with.len()),
        same_arm_ratio: spreads.reduce(f64::max).map(f64::exp),
        interval: interval.flatten().map(|ends| ends.map(f64::exp)),
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest value minus the smallest; `None` for a single value.
fn spread(values: &[f64]) -> Option<f64> {
    let most = values.iter().copied().reduce(f64::max)?;
    let least = values.iter().copied().reduce(f64::min)?;
    (values.len() > 1).then_some(most - least)
}
