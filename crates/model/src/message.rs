//! What a study asks of an agent and what the agent answers: one JSON value per line, in each
//! direction.
//!
//! The study sends asks, and the agent answers each with exactly one tell, in order. When its input
//! ends, the agent undoes everything and exits. A blank line asks for nothing: it shows a remote
//! agent that the connection still works.

use std::net::{IpAddr, SocketAddr};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::ProbeValues;
use crate::command::{FolderCommand, Ran};
use crate::command_study::Need;
use crate::cpus::{CpuShare, CpuWish};
use crate::doubt::Doubt;
use crate::explanation::Hindrance;
use crate::facts::{Facts, Watched};
use crate::failure::Failure;
use crate::gate::Build;
use crate::lever::{Leave, LeverSetting, LeverState};
use crate::observation::Observation;
use crate::reading::{Counts, Reading};
use crate::reboot::BootTell;
use crate::run::Rig;
use crate::service::{FoundService, Service};
use crate::study::Program;
use crate::workload::{Pace, Workload};

/// The version of this protocol; agents and studies of different versions do not talk.
pub const PROTOCOL: u32 = 13;

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Opens the conversation; always the first ask.
    Hello {
        /// Version of the protocol; it must be the same at both ends.
        protocol: u32,
    },
    Facts {
        /// Whether to include names and addresses.
        full: bool,
    },
    /// Share the CPUs between both ends, in the way that the user wants.
    Cpus(CpuWish),
    /// Which of these levers can be set here?
    Levers {
        /// The settings that arms may have.
        wanted: Vec<LeverSetting>,
        /// The levers of the first state, on which the others are tried; one may need another.
        first: Vec<LeverSetting>,
        /// How far the levers may reach, now and in the blocks to come.
        #[serde(flatten)]
        leave: Leave,
        /// How many workers the servers have, each on a CPU of its own.
        workers: u32,
    },
    /// How was the kernel started, and how would a person start it with this lever?
    Boot {
        /// A lever that takes hold at boot.
        wanted: LeverSetting,
    },
    /// Observe the machine at rest.
    Watch {
        /// Length of the observation, ms.
        watch_ms: u32,
    },
    /// Is the program of this service here? From now on [`Program::Service`] means it.
    Find {
        /// The service; from now on its name in a program means this one.
        service: Box<Service>,
    },
    /// Check a commit out, and build it. From now on [`Program::Built`] means it.
    Build(Box<Build>),
    /// Start a target and wait until it answers. `levers` are all of the arm's; those that
    /// bind at start take hold now, live ones at each block.
    Start {
        /// Name that the target gets.
        target: String,
        /// The program to start.
        program: Program,
        /// Levers of the arm: those that bind at start take hold now, live ones at each block.
        levers: Vec<LeverSetting>,
        /// The workload that will drive it.
        workload: Workload,
        /// The address of this host by which the client's host reaches it; `None` if one agent is
        /// both ends, which use loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listen: Option<IpAddr>,
    },
    /// Put one block of load on a running target, and read its counters during the block.
    Block(Box<BlockAsk>),
    /// Observe a program at work: a target under load, or a program that already runs.
    Observe(Box<ObserveAsk>),
    /// Measure what this host can do at most.
    Probe(ProbeAsk),
    /// Put one block of load on a target while a resource is hindered.
    Hinder(Box<HinderAsk>),
    /// Connect to a target that the agent of another host has started.
    Meet {
        /// Name that the target gets.
        target: String,
        /// Its address and protocol.
        reach: Reach,
    },
    /// Put one block of load on a target that [`Ask::Meet`] named. Its counters are read at its own
    /// host.
    Load(Box<BlockAsk>),
    /// Set the live levers of a target, and read its counters regularly from now on.
    Count {
        /// Name of the target.
        target: String,
        /// Time between two readings, ms.
        interval_ms: u32,
    },
    /// Stop reading the counters, and report by how much they rose between two readings that lie
    /// near these two moments of this host's clock, and within them.
    Counted {
        /// Name of the target.
        target: String,
        /// The earlier moment, on this host's monotonic clock, ns.
        from_ns: u64,
        /// The later moment, ns.
        to_ns: u64,
    },
    /// What is the time on this host?
    Clock,
    Stop {
        /// Name of the target.
        target: String,
    },
    /// Is this program here?
    FindProgram {
        /// The program.
        need: Box<Need>,
    },
    /// Make a folder for commands; it replaces one that was made before.
    MakeFolder {
        /// Files to write: path below the folder, and text.
        files: BTreeMap<String, String>,
        /// Whether to put a copy of this program into it, as `linerate`.
        with_linerate: bool,
    },
    /// Run a command in that folder.
    Run(FolderCommand),
    /// Start a command in the folder of the server's host, and wait until it listens on TCP.
    Serve(FolderCommand),
    /// End that command and everything that it started; it must have run until now.
    EndServing,
}

