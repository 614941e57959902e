//! The words of Linerate as types: what is planned, sent between processes, saved and judged.
//!
//! There is no I/O here, no clock and no arithmetic beyond the types' own, so a run folder reads
//! the same on the machine that wrote it and on a laptop that only renders it.

pub mod bench;
pub mod braces;
pub mod ceiling;
pub mod command;
pub mod command_run;
pub mod command_study;
pub mod cores;
pub mod cpus;
pub mod credit;
pub mod doubt;
pub mod expected;
pub mod explanation;
pub mod facts;
pub mod failure;
pub mod finding;
pub mod gate;
pub mod histogram;
pub mod inventory;
pub mod judgement;
pub mod ladder;
pub mod lever;
pub mod link;
pub mod load_run;
pub mod message;
mod named;
pub mod objective;
pub mod observation;
pub mod random;
pub mod reading;
pub mod reboot;
pub mod request;
pub mod rig;
pub mod run;
pub mod service;
pub mod shared;
pub mod source;
pub mod stacks;
pub mod stream_run;
pub mod study;
pub mod sweep;
pub mod verdict;
pub mod workload;

pub use command::{CommandReading, CommandSpec};
pub use command_run::{CommandBlock, CommandRun};
pub use command_study::CommandStudy;
pub use doubt::{CommandDoubt, Doubt, LinkDoubt, PacketDoubt};
pub use explanation::Explanation;
pub use facts::Facts;
pub use finding::Finding;
pub use histogram::Histogram;
pub use judgement::Judgement;
pub use lever::{Binds, LeverSetting};
pub use link::{LinkRate, LinkReading, LinkShape, LinkTally};
pub use message::{Ask, Tell};
pub use observation::Observation;
pub use reading::Reading;
pub use reboot::Reboot;
pub use rig::Topology;
pub use run::{BlockRecord, RunRecord};
pub use service::Service;
pub use study::{Arm, Role, Study};
pub use verdict::{Effect, Estimate, Verdict};
pub use workload::{Pace, Workload};
