//! Judges a comparison of commands: each against the reference, in pairs of runs of one round.

mod doubts;

use model::bench::{
    BenchArm, BenchArmResult, BenchComparison, BenchJudgement, BenchMetric, BenchRecord,
    Distribution,
};
use model::judgement::Judged;
use model::reading::MachineRuns;
use model::study::Role;
use model::{CommandReading, Verdict};

use crate::contrast::Contrast;
use crate::family::{self, Question};
use crate::rules::Rules;
use crate::values::{Measured, Values};
use crate::{Direction, count, median};

/// Two-sided error of the intervals beside figures that no verdict is about.
const ALPHA: f64 = 0.05;

/// Judges the runs of a comparison of commands, finished or not.
///
/// All verdicts of a page share one error of 5 %: the family is every metric of every command.
/// Where the control differs in a metric, no command has a verdict on it.
pub fn judge_bench(record: &BenchRecord) -> BenchJudgement {
    let bench = Bench::of(record);
    let control = bench.judge_control();
    BenchJudgement {
        arms: record.arms.iter().map(|arm| bench.figures(arm)).collect(),
        comparisons: bench.judge_commands(control.as_ref()),
        smallest_visible: bench.smallest_visible(),
        rounds_done: bench.rounds_done(),
        doubts: doubts::of(&bench, control.as_ref()),
        control,
    }
}

/// The effect of one metric in a comparison.
pub fn effect_on(comparison: &BenchComparison, metric: BenchMetric) -> Judged {
    match metric {
        BenchMetric::Wall => comparison.wall,
        BenchMetric::Cpu => comparison.cpu,
        BenchMetric::PeakMemory => comparison.peak_memory,
    }
}

/// The data that every part of the judgement uses.
struct Bench<'a> {
    record: &'a BenchRecord,
    /// The values of each metric, in the order of [`BenchMetric::ALL`].
    values: [Values<'a>; 3],
    rules: Rules,
    reference: Option<&'a BenchArm>,
    control: Option<&'a BenchArm>,
    commands: Vec<&'a BenchArm>,
}

impl<'a> Bench<'a> {
    fn of(record: &'a BenchRecord) -> Self {
        let with_role = |role| record.arms.iter().filter(move |arm| arm.role == role);
        Self {
            record,
            values: BenchMetric::ALL.map(|metric| Values::of(measured(record, metric))),
            // With 0 rounds, pairs need not come from a minimum share of the rounds.
            rules: Rules::of_rounds(record.smallest_effect, 0),
            reference: with_role(Role::Baseline).next(),
            control: with_role(Role::Control).next(),
            commands: with_role(Role::Step).collect(),
        }
    }

