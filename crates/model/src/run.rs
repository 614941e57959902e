//! What is saved of a run: `run.json` once, and one line of `blocks.jsonl` for each block.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::{AnswerDemand, ProbeValues};
use crate::cpus::CpuShare;
use crate::doubt::Doubt;
use crate::facts::{Facts, Watched};
use crate::ladder::LeftOut;
use crate::reading::Reading;
use crate::reboot::Reboot;
use crate::rig::RigKind;
use crate::saved::Saved;
use crate::service::ServiceRecord;
use crate::stacks::RunStacks;
use crate::study::{Arm, Program, Study};

/// The version of the run folder's format that this program writes.
pub const RUN_FORMAT: u32 = 1;
/// Name of the file that describes the run.
pub const RUN_FILE: &str = "run.json";
/// Name of the file with one line per block.
pub const BLOCKS_FILE: &str = "blocks.jsonl";
/// Name of the file that records what an emulated link carried, one line per epoch.
pub const LINK_FILE: &str = "link.jsonl";

/// The most that is read of a run's description, or of the record of what a link carried, in bytes.
/// A stranger may write it so that it takes many times as much memory.
pub const MOST_RUN_BYTES: u64 = 16 << 20;
/// The most that is read of the output of evidence commands, in bytes; 1 MiB is kept of each
/// command.
pub const MOST_EVIDENCE_BYTES: u64 = 64 << 20;
/// The most that is read of a run's blocks, in bytes: 2,000 rounds of twenty arms take some 100 MB.
pub const MOST_BLOCKS_BYTES: u64 = 128 << 20;
/// The most rounds of a run, and of `--rounds`: judging takes memory by their square, and time by
/// their cube.
pub const MOST_ROUNDS: u32 = 2_000;

/// The description of a run. It is written before the first block, and again when a ladder is
/// confirmed or the machine was restarted. By default the run is of a study under load; other type
/// parameters make it one of a study of commands (see [`crate::command_run::CommandRun`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord<S = Study, A = Arm> {
    /// Format of the folder; see [`RUN_FORMAT`].
    pub format: u32,
    /// Version of the program that measured.
    pub linerate_version: String,
    /// Start in UTC, RFC 3339.
    pub started_utc: String,
    /// The command that repeats the run, without secrets.
    pub command: String,
    /// Seed of the order of arms, of arrival times, and of a link's random events where its study
    /// has no separate seed for them.
    pub seed: u64,
    /// The study as it was run.
    pub study: S,
    /// The arms that this machine could run.
    pub arms: Vec<A>,
    /// The steps of the study without an arm; absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The program of arms that have none of their own; absent where it is our own server or was
    /// running already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceRecord>,
    /// The services of arms that have a program of their own; absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_services: Vec<ServiceRecord>,
    /// The programs that the commands need, as far as they were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
    /// The hosts and links.
    pub rig: Rig,
    /// Whether its blocks set levers that reach further than a namespace of our own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_host: bool,
    /// Facts of the server's host.
    pub facts: Facts,
    /// How the CPUs of one machine were shared between both ends, or which CPUs the server's host
    /// has; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuShare>,
    /// The machine at rest, before the run.
    pub watched: Watched,
    /// The client's host; absent where it is the server's too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientHost>,
    /// The smallest effect that the plan can see here, guessed from a rehearsal of identical
    /// arms before the first block, as a share.
    #[serde(default)]
    pub expected_visible: Option<f64>,
    /// What the server's host can do at most, by probes before the first block; absent in older runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probed: ProbeValues,
    /// What one answer of each arm takes of the resources in `probed`, by a look before the first
    /// block; absent in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<AnswerDemand>,
    /// How the last state of a whole ladder is confirmed; `None` until its climb is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The step that takes a reboot; absent where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// The functions in which its servers spent their time; absent where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<RunStacks>,
    /// Doubts known before the first block, such as levers that this machine refuses.
    pub doubts: Vec<Doubt>,
}

