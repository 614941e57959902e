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

/// The version of the run folder's shape that this program writes.
pub const RUN_FORMAT: u32 = 1;
/// Name of the file that describes the run.
pub const RUN_FILE: &str = "run.json";
/// Name of the file with one line per block.
pub const BLOCKS_FILE: &str = "blocks.jsonl";
/// Name of the file with one line per epoch of what an emulated link carried.
pub const LINK_FILE: &str = "link.jsonl";

/// The most that is read of a description or of what a link carried, in bytes. In memory it may take
/// many times as much, by what a stranger wrote.
pub const MOST_RUN_BYTES: u64 = 16 << 20;
/// The most that is read of the output of commands that are evidence, in bytes; 1 MiB of each is kept.
pub const MOST_EVIDENCE_BYTES: u64 = 64 << 20;
/// The most that is read of its blocks, in bytes: those of 2,000 rounds of twenty arms take some 100 MB.
pub const MOST_BLOCKS_BYTES: u64 = 128 << 20;
/// The most rounds of a run, as `--rounds` has them: judging takes memory by their square, and time by their cube.
pub const MOST_ROUNDS: u32 = 2_000;

/// What a run is, written before its first block and again where a ladder is confirmed or the
/// machine was started anew: of a study under load, or with other parameters of a study of commands
/// (see [`crate::command_run::CommandRun`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord<S = Study, A = Arm> {
    /// Shape of the folder; see [`RUN_FORMAT`].
    pub format: u32,
    /// Version of the program that measured.
    pub linerate_version: String,
    /// Start in UTC, RFC 3339.
    pub started_utc: String,
    /// The command that repeats it, without secrets.
    pub command: String,
    /// Seed of the order of arms, of arrival times, and of a link's chances where its study has no seed
    /// of their own.
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
    /// Whether levers that reach further than a namespace of our own were set in its blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_host: bool,
    /// Of the server's host.
    pub facts: Facts,
    /// How the CPUs of one machine were shared between both ends, or of the server's host what it has; absent in
    /// older runs.
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
    /// What an answer of each arm takes of it, by a look before the first block; absent in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<AnswerDemand>,
    /// How the last state of a whole ladder is confirmed; `None` until its climb is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The step that takes a reboot; absent where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// Which functions its servers' time went into; absent where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<RunStacks>,
    /// Doubts known before the first block, such as levers that this machine refuses.
    pub doubts: Vec<Doubt>,
}

/// Why a text is no run record that this version reads.
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
    /// Reads a `run.json`. Its format is looked at first, because the rest of another format
    /// would only give a misleading error.
    ///
    /// # Errors
    /// Another format, or a text that is none.
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
    /// A run on this machine's loopback that begins now, without what only some runs have.
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

/// What begins a run, and what repeats it.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Version of the program that measures.
    pub linerate_version: String,
    /// In UTC, RFC 3339.
    pub started_utc: String,
    /// The command, without secrets.
    pub command: String,
    pub seed: u64,
}

impl Begun {
    /// By this version, at this time.
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
    /// Every arm of which it may have blocks: of the climb, of its confirmation and of each boot.
    pub fn all_arms(&self) -> impl Iterator<Item = &Arm> {
        let confirmed = self.confirmation.iter().flat_map(|of| &of.arms);
        let in_boots = self.reboot.iter().flat_map(|reboot| &reboot.arms);
        self.arms.iter().chain(confirmed).chain(in_boots)
    }

    /// Whether a server was watched under the traffic that it has, and not loaded.
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
        /// Why no namespace of our own; `None` where the targets are the user's.
        reason: Option<String>,
    },
    /// Two namespaces of this machine, joined by a pair of virtual devices.
    Netns,
    /// Three namespaces, the one in the middle forwarding.
    Router,
    /// Three namespaces, with an encapsulating device between client and server.
    Tunnel,
    /// Machines that were reached over SSH.
    Hosts,
}

