//! A comparison of commands: what was run in which rounds, and what the judge made of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::CommandReading;
use crate::doubt::Doubt;
use crate::reading::MachineRuns;
use crate::study::Role;
use crate::verdict::{Effect, Estimate, Verdict};

/// The version of the shape of [`BenchReport`].
pub const BENCH_FORMAT: u32 = 1;

/// A command under comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchArm {
    /// `1`, `2` … in the order given, `control` for the reference again, `shell` for a shell that
    /// does nothing.
    pub name: String,
    /// What a reader calls it: the name given, or the command.
    pub title: String,
    pub role: Role,
    /// The line as given, parameters filled in.
    pub command: String,
    /// Values of the parameters of this arm.
    pub parameters: BTreeMap<String, String>,
}

/// One run of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// Name of the arm.
    pub arm: String,
    /// From 0.
    pub round: u32,
    /// Place in the round, from 0.
    pub position: u32,
    #[serde(flatten)]
    pub reading: CommandReading,
}

/// Everything that was measured, in the order in which it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    pub linerate_version: String,
    pub seed: u64,
    /// The shell that ran the commands; empty where none did.
    pub shell: Vec<String>,
    /// The smallest change worth knowing, as a share.
    pub smallest_effect: f64,
    pub warmup_rounds: u32,
    pub rounds_planned: u32,
    /// The peak memory of a child that does nothing: smaller ones cannot be told.
    pub memory_floor_bytes: u64,
    pub arms: Vec<BenchArm>,
    pub runs: Vec<BenchRun>,
}

/// A figure of a run that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchMetric {
    Wall,
    Cpu,
    PeakMemory,
}

impl BenchMetric {
    /// In the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Wall, Self::Cpu, Self::PeakMemory];

    /// The words for a reader.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
            Self::PeakMemory => "peak memory",
        }
    }
}

/// What one command's runs say by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Median with its order-statistic interval.
    pub median: Estimate,
    pub p10: f64,
    pub p90: f64,
    /// 1.4826 × the median distance from the median, as a share of it.
    pub noise_share: Option<f64>,
}

/// One arm's figures, in ns and bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchArmResult {
    pub arm: String,
    pub wall_ns: Option<Distribution>,
    pub cpu_ns: Option<Distribution>,
    /// What stands beside it: all CPUs of this machine; `None` where they are hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRuns>,
    pub peak_memory_bytes: Option<Distribution>,
}

/// One metric of an arm against the reference; below 1 is less, which is better for each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchEffect {
    pub verdict: Verdict,
    pub effect: Option<Effect>,
}

/// One arm against the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchComparison {
    pub arm: String,
    pub against: String,
    pub wall: BenchEffect,
    pub cpu: BenchEffect,
    pub peak_memory: BenchEffect,
}

/// The judgement of a comparison of commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchJudgement {
    pub arms: Vec<BenchArmResult>,
    /// Every command but the reference, against it.
    pub comparisons: Vec<BenchComparison>,
    /// The reference against itself: its intervals are the noise floors.
    pub control: Option<BenchComparison>,
    /// The smallest change of wall time that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    pub rounds_done: u32,
    pub doubts: Vec<Doubt>,
}

/// The shape of `linerate bench --json`: what was measured and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// See [`BENCH_FORMAT`].
    pub format: u32,
    /// The answer in one sentence.
    pub answer: String,
    pub record: BenchRecord,
    pub judgement: BenchJudgement,
}