/// The reasons why a text is no run record that this version reads.
#[derive(Debug, thiserror::Error)]
pub enum BadRun {
    #[error(
        "it was written by a newer Linerate: its format is {found}, this one reads {RUN_FORMAT}; \
         use that version or a later one"
    )]
    Newer { found: u64 },
    #[error(
        "it was written by an older Linerate: its format is {found}, this one reads {RUN_FORMAT}; \
         use that version, or run the study again"
    )]
    Older { found: u64 },
    #[error(
        "it is no run record: {0}; the file was changed or cut short, so take it from its source \
         again"
    )]
    Broken(#[from] serde_json::Error),
}

impl<S, A> RunRecord<S, A>
where
    Self: Saved,
{
    /// Reads a `run.json`. The format is checked first, because the rest of another format would
    /// only give a misleading error.
    ///
    /// # Errors
    /// Another format, or a text that is no run record.
    pub fn parse(text: &str) -> Result<Self, BadRun> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let Format { format: found } = serde_json::from_str(text)?;
        match found.cmp(&u64::from(RUN_FORMAT)) {
            Ordering::Greater => Err(BadRun::Newer { found }),
            Ordering::Less => Err(BadRun::Older { found }),
            Ordering::Equal => Ok(Self::from_json(text.as_bytes())?),
        }
    }
}

impl<S, A> RunRecord<S, A> {
    /// Describes a run on this machine's loopback that begins now; what only some runs have is left
    /// empty.
    pub fn begun(study: S, arms: Vec<A>, facts: Facts, by: Begun) -> Self {
        Self {
            format: RUN_FORMAT,
            linerate_version: by.linerate_version,
            started_utc: by.started_utc,
            command: by.command,
            seed: by.seed,
            study,
            arms,
            left_out: Vec::new(),
            service: None,
            own_services: Vec::new(),
            programs: Vec::new(),
            rig: Rig::Loopback { reason: None },
            on_host: false,
            facts,
            cpus: None,
            watched: Watched::default(),
            client: None,
            expected_visible: None,
            probed: ProbeValues::new(),
            demands: Vec::new(),
            confirmation: None,
            reboot: None,
            stacks: None,
            doubts: Vec::new(),
        }
    }
}

/// How a run was started, and how to repeat it.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Version of the program that measures.
    pub linerate_version: String,
    /// Start in UTC, RFC 3339.
    pub started_utc: String,
    /// The command that repeats the run, without secrets.
    pub command: String,
    pub seed: u64,
}

impl Begun {
    /// Describes a run that this version starts at the time `wall`.
    pub fn at(wall: SystemTime, command: String, seed: u64) -> Self {
        Self {
            linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_utc: humantime::format_rfc3339_seconds(wall).to_string(),
            command,
            seed,
        }
    }
}

impl RunRecord {
    /// Returns every arm that may have blocks: of the climb, of its confirmation and of each boot.
    pub fn all_arms(&self) -> impl Iterator<Item = &Arm> {
        let confirmed = self.confirmation.iter().flat_map(|it| &it.arms);
        let in_boots = self.reboot.iter().flat_map(|reboot| &reboot.arms);
        self.arms.iter().chain(confirmed).chain(in_boots)
    }

    /// Whether a server was watched under its own traffic, and not loaded.
    pub fn is_watched(&self) -> bool {
        let mut programs = self.arms.iter().map(|arm| &arm.program);
        programs.any(|program| matches!(program, Program::Watched(_)))
    }
}

/// The hosts and links of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rig {
    /// A network namespace of our own, with its own loopback.
    PrivateNamespace,
    /// The machine's loopback.
    Loopback {
        /// Why no namespace of our own was used; `None` where the targets are the user's.
        reason: Option<String>,
    },
    /// Two namespaces of this machine, joined by a pair of virtual devices.
    Netns,
    /// Three namespaces, of which the middle one forwards.
    Router,
    /// Three namespaces, with an encapsulating device between client and server.
    Tunnel,
    /// Machines that were reached over SSH.
    Hosts,
}

impl Rig {
    /// Whether two runs were on rigs of one kind; the reason for a loopback does not matter.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The kind of rig that a study names to get such a rig.
    pub fn kind(&self) -> RigKind {
        match self {
            Self::PrivateNamespace | Self::Loopback { .. } => RigKind::Loopback,
            Self::Netns => RigKind::Netns,
            Self::Router => RigKind::Router,
            Self::Tunnel => RigKind::Tunnel,
            Self::Hosts => RigKind::Hosts,
        }
    }
}