impl Ask {
    /// Whether this is the kind of answer that the ask gets if it can be carried out.
    #[must_use]
    pub fn is_answered_by(&self, tell: &Tell) -> bool {
        match (self, tell) {
            (Self::Hello { .. }, Tell::Hello { .. })
            | (Self::Facts { .. }, Tell::Facts(_))
            | (Self::Cpus(_), Tell::Cpus(_))
            | (Self::Levers { .. }, Tell::Levers { .. })
            | (Self::Boot { .. }, Tell::Boot(_))
            | (Self::Watch { .. }, Tell::Watched(_))
            | (Self::Find { .. } | Self::FindProgram { .. }, Tell::Found(_))
            | (Self::Block(_), Tell::Reading(_))
            | (Self::Observe(_), Tell::Observed(_))
            | (Self::Probe(_), Tell::Probed { .. })
            | (Self::Hinder(_), Tell::Hindered(_))
            | (Self::Load(_), Tell::Loaded(_))
            | (Self::Counted { .. }, Tell::Counts { .. } | Tell::Uncounted { .. })
            | (Self::Clock, Tell::Clock(_))
            | (Self::MakeFolder { .. }, Tell::Folder { .. })
            | (Self::Run(_), Tell::Ran(_))
            | (Self::Serve(_), Tell::Serving { .. })
            | (Self::EndServing, Tell::Served) => true,
            (Self::Build(build), Tell::Built { name }) => build.name == *name,
            (Self::Start { target, .. }, Tell::Started { target: name, .. })
            | (Self::Meet { target, .. }, Tell::Met { target: name })
            | (Self::Count { target, .. }, Tell::Counting { target: name })
            | (Self::Stop { target }, Tell::Stopped { target: name }) => target == name,
            _ => false,
        }
    }
}

/// One block of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockAsk {
    /// Name of the target.
    pub target: String,
    /// What drives it.
    pub workload: Workload,
    /// Closed or open loop.
    pub pace: Pace,
    /// Load before the scored window, ms.
    pub settle_ms: u32,
    /// Length of the scored window, ms.
    pub score_ms: u32,
}

/// The request for an observation of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserveAsk {
    /// The program to observe.
    pub whom: Whom,
    /// Longest time of the observation if no block of load determines it, ms.
    pub look_ms: u32,
    /// Seed of the moments that are drawn.
    pub seed: u64,
    /// Processes behind a target under load, to observe in place of its own; empty to observe its
    /// own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<u32>,
    /// Bursts that follow the observation.
    #[serde(default)]
    pub bursts: BurstsAsk,
}

/// Which bursts follow an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BurstsAsk {
    /// All bursts.
    #[default]
    All,
    /// The burst that shows where threads are on a CPU.
    OnCpu,
    /// The burst that shows which system calls are made.
    Calls,
}

/// The request for probes of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeAsk {
    /// The probes, by the names of docs/probes.md; an unknown one gets no values.
    pub names: Vec<String>,
    /// Seed of the order of probes within a round.
    pub seed: u64,
}

/// Which program is observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// The processes of a target, within the scored window of a block.
    Loaded(BlockAsk),
    /// The processes of a target that another host puts under load.
    Target {
        /// Name of the target.
        name: String,
        /// Time from this ask to the beginning of the observation, ms.
        settle_ms: u32,
    },
    /// A process and its descendants.
    Process(u32),
    /// The processes that listen at an address.
    Listener {
        /// IP address and port.
        address: SocketAddr,
    },
    /// A program that is started for the observation, with everything that it starts, until it or
    /// the observation ends; in the latter case it is ended.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
    },
}

/// A block of load while a resource is hindered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HinderAsk {
    /// The block of load.
    pub block: BlockAsk,
    /// The resource that is hindered.
    pub whom: Hindrance,
    /// Share to take of the time of each CPU, or of the quota, 0 to 1; it has no meaning for system
    /// calls that end later.
    pub take: f64,
}

