//! Judges a comparison of commands: each against the reference, in pairs of runs of one round.

mod doubts;
mod runs;

use model::bench::{
    BenchArm, BenchArmResult, BenchComparison, BenchEffect, BenchJudgement, BenchMetric,
    BenchRecord,
};
use model::reading::MachineRuns;
use model::study::Role;
use model::{Effect, Verdict};

use crate::rules::{CONTROL_ALPHA, FEWEST_PAIRS, Rules};
use crate::signed_rank::{self, SignedRank};
use crate::{Direction, holm, smallest_visible};
use runs::Runs;

/// Judges the runs of a comparison of commands, finished or not.
///
/// All verdicts of a page share one error of 5 %: the family is every metric of every command.
/// Where the control differs in a metric, no command has a verdict on it.
#[must_use]
pub fn judge_bench(record: &BenchRecord) -> BenchJudgement {
    let bench = Bench::of(record);
    let control = bench.judge_control();
    BenchJudgement {
        arms: record.arms.iter().map(|arm| bench.figures(arm)).collect(),
        comparisons: bench.judge_commands(control.as_ref()),
        smallest_visible: bench.smallest_visible(),
        rounds_done: bench.runs.complete_rounds(&record.arms),
        doubts: doubts::of(&bench, control.as_ref()),
        control,
    }
}

/// The effect of one metric in a comparison.
#[must_use]
pub fn effect_on(comparison: &BenchComparison, metric: BenchMetric) -> BenchEffect {
    match metric {
        BenchMetric::Wall => comparison.wall,
        BenchMetric::Cpu => comparison.cpu,
        BenchMetric::PeakMemory => comparison.peak_memory,
    }
}

/// What every part of the judgement looks at.
struct Bench<'a> {
    record: &'a BenchRecord,
    runs: Runs<'a>,
    rules: Rules,
    reference: Option<&'a BenchArm>,
    commands: Vec<&'a BenchArm>,
}

impl<'a> Bench<'a> {
    fn of(record: &'a BenchRecord) -> Self {
        let with_role = |role| record.arms.iter().filter(move |arm| arm.role == role);
        Self {
            record,
            runs: Runs::of(record),
            rules: Rules {
                smallest_effect: record.smallest_effect,
                fewest_pairs: FEWEST_PAIRS,
            },
            reference: with_role(Role::Baseline).next(),
            commands: with_role(Role::Step).collect(),
        }
    }

    fn control(&self) -> Option<&'a BenchArm> {
        self.record
            .arms
            .iter()
            .find(|arm| arm.role == Role::Control)
    }

    fn log_ratios(&self, arm: &BenchArm, metric: BenchMetric) -> Vec<f64> {
        self.reference.map_or_else(Vec::new, |reference| {
            self.runs.log_ratios(&arm.name, &reference.name, metric)
        })
    }

    fn figures(&self, arm: &BenchArm) -> BenchArmResult {
        let figure = |metric| runs::distribution(&self.runs.values(&arm.name, metric));
        BenchArmResult {
            arm: arm.name.clone(),
            wall_ns: figure(BenchMetric::Wall),
            cpu_ns: figure(BenchMetric::Cpu),
            machine: MachineRuns::of(self.runs.of_arm(&arm.name).filter_map(|run| run.machine)),
            peak_memory_bytes: figure(BenchMetric::PeakMemory),
        }
    }

    fn judge_control(&self) -> Option<BenchComparison> {
        let control = self.control()?;
        Some(self.comparison(control, |metric| {
            let effect = signed_rank::effect(&self.log_ratios(control, metric), CONTROL_ALPHA);
            BenchEffect {
                verdict: self.rules.control_verdict(effect.as_ref()),
                effect,
            }
        }))
    }

    fn judge_commands(&self, control: Option<&BenchComparison>) -> Vec<BenchComparison> {
        let alphas = self.alphas();
        let judged = self
            .commands
            .iter()
            .zip(alphas.chunks(BenchMetric::ALL.len()));
        judged
            .map(|(arm, alphas)| {
                let mut alphas = alphas.iter();
                self.comparison(arm, |metric| {
                    let alpha = alphas.next().copied().unwrap_or(0.0);
                    let control = control.and_then(|control| effect_on(control, metric).effect);
                    self.judge_command(arm, metric, alpha, control.as_ref())
                })
            })
            .collect()
    }

    fn judge_command(
        &self,
        arm: &BenchArm,
        metric: BenchMetric,
        alpha: f64,
        control: Option<&Effect>,
    ) -> BenchEffect {
        let effect = signed_rank::effect(&self.log_ratios(arm, metric), alpha);
        let lower = Direction::LowerIsBetter;
        let is_void = control.is_some_and(|control| self.rules.control_differs(control));
        let verdict = match effect.as_ref() {
            _ if is_void => Verdict::Invalid,
            _ if metric == BenchMetric::PeakMemory && self.both_at_floor(arm) => {
                Verdict::Inconclusive
            }
            effect => self.rules.verdict(effect, lower, alpha, control),
        };
        BenchEffect { verdict, effect }
    }

    /// The error of each comparison: commands in order, and the metrics of each in theirs.
    fn alphas(&self) -> Vec<f64> {
        let p_value =
            |log_ratios: Vec<f64>| SignedRank::of(&log_ratios).map_or(1.0, |test| test.p_value());
        let p_values: Vec<f64> = self
            .commands
            .iter()
            .flat_map(|arm| BenchMetric::ALL.map(|metric| p_value(self.log_ratios(arm, metric))))
            .collect();
        holm::alphas(&p_values, holm::FAMILY_ALPHA)
    }

    fn comparison(
        &self,
        arm: &BenchArm,
        mut effect: impl FnMut(BenchMetric) -> BenchEffect,
    ) -> BenchComparison {
        BenchComparison {
            arm: arm.name.clone(),
            against: self
                .reference
                .map_or_else(String::new, |arm| arm.name.clone()),
            wall: effect(BenchMetric::Wall),
            cpu: effect(BenchMetric::Cpu),
            peak_memory: effect(BenchMetric::PeakMemory),
        }
    }

    fn smallest_visible(&self) -> Option<f64> {
        let log_ratios = self.log_ratios(self.control()?, BenchMetric::Wall);
        let pairs = u32::try_from(log_ratios.len()).ok()?;
        let family = self.commands.len() * BenchMetric::ALL.len();
        smallest_visible(
            &log_ratios,
            pairs,
            holm::FAMILY_ALPHA / family.max(1) as f64,
        )
    }

    fn both_at_floor(&self, arm: &BenchArm) -> bool {
        self.is_at_floor(arm) && self.reference.is_some_and(|arm| self.is_at_floor(arm))
    }

    /// Whether a command's peak memory is that of a child that does nothing. The kernel sums
    /// memory from counters of each CPU that may lag by some dozen pages.
    fn is_at_floor(&self, arm: &BenchArm) -> bool {
        const TOLERANCE_BYTES: f64 = 262_144.0;
        let floor = self.record.memory_floor_bytes as f64 + TOLERANCE_BYTES;
        let peaks = self.runs.values(&arm.name, BenchMetric::PeakMemory);
        crate::median::of(&peaks).is_some_and(|peak| peak <= floor)
    }
}