/// The host of the client, where it is another than the server's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientHost {
    /// Facts of that host.
    pub facts: Facts,
    /// That host at rest, before the run.
    pub watched: Watched,
    /// Its clock compared with the server's, before the run.
    pub clocks: ClockComparison,
    /// Whether both hosts are on one machine, under one kernel.
    pub same_machine: bool,
}

/// Two clocks compared by round trips to both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockComparison {
    /// The server's clock minus the client's, ns. Each clock counts from its own host's boot, so
    /// this may be days.
    pub offset_ns: i64,
    /// Largest error of the offset, either way, ns: half of the shortest round trip to each host,
    /// added up.
    pub uncertainty_ns: u64,
}

/// The kind of run that a run folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Servers under load: a [`RunRecord`] with its default type parameters.
    Load,
    /// Commands: a [`crate::command_run::CommandRun`].
    Commands,
    /// Commands side by side: a [`crate::bench::SavedBench`].
    Bench,
    /// A load of many blocks: a [`crate::load_run::SavedLoad`].
    ManyBlocks,
    /// A look at a program: a [`crate::explanation::SavedLook`].
    Look,
    /// A test of streams: a [`crate::stream_run::SavedStreams`].
    Streams,
}

impl RunKind {
    /// The kind of run that a `run.json` describes; `Load` where it does not say, as every run did
    /// before there were others.
    pub fn of(text: &str) -> Self {
        #[derive(Deserialize)]
        struct Run {
            study: StudyOnly,
        }
        #[derive(Deserialize)]
        struct StudyOnly {
            workload: KindOnly,
        }
        #[derive(Deserialize)]
        struct KindOnly {
            kind: String,
        }
        // Nothing else is kept: a tree of the whole JSON takes up to ninety times the size of its
        // text.
        match serde_json::from_str::<Run>(text) {
            Ok(run) => match run.study.workload.kind.as_str() {
                "command" => Self::Commands,
                "bench" => Self::Bench,
                "sweep" | "capacity" => Self::ManyBlocks,
                "look" => Self::Look,
                "stream" => Self::Streams,
                _ => Self::Load,
            },
            Err(_) => Self::Load,
        }
    }
}

/// The purpose of a block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Closed loop: CPU per request and throughput.
    Throughput,
    /// Open loop at a common rate: latency.
    Latency,
    /// Closed loop again, of the last state of a ladder and of what it is compared with.
    Confirmation,
    /// Closed loop, of the last state in each boot of a ladder with a step that takes a reboot.
    Boot,
    /// One run of a command.
    Command,
    /// One level of a sweep.
    Level,
    /// One rate of a search for a capacity, or the closed loop before it.
    Search,
    /// One interval of streams.
    Interval,
}

impl Phase {
    /// The most rounds that are judged together. The rounds of each boot are judged by themselves,
    /// and intervals are no rounds.
    fn most_rounds(self) -> u32 {
        match self {
            Self::Boot | Self::Interval => u32::MAX,
            _ => MOST_ROUNDS,
        }
    }
}

/// One block as it is saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRecord<R = Reading> {
    /// The purpose of the block: closed loop for CPU and throughput, also to confirm a ladder's
    /// last state or to measure it again in each boot, or open loop at a common rate for latency.
    pub phase: Phase,
    /// Epoch, from 0: the stretch between two restarts of the targets.
    pub epoch: u32,
    /// Round, from 0.
    pub round: u32,
    /// Place within the round, from 0.
    pub position: u32,
    /// Name of the arm.
    pub arm: String,
    /// Time since the start of the run or of its resumption, ms.
    pub at_ms: u64,
    /// The measurements of the block.
    pub reading: R,
}

impl<R> BlockRecord<R> {
    /// Returns what identifies a block. A block that was measured again counts once, in its last
    /// epoch.
    pub fn key(&self) -> (Phase, u32, &str) {
        (self.phase, self.round, &self.arm)
    }
}

