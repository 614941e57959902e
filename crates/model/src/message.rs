//! What a study asks of an agent and what the agent tells: one JSON value a line, each way.
//!
//! The study asks, the agent answers each ask with exactly one tell, in order. When its input
//! ends the agent undoes everything and goes. A line without a word asks for nothing: it tells a far
//! agent that the line holds.

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
    /// Always the first.
    Hello {
        /// Version of the protocol; both ends must be of one.
        protocol: u32,
    },
    Facts {
        /// With names and addresses.
        full: bool,
    },
    /// Share the CPUs between both ends, by what somebody wants.
    Cpus(CpuWish),
    /// Which of these can be set here?
    Levers {
        /// The settings that arms may have.
        wanted: Vec<LeverSetting>,
        /// Those of the first state, upon which the others are tried: one may need another.
        first: Vec<LeverSetting>,
        /// How far what is set may reach, now and in the blocks to come.
        #[serde(flatten)]
        leave: Leave,
        /// How many workers the servers have, each on a CPU of its own.
        workers: u32,
    },
    /// How was the kernel started, and how would a person have it started with this?
    Boot {
        /// A lever that binds at the boot.
        wanted: LeverSetting,
    },
    /// Look at the machine at rest for so long.
    Watch {
        /// For so long, ms.
        watch_ms: u32,
    },
    /// Is the program of this service here? From then on [`Program::Service`] means it.
    Find {
        /// The service; from then on it is what its name means in a program.
        service: Box<Service>,
    },
    /// Check a commit out, and build it. From then on [`Program::Built`] means it.
    Build(Box<Build>),
    /// Bring a target up and wait until it answers. `levers` are all of the arm's; those that
    /// bind at start take hold now, live ones at each block.
    Start {
        /// Name to give it.
        target: String,
        /// What is served to.
        program: Program,
        /// Levers of the arm: those that bind at start take hold now, live ones at each block.
        levers: Vec<LeverSetting>,
        /// What will drive it.
        workload: Workload,
        /// The address of this host by which the client's host reaches it; `None` where one agent
        /// is both, which takes loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listen: Option<IpAddr>,
    },
    /// Put one block of load on a target that is up, and read its counters meanwhile.
    Block(Box<BlockAsk>),
    /// Look at a program at work: a target under load, or one that runs already at what it does.
    Observe(Box<ObserveAsk>),
    /// What can this host do at most?
    Probe(ProbeAsk),
    /// Put one block of load on a target, with somebody hindered all the while.
    Hinder(Box<HinderAsk>),
    /// Take up with a target that the agent of another host has brought up.
    Meet {
        /// Name to give it.
        target: String,
        /// How to get there.
        reach: Reach,
    },
    /// Put one block of load on a target that was met. Its counters are read at its own host.
    Load(Box<BlockAsk>),
    /// Put the live levers of a target on, and read its counters every so often from now on.
    Count {
        /// Name of the target.
        target: String,
        /// Between two readings, ms.
        interval_ms: u32,
    },
    /// Read them no more, and tell what they rose by between two readings: near these two moments
    /// of this host's clock, and within them.
    Counted {
        /// Name of the target.
        target: String,
        /// The earlier one, on this host's monotonic clock, ns.
        from_ns: u64,
        /// The later one, ns.
        to_ns: u64,
    },
    /// What time is it there?
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
    /// Make a folder for commands, in the place of one that was made before.
    MakeFolder {
        /// Path below it to the text of a file.
        files: BTreeMap<String, String>,
        /// Whether a copy of this program shall be in it, as `linerate`.
        with_linerate: bool,
    },
    /// Run a command in that folder.
    Run(FolderCommand),
    /// Start a command in the folder of the server's host, and wait until it listens on TCP.
    Serve(FolderCommand),
    /// End it, and all that it started; it must have run until now.
    EndServing,
}

impl Ask {
    /// Whether this is what it may be answered with, where it can be carried out.
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
            (Self::Start { target, .. }, Tell::Started { target: told, .. })
            | (Self::Meet { target, .. }, Tell::Met { target: told })
            | (Self::Count { target, .. }, Tell::Counting { target: told })
            | (Self::Stop { target }, Tell::Stopped { target: told }) => target == told,
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

/// A look at a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserveAsk {
    /// At which.
    pub whom: Whom,
    /// For so long at most, where there is no block of load that lasts its time, ms.
    pub look_ms: u32,
    /// Of the moments that are drawn.
    pub seed: u64,
    /// These processes, to which a target under load leads, in the place of its own; empty for those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<u32>,
    /// Which bursts follow it.
    #[serde(default)]
    pub bursts: BurstsAsk,
}