    fn values(&self, metric: BenchMetric) -> &Values<'a> {
        &self.values[metric as usize]
    }

    fn readings(&self, arm: &BenchArm) -> impl Iterator<Item = &'a CommandReading> {
        let runs = self.record.runs.iter();
        let of_arm = runs.filter(move |run| run.arm == arm.name);
        of_arm.map(|run| &run.reading)
    }

    /// The contrast of an arm with the reference.
    fn contrast(&self, arm: &'a BenchArm) -> Contrast<'a> {
        Contrast::pair(&arm.name, self.reference.map_or("", |arm| &arm.name))
    }

    fn rounds_done(&self) -> u32 {
        let runs_of = |arm: &BenchArm| self.readings(arm).count();
        count(self.record.arms.iter().map(runs_of).min().unwrap_or(0))
    }

    fn figures(&self, arm: &BenchArm) -> BenchArmResult {
        let figure = |metric| distribution(&self.values(metric).of_arm(&arm.name));
        BenchArmResult {
            arm: arm.name.clone(),
            wall_ns: figure(BenchMetric::Wall),
            cpu_ns: figure(BenchMetric::Cpu),
            machine: MachineRuns::of(self.readings(arm).filter_map(|run| run.machine)),
            peak_memory_bytes: figure(BenchMetric::PeakMemory),
        }
    }

    fn judge_control(&self) -> Option<BenchComparison> {
        let control = self.control?;
        let contrast = self.contrast(control);
        let judge = |metric| family::judge_control(&contrast, self.values(metric), self.rules);
        let judged = BenchMetric::ALL.map(|metric| judge(metric).judged);
        Some(self.comparison(control, &judged))
    }

    fn judge_commands(&self, control: Option<&BenchComparison>) -> Vec<BenchComparison> {
        let commands = self.commands.iter();
        let asked: Vec<(&BenchArm, BenchMetric)> = commands
            .flat_map(|arm| BenchMetric::ALL.map(|metric| (*arm, metric)))
            .collect();
        let question = |(arm, metric): &(&'a BenchArm, BenchMetric)| {
            let control = control.map(|control| effect_on(control, *metric));
            Question {
                contrast: self.contrast(arm),
                values: self.values(*metric),
                direction: Direction::LowerIsBetter,
                control: control.and_then(|control| control.effect),
                is_void: family::voids(control.map(|control| control.verdict)),
            }
        };
        let family: Vec<Question<'_>> = asked.iter().map(question).collect();
        let mut judged: Vec<Judged> = family::judge(&family, self.rules)
            .into_iter()
            .map(|answer| answer.judged)
            .collect();
        for ((judged, question), (arm, metric)) in judged.iter_mut().zip(&family).zip(&asked) {
            let is_floor = *metric == BenchMetric::PeakMemory && self.both_at_floor(arm);
            if is_floor && !question.is_void {
                judged.verdict = Verdict::Inconclusive;
            }
        }
        let of_commands = judged.chunks(BenchMetric::ALL.len());
        let commands = self.commands.iter().zip(of_commands);
        commands
            .map(|(arm, judged)| self.comparison(arm, judged))
            .collect()
    }

    /// Builds a comparison from the judgement of each metric, in the order of [`BenchMetric::ALL`].
    fn comparison(&self, arm: &BenchArm, judged: &[Judged]) -> BenchComparison {
        let on = |metric| judged[metric as usize];
        let reference = self.reference.map(|arm| arm.name.clone());
        BenchComparison {
            arm: arm.name.clone(),
            against: reference.unwrap_or_default(),
            wall: on(BenchMetric::Wall),
            cpu: on(BenchMetric::Cpu),
            peak_memory: on(BenchMetric::PeakMemory),
        }
    }

    fn smallest_visible(&self) -> Option<f64> {
        let noise = self.contrast(self.control?);
        let family = self.commands.len() * BenchMetric::ALL.len();
        family::smallest_visible(&noise, self.values(BenchMetric::Wall), family)
    }

    fn both_at_floor(&self, arm: &BenchArm) -> bool {
        self.is_at_floor(arm) && self.reference.is_some_and(|arm| self.is_at_floor(arm))
    }

    /// Whether a command's peak memory is that of a child that does nothing. The kernel sums up
    /// memory from counters of each CPU, which may lag by some dozen pages.
    fn is_at_floor(&self, arm: &BenchArm) -> bool {
        const TOLERANCE_BYTES: f64 = 262_144.0;
        let floor = self.record.memory_floor_bytes as f64 + TOLERANCE_BYTES;
        let peaks = self.values(BenchMetric::PeakMemory).of_arm(&arm.name);
        median::of(&peaks).is_some_and(|peak| peak <= floor)
    }
}

/// A metric's values above 0, because only those have a logarithm.
fn measured(record: &BenchRecord, metric: BenchMetric) -> impl Iterator<Item = Measured<'_>> {
    let all = record.runs.iter().map(move |run| Measured {
        arm: &run.arm,
        turn: (run.round, run.epoch),
        position: run.position,
        value: match metric {
            BenchMetric::Wall => run.reading.wall_ns,
            BenchMetric::Cpu => run.reading.cpu_ns(),
            BenchMetric::PeakMemory => run.reading.peak_memory_bytes,
        } as f64,
    });
    all.filter(|measured| measured.value > 0.0)
}

/// The median, the quantiles and the noise of some values; `None` without any.
fn distribution(values: &[f64]) -> Option<Distribution> {
    let median = median::estimate(values, ALPHA)?;
    let sigma = median::robust_sigma(values);
    Some(Distribution {
        median,
        p10: median::quantile(values, 0.1)?,
        p90: median::quantile(values, 0.9)?,
        noise_share: sigma.map(|sigma| sigma / median.value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_of_which_one_run_is_left_voids_every_verdict() {
        let mut record: BenchRecord =
            serde_json::from_str(include_str!("../../tests/frozen/bench/record.json")).unwrap();
        let verdicts = |record: &BenchRecord| -> Vec<Verdict> {
            let commands = judge_bench(record).comparisons;
            commands
                .iter()
                .map(|command| command.wall.verdict)
                .collect()
        };
        assert_ne!(verdicts(&record), [Verdict::Invalid; 2]);
        let control = record.arms.iter().find(|arm| arm.role == Role::Control);
        let control = control.unwrap().name.clone();
        record
            .runs
            .retain(|run| run.arm != control || run.round == 0);
        assert_eq!(verdicts(&record), [Verdict::Invalid; 2]);
    }
}