/// The blocks of a `blocks.jsonl`, and where its whole lines end: a crash may leave part of a line.
#[derive(Debug, PartialEq)]
pub struct Blocks<R = Reading> {
    pub records: Vec<BlockRecord<R>>,
    /// Length of the part of the text that holds whole records, in bytes.
    pub whole_bytes: usize,
}

/// The error for a line of `blocks.jsonl` that is no block.
#[derive(Debug, PartialEq, Eq)]
pub struct BadBlock {
    /// Number of the line, from 1.
    pub line: usize,
    pub reason: String,
}

impl<R> Default for Blocks<R> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            whole_bytes: 0,
        }
    }
}

impl<R> Blocks<R>
where
    BlockRecord<R>: Saved,
{
    /// Reads saved blocks. The text is given as bytes, because a write may be cut short within a
    /// character. A last line without its newline is such a write and is left out; every other line
    /// must be a block.
    ///
    /// Where a round was interrupted by a stop and measured again in a later epoch, the later
    /// blocks are returned.
    ///
    /// # Errors
    /// The first line that is no block, belongs to a round beyond [`MOST_ROUNDS`], or repeats a
    /// block.
    pub fn parse(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<Self, BadBlock> {
        let mut blocks = Self::default();
        let mut newest = HashMap::new();
        let mut outdated = HashSet::new();
        for (index, line) in text
            .as_ref()
            .split_inclusive(|byte| *byte == b'\n')
            .enumerate()
        {
            if !line.ends_with(b"\n") {
                break;
            }
            let bad = |reason: String| BadBlock {
                line: index + 1,
                reason,
            };
            let record =
                BlockRecord::<R>::from_json(line).map_err(|error| bad(error.to_string()))?;
            if record.epoch == u32::MAX {
                return Err(bad(
                    "its epoch is the highest possible, so that no later epoch could follow"
                        .to_owned(),
                ));
            }
            let most = record.phase.most_rounds();
            if record.round >= most {
                return Err(bad(format!(
                    "its round is {}, and there are {most} at most",
                    record.round
                )));
            }
            let key = (record.phase, record.round, record.arm.clone());
            if let Some((before, epoch)) = newest.insert(key, (index, record.epoch)) {
                if epoch >= record.epoch {
                    return Err(bad(format!(
                        "round {} of {} is recorded twice",
                        record.round, record.arm
                    )));
                }
                outdated.insert(before);
            }
            blocks.records.push(record);
            blocks.whole_bytes += line.len();
        }
        let mut index = 0..;
        blocks
            .records
            .retain(|_| !index.next().is_some_and(|at| outdated.contains(&at)));
        Ok(blocks)
    }
}

/// How the last state is confirmed, decided after the climb was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// Steps that made things worse; the last state leaves them out.
    pub dropped: Vec<String>,
    /// The first state, twice; the last state; and the last state without each step that changes
    /// it. Empty where every step was dropped.
    pub arms: Vec<Arm>,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    /// Name under which the study needs the program.
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// What the program called its version.
    pub version: String,
    /// SHA-256 of the program, in hexadecimal; absent where it may not be read, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(round: u32) -> String {
        let record = BlockRecord {
            phase: Phase::Throughput,
            epoch: 0,
            round,
            position: 0,
            arm: "baseline".to_owned(),
            at_ms: 0,
            reading: Reading::default(),
        };
        serde_json::to_string(&record).unwrap() + "\n"
    }

    #[test]
    fn a_line_cut_short_by_a_crash_is_left_out_and_the_rest_kept() {
        let whole = line(0) + &line(1);
        let cut = whole.clone() + &line(2)[..20];
        let blocks = <Blocks>::parse(&cut).unwrap();
        assert_eq!((blocks.records.len(), blocks.whole_bytes), (2, whole.len()));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_that_names_the_line() {
        let error = <Blocks>::parse(&(line(0) + "{}\n" + &line(1))).unwrap_err();
        assert_eq!(error.line, 2);
    }

    #[test]
    fn a_block_is_not_counted_twice() {
        assert!(<Blocks>::parse(&(line(0) + &line(0))).is_err());
    }
}
