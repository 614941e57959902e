//! What a study asks of an agent and what the agent tells: one JSON value a line, each way.
//!
//! The study asks, the agent answers each ask with exactly one tell, in order. When its input
//! ends the agent undoes everything and goes.

use serde::{Deserialize, Serialize};

use crate::doubt::Doubt;
use crate::facts::{Facts, Watched};
use crate::lever::{LeverSetting, LeverState};
use crate::reading::Reading;
use crate::run::Rig;
use crate::service::{FoundService, Service};
use crate::study::Program;
use crate::workload::{Pace, Workload};

/// The version of this protocol; agents and studies of different versions do not talk.
pub const PROTOCOL: u32 = 2;

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
    /// Which levers can be used here?
    Levers,
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
    },
    /// Put one block of load on a target that is up.
    Block(Box<BlockAsk>),
    Stop {
        target: String,
    },
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
    Watched(Watched),
    Found(FoundService),
    Started {
        target: String,
        doubts: Vec<Doubt>,
    },
    Reading(Box<Reading>),
    Stopped {
        target: String,
    },
    /// The ask could not be carried out; the agent goes on.
    Failed(Failure),
}

/// Why an ask could not be carried out, for a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened, and where.
    pub what: String,
    /// What to do about it; may be empty.
    pub advice: String,
}
