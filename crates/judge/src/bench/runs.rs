//! The runs of a comparison by command and round, and the pairs among them.

use std::collections::BTreeMap;

use model::CommandReading;
use model::bench::{BenchArm, BenchMetric, BenchRecord, Distribution};

use crate::median;

/// Two-sided error of the intervals beside figures that no verdict is about.
const ALPHA: f64 = 0.05;

/// The readings of each arm, by round.
pub(super) struct Runs<'a> {
    by_arm: BTreeMap<&'a str, BTreeMap<u32, &'a CommandReading>>,
}

impl<'a> Runs<'a> {
    pub(super) fn of(record: &'a BenchRecord) -> Self {
        let mut by_arm: BTreeMap<&str, BTreeMap<u32, &CommandReading>> = BTreeMap::new();
        for run in &record.runs {
            let rounds = by_arm.entry(&run.arm).or_default();
            rounds.insert(run.round, &run.reading);
        }
        Self { by_arm }
    }

    /// An arm's readings, by round.
    pub(super) fn of_arm(&self, arm: &str) -> impl Iterator<Item = &'a CommandReading> {
        let rounds = self.by_arm.get(arm);
        rounds
            .into_iter()
            .flat_map(|rounds| rounds.values().copied())
    }

    /// A metric's values in the runs of an arm, by round.
    pub(super) fn values(&self, arm: &str, metric: BenchMetric) -> Vec<f64> {
        let readings = self.of_arm(arm);
        readings
            .filter_map(|reading| value(metric, reading))
            .collect()
    }

    /// Log ratios of arm ÷ against in the rounds in which both have a value.
    pub(super) fn log_ratios(&self, arm: &str, against: &str, metric: BenchMetric) -> Vec<f64> {
        let (Some(arm), Some(against)) = (self.by_arm.get(arm), self.by_arm.get(against)) else {
            return Vec::new();
        };
        arm.iter()
            .filter_map(|(round, reading)| {
                let reference = value(metric, against.get(round)?)?;
                Some((value(metric, reading)? / reference).ln())
            })
            .collect()
    }

    /// Rounds in which every arm was run.
    pub(super) fn complete_rounds(&self, arms: &[BenchArm]) -> u32 {
        let runs = |arm: &BenchArm| self.of_arm(&arm.name).count();
        let fewest = arms.iter().map(runs).min().unwrap_or(0);
        u32::try_from(fewest).unwrap_or(u32::MAX)
    }
}

/// The value in a reading; `None` unless it is above zero, for only those have a logarithm.
pub(super) fn value(metric: BenchMetric, reading: &CommandReading) -> Option<f64> {
    let value = match metric {
        BenchMetric::Wall => reading.wall_ns,
        BenchMetric::Cpu => reading.cpu_ns(),
        BenchMetric::PeakMemory => reading.peak_memory_bytes,
    };
    (value > 0).then_some(value as f64)
}

/// What values say by themselves; `None` without any.
pub(super) fn distribution(values: &[f64]) -> Option<Distribution> {
    let median = median::estimate(values, ALPHA)?;
    let sigma = median::robust_sigma(values);
    Some(Distribution {
        median,
        p10: median::quantile(values, 0.1)?,
        p90: median::quantile(values, 0.9)?,
        noise_share: sigma.map(|sigma| sigma / median.value),
    })
}
