//! A comparison of commands: what was run in which rounds, and the judgement of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{CommandEnd, CommandReading, CommandSpec};
use crate::doubt::Doubt;
use crate::judgement::Judged;
use crate::reading::MachineRuns;
use crate::run::{BlockRecord, Phase, RunRecord};
use crate::study::Role;
use crate::verdict::Estimate;

/// The version of the shape of [`BenchReport`].
pub const BENCH_FORMAT: u32 = 1;

/// A comparison as its run folder describes it.
pub type SavedBench = RunRecord<BenchStudy, BenchCommand>;
/// One run of a command as it is saved: a block of phase [`crate::run::Phase::Command`].
pub type BenchBlock = BlockRecord<CommandReading>;

/// What is asked of the commands of a comparison, and what is decided while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchStudy {
    /// The workload.
    pub workload: BenchWorkload,
    /// The shell that runs the commands; empty if they run without one.
    pub shell: Vec<String>,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// Warm-up rounds, whose runs are not scored, count.
    pub warmup_rounds: u32,
    /// Limits on the number of rounds.
    pub rounds: BenchRounds,
    /// Failures that do not end it.
    pub tolerated: Tolerated,
    /// Rounds of the plan, count; null until the first round has shown how many fit.
    pub rounds_planned: Option<u32>,
    /// Peak memory of a child that does nothing, bytes; 0 until it is measured.
    pub memory_floor_bytes: u64,
}

/// The workload of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchWorkload {
    /// Kind of the workload.
    pub kind: BenchKind,
}

/// The kind of a workload that is a comparison of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BenchKind {
    #[default]
    Bench,
}

/// Limits on the number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRounds {
    /// Fewest rounds, count.
    pub fewest: u32,
    /// Most rounds, count.
    pub most: u32,
}

/// Failures that do not end a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tolerated {
    #[default]
    None,
    AllExits,
    /// Runs that end with one of these exit codes.
    Exits(Vec<i32>),
}

impl Tolerated {
    /// Whether a run that ended in this way counts.
    pub fn admits(&self, end: CommandEnd) -> bool {
        end.is_success()
            || match (self, end) {
                (_, CommandEnd::TimedOut) | (Self::None, _) => false,
                (Self::AllExits, _) => true,
                (Self::Exits(codes), end) => {
                    end.exit_code().is_some_and(|code| codes.contains(&code))
                }
            }
    }
}

/// A command, with the commands that are run around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchCommand {
    #[serde(flatten)]
    pub arm: BenchArm,
    /// The command that is measured.
    pub spec: CommandSpec,
    /// Command that is run once before the first round.
    pub setup: Option<CommandSpec>,
    /// Command that is run before each run.
    pub prepare: Option<CommandSpec>,
    /// Command that is run after each run.
    pub conclude: Option<CommandSpec>,
    /// Command that is run once after the last round, even after a failure.
    pub cleanup: Option<CommandSpec>,
}

/// A command under comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchArm {
    /// `1`, `2` … in the order given, `control` for the reference again, `shell` for a shell that
    /// does nothing.
    pub name: String,
    /// What a reader calls it: the name given, or the command.
    pub title: String,
    /// `baseline` is the reference, `step` any other command, `floor` the shell alone.
    pub role: Role,
    /// The command line as given, with its parameters filled in.
    pub command: String,
    /// Values of the parameters of this arm.
    pub parameters: BTreeMap<String, String>,
    /// Variables of its environment that were set for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// One run of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRun {
    /// Name of the arm.
    pub arm: String,
    /// Number of the round, from 0.
    pub round: u32,
    /// Place in the round, from 0.
    pub position: u32,
    /// How often the comparison had been stopped and resumed before this run; absent for never.
    #[serde(default, skip_serializing_if = "crate::reading::is_nought")]
    pub epoch: u32,
    #[serde(flatten)]
    pub reading: CommandReading,
}