/// The result of a block with a hindrance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HinderedBlock {
    /// The reading of the block.
    pub reading: Reading,
    /// Share of the time that was taken, from each CPU, from the quota, or from the threads that
    /// make the calls, 0 to 1; 0 if a quota could not be lowered.
    pub taken: f64,
}

/// How a target is reached from another host, and which protocol it speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    /// IP address and port.
    pub address: SocketAddr,
    /// The protocol of the target.
    pub speaks: Speaks,
}

/// The folder of commands at the server's host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFolder {
    /// Path of the folder.
    pub path: String,
    /// The address by which the client's host reaches the server's host.
    pub address: IpAddr,
}

/// What a server answers to a request of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerAnswer {
    /// The kind of request in a mix; null if there is only one request.
    pub request: Option<String>,
    /// HTTP status.
    pub status: u16,
    /// Content type; null if the header has none.
    pub content_type: Option<String>,
    /// Length of the body, bytes; null if two answers had different lengths.
    pub body_bytes: Option<u64>,
    /// FNV-1a hash of the body in hexadecimal digits; null if two answers had different ones.
    pub body_hash: Option<String>,
}

/// The protocol of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    /// HTTP/1.1.
    Http {
        /// Path and query of the request.
        path: String,
        /// Whether bodies may rightly differ from one another; absent for no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        varies: bool,
    },
    /// Bare bytes, the same number each time.
    Echo {
        /// Length of a request, bytes.
        request_bytes: usize,
        /// Length of an answer, bytes.
        answer_bytes: usize,
    },
}

/// The result of a block of load on a target of another host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loaded {
    /// When the scored window opened, on the clock that [`Ask::Clock`] reads, ns.
    pub opened_ns: u64,
    /// When the scored window closed, ns.
    pub closed_ns: u64,
    /// The counts at this host, without the target's CPU time.
    pub reading: Reading,
}

/// The time at a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockTell {
    /// `CLOCK_MONOTONIC` of the host, ns.
    pub monotonic_ns: u64,
    /// Identifies the running kernel (`/proc/sys/kernel/random/boot_id`); hosts with the same one
    /// are one machine. It is compared and never saved.
    pub boot_id: String,
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Tell {
    Hello {
        /// Version of the protocol; it must be the same at both ends.
        protocol: u32,
        /// Version of the program.
        linerate_version: String,
        /// The rig in which it works.
        rig: Rig,
    },
    Facts(Box<Facts>),
    /// How the CPUs are shared from now on.
    Cpus(CpuShare),
    Levers {
        /// One entry for each lever that was asked for and is known.
        levers: Vec<LeverState>,
    },
    Boot(Box<BootTell>),
    Watched(Watched),
    Found(FoundService),
    Built {
        /// Name of the build.
        name: String,
    },
    Started {
        /// Name of the target.
        target: String,
        /// Doubts about the target.
        doubts: Vec<Doubt>,
        /// How another host reaches it; `None` if it listens on loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reach: Option<Reach>,
        /// Its answer to each kind of request; empty for a target that was started here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<ServerAnswer>,
    },
    Reading(Box<Reading>),
    Observed(Box<Observation>),
    Probed {
        /// The values of each probe; a probe that cannot run here has none.
        values: ProbeValues,
    },
    Hindered(Box<HinderedBlock>),
    Met {
        /// Name of the target.
        target: String,
    },
    Loaded(Box<Loaded>),
    Counting {
        /// Name of the target.
        target: String,
    },
    Counts {
        #[serde(flatten)]
        counts: Counts,
        /// Doubts about the target; absent if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        doubts: Vec<Doubt>,
    },
    /// The counters were not read twice within the two moments.
    Uncounted {
        /// Name of the target.
        target: String,
    },
    Clock(ClockTell),
    Stopped {
        /// Name of the target.
        target: String,
    },
    /// The folder exists.
    Folder {
        /// Path of the folder.
        path: String,
        /// The folder on the server's host; absent if there is only one host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerFolder>,
    },
    /// The command that was started to serve listens now.
    Serving {
        /// A port on which it listens.
        port: u16,
    },
    /// The command that served has been ended.
    Served,
    /// A command ended.
    Ran(Box<Ran>),
    /// The ask could not be carried out; the agent goes on.
    Failed(Failure),
}

impl Tell {
    /// The doubts that the answer contains.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        match self {
            Self::Started { doubts, .. } | Self::Counts { doubts, .. } => doubts,
            Self::Reading(reading) => &reading.doubts,
            Self::Loaded(loaded) => &loaded.reading.doubts,
            _ => &[],
        }
    }
}
