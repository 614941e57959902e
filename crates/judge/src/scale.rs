//! What further workers bring: each number's share of linear scaling, and the Universal Scalability
//! Law.

use model::judgement::{ArmResult, Scale, ScaleLevel, StepResult};
use model::random::SplitMix64;
use model::study::Role;
use model::{Arm, Estimate, RunRecord};

use crate::rounds::Rounds;
use crate::sweep::{self, Block, Level};

/// Judges how a target scales; `None` for a run whose arms do not differ in their number of workers
/// alone.
pub(crate) fn judge(
    run: &RunRecord,
    rounds: &Rounds<'_>,
    (arms, steps): (&[ArmResult], &[StepResult]),
) -> Option<Scale> {
    let baseline = run.arms.iter().find(|arm| arm.role == Role::Baseline)?;
    let first = *run.study.workload.workers.counts(1).first()?;
    let further = run.arms.iter().filter_map(|arm| {
        let is_like = arm.program == baseline.program && arm.levers == baseline.levers;
        let is_one = is_like && arm.path == baseline.path && arm.role == Role::Step;
        Some((arm, arm.workers.filter(|_| is_one)?))
    });
    let mut counted: Vec<(&Arm, u32)> = further.collect();
    if counted.is_empty() {
        return None;
    }
    counted.push((baseline, first));
    counted.sort_unstable_by_key(|(_, workers)| *workers);
    let levels: Vec<ScaleLevel> = counted
        .into_iter()
        .map(|(arm, workers)| ScaleLevel {
            arm: arm.name.clone(),
            workers,
            client_is_limit: client_limits(rounds, arm),
            ..figures(arm, f64::from(workers) / f64::from(first), (arms, steps))
        })
        .collect();
    let usable = levels.iter().filter(|level| !level.client_is_limit);
    let usable = usable.map(|level| blocks(rounds, level));
    // A number of workers without blocks says nothing.
    let usable: Vec<Level> = usable.filter(|level| !level.blocks.is_empty()).collect();
    let random = SplitMix64::new(run.seed).stream(3);
    let usl = sweep::fit(&usable, random);
    Some(Scale { levels, usl })
}

/// The figures of an arm that has `times` as many workers as the baseline.
fn figures(arm: &Arm, times: f64, (arms, steps): (&[ArmResult], &[StepResult])) -> ScaleLevel {
    let found = arms.iter().find(|result| result.name == arm.name);
    let step = steps.iter().find(|step| step.arm == arm.name);
    let effect = step.and_then(|step| step.throughput);
    let times_as_much = |estimate: Estimate| Estimate {
        value: estimate.value * times,
        low: estimate.low * times,
        high: estimate.high * times,
        ..estimate
    };
    ScaleLevel {
        arm: String::new(),
        workers: 0,
        throughput_rps: found.and_then(|found| found.throughput_rps),
        implied_rps: found
            .and_then(|found| found.implied_rps_per_cpu)
            .map(times_as_much),
        share_of_linear: effect.map(|effect| Estimate {
            value: effect.ratio / times,
            low: effect.low / times,
            high: effect.high / times,
            n: effect.n,
        }),
        client_is_limit: false,
    }
}

fn client_limits(rounds: &Rounds<'_>, arm: &Arm) -> bool {
    let of_arm = || rounds.blocks_of(&arm.name);
    let limited = of_arm().filter(|block| block.reading.client_is_limit());
    let count = of_arm().count();
    count > 0 && 2 * limited.count() >= count
}

/// The blocks of a level in the order of their rounds, as the fit of the law needs them.
fn blocks(rounds: &Rounds<'_>, level: &ScaleLevel) -> Level {
    let mut of_arm: Vec<_> = rounds.blocks_of(&level.arm).collect();
    of_arm.sort_unstable_by_key(|block| block.round);
    let block = |rate: f64| Block {
        throughput_rps: rate,
        response: 1.0,
    };
    let rates = of_arm.iter().map(|block| block.reading.throughput_rps());
    Level {
        load: f64::from(level.workers),
        blocks: rates.filter(|rate| *rate > 0.0).map(block).collect(),
    }
}