/// Everything that was measured, in the order of measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRecord {
    /// Version of the program.
    pub linerate_version: String,
    /// Seed of the order within rounds.
    pub seed: u64,
    /// The shell that ran the commands; empty if they ran without one.
    pub shell: Vec<String>,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// Warm-up rounds, whose runs are not scored, count.
    pub warmup_rounds: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
    /// Peak memory of a child that does nothing, bytes: no smaller figure can be measured for any
    /// command.
    pub memory_floor_bytes: u64,
    /// The commands in the order given, then the control, then the shell alone.
    pub arms: Vec<BenchArm>,
    /// Every run that counts, in the order of measurement.
    pub runs: Vec<BenchRun>,
}

impl BenchRecord {
    /// Collects what was measured in a comparison, whether it was saved in a folder or not.
    pub fn of(run: &SavedBench, blocks: &[BenchBlock]) -> Self {
        let study = &run.study;
        let one = |block: &BenchBlock| BenchRun {
            arm: block.arm.clone(),
            round: block.round,
            position: block.position,
            epoch: block.epoch,
            reading: block.reading.clone(),
        };
        let runs = blocks.iter();
        let runs = runs.filter(|block| block.phase == Phase::Command);
        Self {
            linerate_version: run.linerate_version.clone(),
            seed: run.seed,
            shell: study.shell.clone(),
            smallest_effect: study.smallest_effect,
            warmup_rounds: study.warmup_rounds,
            rounds_planned: study.rounds_planned.unwrap_or(study.rounds.fewest),
            memory_floor_bytes: study.memory_floor_bytes,
            arms: run.arms.iter().map(|command| command.arm.clone()).collect(),
            runs: runs.map(one).collect(),
        }
    }
}

/// A figure of a run that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BenchMetric {
    Wall,
    Cpu,
    PeakMemory,
}

impl BenchMetric {
    /// All metrics, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Wall, Self::Cpu, Self::PeakMemory];
}

/// The figures of one command's runs by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Median with its order-statistic interval at 95 %, in the unit of the property that holds it.
    pub median: Estimate,
    /// Tenth percentile, same unit.
    pub p10: f64,
    /// Ninetieth percentile, same unit.
    pub p90: f64,
    /// 1.4826 × the median distance from the median, as a share of it; null for one run.
    pub noise_share: Option<f64>,
}

/// One arm's figures, in ns and bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchArmResult {
    /// Name of the arm.
    pub arm: String,
    /// Wall time, ns.
    pub wall_ns: Option<Distribution>,
    /// CPU time, user and system together, ns.
    pub cpu_ns: Option<Distribution>,
    /// CPU time of all CPUs of this machine during its runs; `None` where it is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRuns>,
    /// Peak memory, bytes.
    pub peak_memory_bytes: Option<Distribution>,
}

/// One arm against the reference; below 1 is less, which is better for each metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchComparison {
    /// Name of the arm.
    pub arm: String,
    /// Name of the reference.
    pub against: String,
    /// On wall time.
    pub wall: Judged,
    /// On CPU time.
    pub cpu: Judged,
    /// On peak memory.
    pub peak_memory: Judged,
}

/// The judgement of a comparison of commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchJudgement {
    /// The figures of each arm by itself, in the order of the record.
    pub arms: Vec<BenchArmResult>,
    /// Every command but the reference, against it.
    pub comparisons: Vec<BenchComparison>,
    /// The reference against itself, whose intervals are the noise floors; null if there was only
    /// one command.
    pub control: Option<BenchComparison>,
    /// The smallest change of wall time that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    /// Rounds in which every arm was run, count.
    pub rounds_done: u32,
    /// What a sceptic would ask about.
    pub doubts: Vec<Doubt>,
}

/// The shape of `linerate bench --json`: what was measured, and the judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchReport {
    /// See [`BENCH_FORMAT`].
    pub format: u32,
    /// The answer in one sentence.
    pub answer: String,
    /// What was measured.
    pub record: BenchRecord,
    /// The judgement.
    pub judgement: BenchJudgement,
}