impl Rig {
    /// Whether two runs were on rigs of one kind: of a loopback, the reason for it does not matter.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// How such a rig is asked for.
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
    /// That host.
    pub facts: Facts,
    /// That host at rest, before the run.
    pub watched: Watched,
    /// Its clock beside the server's, before the run.
    pub clocks: ClockComparison,
    /// Whether both hosts are on one machine: one kernel runs them.
    pub same_machine: bool,
}

/// Two clocks side by side, from round trips to both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockComparison {
    /// The server's clock less the client's. Each counts from its own host's boot, so this may be
    /// days.
    pub offset_ns: i64,
    /// The offset is within this of the truth, either way: half of the shortest round trip to
    /// each, added up.
    pub uncertainty_ns: u64,
}

/// What a run folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Servers under load: a [`RunRecord`] as it is by itself.
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
            study: Of,
        }
        #[derive(Deserialize)]
        struct Of {
            workload: KindOnly,
        }
        #[derive(Deserialize)]
        struct KindOnly {
            kind: String,
        }
        // Of what else is there nothing is kept: a tree of it takes up to ninety times its text.
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

/// What a block was for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Closed loop: CPU per request and throughput.
    Throughput,
    /// Open loop at a common rate: latency.
    Latency,
    /// Closed loop again, of the last state of a ladder and what it is held against.
    Confirmation,
    /// Closed loop, of that state in each boot of a ladder with a step that takes a reboot.
    Boot,
    /// One run of a command.
    Command,
    /// One level of a sweep.
    Level,
    /// One rate of a search for a capacity, or what closed loop carries before it.
    Search,
    /// One interval of streams.
    Interval,
}

impl Phase {
    /// The most rounds that are judged together, of each boot by itself; intervals are no rounds.
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
    /// Closed loop for CPU and throughput, the same of a ladder's last state to confirm it or once
    /// more in each boot, or open loop at a common rate for latency.
    pub phase: Phase,
    /// Stretch between restarts of the targets, from 0.
    pub epoch: u32,
    /// Round, from 0.
    pub round: u32,
    /// Place within the round, from 0.
    pub position: u32,
    /// Name of the arm.
    pub arm: String,
    /// Since the start of the run or of its resumption, ms.
    pub at_ms: u64,
    /// What was counted.
    pub reading: R,
}

impl<R> BlockRecord<R> {
    /// What makes a block the same block, which counts once, in the epoch in which it was measured last.
    pub fn key(&self) -> (Phase, u32, &str) {
        (self.phase, self.round, &self.arm)
    }
}

/// The blocks of a `blocks.jsonl`, and what a crash left behind the last whole line.
#[derive(Debug, PartialEq)]
pub struct Blocks<R = Reading> {
    pub records: Vec<BlockRecord<R>>,
    /// Length of the part of the text that holds whole records, in bytes.
    pub whole_bytes: usize,
}

/// A line of `blocks.jsonl` that is no block.
#[derive(Debug, PartialEq, Eq)]
pub struct BadBlock {
    /// From 1.
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
    /// Reads saved blocks, as bytes: a write may be cut short within a character. A last line
    /// without its newline is such a write and is left out; any other line is a block.
    ///
    /// Of a round that a stop tore, and that was measured anew in a later epoch, the later blocks are taken.
    ///
    /// # Errors
    /// The first line that is no block, is of a round beyond [`MOST_ROUNDS`], or stands there twice.
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
                return Err(bad("no later epoch could follow its own".to_owned()));
            }
            let most = record.phase.most_rounds();
            if record.round >= most {
                return Err(bad(format!(
                    "it is of round {}, and there are {most} at most",
                    record.round
                )));
            }
            let key = (record.phase, record.round, record.arm.clone());
            if let Some((before, epoch)) = newest.insert(key, (index, record.epoch)) {
                if epoch >= record.epoch {
                    return Err(bad(format!(
                        "round {} of {} stands twice",
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

/// How the last state is confirmed, settled once the climb was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// Steps that made things worse, which the last state does without.
    pub dropped: Vec<String>,
    /// The first state, twice; the last; and the last without each step that makes it another one.
    /// None where every step was dropped.
    pub arms: Vec<Arm>,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    /// The name of the need.
    pub name: String,
    /// What readers call it.
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