/// Which bursts follow a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BurstsAsk {
    /// All that there are.
    #[default]
    All,
    /// Where threads are on a CPU.
    OnCpu,
    /// Which system calls are made.
    Calls,
}

/// Probes of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeAsk {
    /// Which, by the names of docs/probes.md; one that is not known has no values.
    pub names: Vec<String>,
    /// Of the order of probes within a round.
    pub seed: u64,
}

/// Which program is looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// The processes of a target, within the scored window of a block.
    Loaded(BlockAsk),
    /// The processes of a target that another host loads.
    Target {
        /// Its name.
        name: String,
        /// The look begins so long after it is asked for, ms.
        settle_ms: u32,
    },
    /// A process and its descendants.
    Process(u32),
    /// Those that listen there.
    Listener {
        /// IP address and port.
        address: SocketAddr,
    },
    /// A program that is started for it, with all that it starts, until it ends or the look does; then it is ended.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
    },
}

/// A block of load with somebody hindered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HinderAsk {
    /// The block.
    pub block: BlockAsk,
    /// Who is hindered.
    pub whom: Hindrance,
    /// Share that is taken of the time of each CPU, or of the quota, 0 to 1; of no meaning where calls begin later.
    pub take: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HinderedBlock {
    /// What the load came to.
    pub reading: Reading,
    /// Share of the time that was taken, of each CPU, of the quota, or of those that make the calls, 0 to 1; 0 of a quota
    /// that could not be lowered.
    pub taken: f64,
}

/// How a target is reached from another host, and what it speaks.
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
    /// Where it is.
    pub path: String,
    /// The address by which the client's host reaches that of the server.
    pub address: IpAddr,
}

/// What a server answers to the request of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerAnswer {
    /// The kind of request of a mix; null where there is one request.
    pub request: Option<String>,
    /// Status of HTTP.
    pub status: u16,
    /// Content type; null where the head has none.
    pub content_type: Option<String>,
    /// Length of the body, bytes; null where two answers had different ones.
    pub body_bytes: Option<u64>,
    /// FNV-1a of the body in hexadecimal digits; null where two answers had different ones.
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
        /// Whether bodies differ from one another by right; absent for no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        varies: bool,
    },
    /// Bare bytes, as many each time.
    Echo {
        /// Of a request.
        request_bytes: usize,
        /// Of an answer.
        answer_bytes: usize,
    },
}

/// What a block of load on a target of another host gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loaded {
    /// When the scored window opened, on the clock that [`Ask::Clock`] tells.
    pub opened_ns: u64,
    /// When it closed, ns.
    pub closed_ns: u64,
    /// What was counted at this host: without the target's CPU time.
    pub reading: Reading,
}

/// The time at a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockTell {
    /// `CLOCK_MONOTONIC` of the host.
    pub monotonic_ns: u64,
    /// Of the kernel that runs there (`/proc/sys/kernel/random/boot_id`); hosts that give the same
    /// are one machine. It is compared and never saved.
    pub boot_id: String,
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Tell {
    Hello {
        /// Version of the protocol; both ends must be of one.
        protocol: u32,
        /// Version of the program.
        linerate_version: String,
        /// Where it works.
        rig: Rig,
    },
    Facts(Box<Facts>),
    /// So they are shared from now on.
    Cpus(CpuShare),
    Levers {
        /// One entry for each that was asked for and is known.
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
        /// Doubts about it.
        doubts: Vec<Doubt>,
        /// How another host gets there; `None` where it listens on loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reach: Option<Reach>,
        /// What it answers to each kind of request; none of a target that is started here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<ServerAnswer>,
    },
    Reading(Box<Reading>),
    Observed(Box<Observation>),
    Probed {
        /// None of a probe that cannot be taken here.
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
        /// What the target makes doubtful; absent where nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        doubts: Vec<Doubt>,
    },
    /// They were not read twice within the two moments.
    Uncounted {
        /// Name of the target.
        target: String,
    },
    Clock(ClockTell),
    Stopped {
        /// Name of the target.
        target: String,
    },
    /// The folder is there.
    Folder {
        /// Where it is.
        path: String,
        /// That of the server's host; absent where it is the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerFolder>,
    },
    /// The command that was to serve listens.
    Serving {
        /// A port at which it listens.
        port: u16,
    },
    /// It has been ended.
    Served,
    /// A command ended.
    Ran(Box<Ran>),
    /// The ask could not be carried out; the agent goes on.
    Failed(Failure),
}

impl Tell {
    /// What it makes doubtful.
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
