//! What a study asks of an agent and what the agent tells: one JSON value a line, each way.
//!
//! The study asks, the agent answers each ask with exactly one tell, in order. When its input
//! ends the agent undoes everything and goes. A line without a word asks for nothing: it tells a far
//! agent that the line holds.

use std::net::{IpAddr, SocketAddr};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::{FolderCommand, Ran};
use crate::command_study::Need;
use crate::doubt::Doubt;
use crate::facts::{Facts, Watched};
use crate::lever::{LeverSetting, LeverState};
use crate::reading::{Counts, Reading};
use crate::reboot::BootTell;
use crate::run::Rig;
use crate::service::{FoundService, Service};
use crate::study::Program;
use crate::workload::{Pace, Workload};

/// The version of this protocol; agents and studies of different versions do not talk.
pub const PROTOCOL: u32 = 5;

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Always the first.
    Hello {
        protocol: u32,
    },
    Facts {
        /// With names and addresses.
        full: bool,
    },
    /// Which of these can be set here?
    Levers {
        wanted: Vec<LeverSetting>,
        /// Those of the first state, upon which the others are tried: one may need another.
        first: Vec<LeverSetting>,
        /// Whether what reaches further than a namespace of our own may be set, now and in the
        /// blocks to come.
        on_host: bool,
    },
    /// How was the kernel started, and how would a person have it started with this?
    Boot {
        wanted: LeverSetting,
    },
    /// Look at the machine at rest for so long.
    Watch {
        watch_ms: u32,
    },
    /// Is the program of this service here? From then on [`Program::Service`] means it.
    Find {
        service: Box<Service>,
    },
    /// Bring a target up and wait until it answers. `levers` are all of the arm's; those that
    /// bind at start take hold now, live ones at each block.
    Start {
        target: String,
        program: Program,
        levers: Vec<LeverSetting>,
        workload: Workload,
        /// The address of this host by which the client's host reaches it; `None` where one agent
        /// is both, which takes loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listen: Option<IpAddr>,
    },
    /// Put one block of load on a target that is up, and read its counters meanwhile.
    Block(Box<BlockAsk>),
    /// Take up with a target that the agent of another host has brought up.
    Meet {
        target: String,
        reach: Reach,
    },
    /// Put one block of load on a target that was met. Its counters are read at its own host.
    Load(Box<BlockAsk>),
    /// Put the live levers of a target on, and read its counters every so often from now on.
    Count {
        target: String,
        interval_ms: u32,
    },
    /// Read them no more, and tell what they rose by between two readings: near these two moments
    /// of this host's clock, and within them.
    Counted {
        target: String,
        from_ns: u64,
        to_ns: u64,
    },
    /// What time is it there?
    Clock,
    Stop {
        target: String,
    },
    /// Is this program here?
    FindProgram {
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
}

impl Ask {
    /// Whether this is what it may be answered with, where it can be carried out.
    #[must_use]
    pub fn is_answered_by(&self, tell: &Tell) -> bool {
        match (self, tell) {
            (Self::Hello { .. }, Tell::Hello { .. })
            | (Self::Facts { .. }, Tell::Facts(_))
            | (Self::Levers { .. }, Tell::Levers { .. })
            | (Self::Boot { .. }, Tell::Boot(_))
            | (Self::Watch { .. }, Tell::Watched(_))
            | (Self::Find { .. } | Self::FindProgram { .. }, Tell::Found(_))
            | (Self::Block(_), Tell::Reading(_))
            | (Self::Load(_), Tell::Loaded(_))
            | (Self::Counted { .. }, Tell::Counts { .. } | Tell::Uncounted { .. })
            | (Self::Clock, Tell::Clock(_))
            | (Self::MakeFolder { .. }, Tell::Folder { .. })
            | (Self::Run(_), Tell::Ran(_)) => true,
            (Self::Start { target, .. }, Tell::Started { target: told, .. })
            | (Self::Meet { target, .. }, Tell::Met { target: told })
            | (Self::Count { target, .. }, Tell::Counting { target: told })
            | (Self::Stop { target }, Tell::Stopped { target: told }) => target == told,
            _ => false,
        }
    }
}

/// One block of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockAsk {
    pub target: String,
    pub workload: Workload,
    pub pace: Pace,
    pub settle_ms: u32,
    pub score_ms: u32,
}

/// How a target is reached from another host, and what it speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    pub address: SocketAddr,
    pub speaks: Speaks,
}

/// The protocol of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    Http {
        /// Path and query of the request.
        path: String,
    },
    /// Bare bytes, as many each time.
    Echo {
        request_bytes: usize,
        answer_bytes: usize,
    },
}

/// What a block of load on a target of another host gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// When the scored window opened, on the clock that [`Ask::Clock`] tells.
    pub opened_ns: u64,
    /// When it closed.
    pub closed_ns: u64,
    /// Without the target's CPU time.
    pub reading: Reading,
}

/// The time at a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockTell {
    /// `CLOCK_MONOTONIC` of the host.
    pub monotonic_ns: u64,
    /// Of the kernel that runs there (`/proc/sys/kernel/random/boot_id`); hosts that give the same
    /// are one machine. It is compared and never saved.
    pub boot_id: String,
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Tell {
    Hello {
        protocol: u32,
        linerate_version: String,
        rig: Rig,
    },
    Facts(Box<Facts>),
    Levers {
        levers: Vec<LeverState>,
    },
    Boot(Box<BootTell>),
    Watched(Watched),
    Found(FoundService),
    Started {
        target: String,
        doubts: Vec<Doubt>,
        /// How another host gets there; `None` where it listens on loopback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reach: Option<Reach>,
    },
    Reading(Box<Reading>),
    Met {
        target: String,
    },
    Loaded(Box<Loaded>),
    Counting {
        target: String,
    },
    Counts {
        #[serde(flatten)]
        counts: Counts,
        /// What the target makes doubtful.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        doubts: Vec<Doubt>,
    },
    /// They were not read twice within the two moments.
    Uncounted {
        target: String,
    },
    Clock(ClockTell),
    Stopped {
        target: String,
    },
    /// The folder is there.
    Folder {
        path: String,
    },
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

/// Why an ask could not be carried out, for a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened, and where.
    pub what: String,
    /// What to do about it; may be empty.
    pub advice: String,
}
