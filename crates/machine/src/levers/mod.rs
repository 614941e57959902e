//! Levers: settings of a machine that are read, planned, applied, verified and put back.
//!
//! A [`Lever`] is a row of the files in `crates/machine/levers`: what it is, in words, and how it
//! is set, which for most levers is the [`Knob`]s that it finds on a machine. The journal holds
//! what was set, with the values before it; [`carry::undo`] puts these back, whatever happened in
//! between.

mod accepts;
mod at_start;
mod by_hand;
pub mod carry;
mod catalogue;
mod interrupts;
mod knob;
mod lever;
mod lost_for_good;
mod observation;
mod obstacle;
mod our_server;
mod overruled;
mod places;
mod plan;
pub mod program;
mod quota_cut;
mod share;
mod site;
mod spread;
mod tested;
mod tunable;
mod value;

use accepts::Accepts;
pub(crate) use accepts::SPREAD;
pub use at_start::AtStart;
pub use catalogue::{all, find};
pub use knob::{
    CpuSetting, DeviceName, DeviceSetting, DriverSetting, FeatureName, GroupFolder, HostSetting,
    Knob, LinkSetting, Queue, QueueSetting, QuotaFile, RouteKey, RouteMetric, SysctlName, Value,
};
pub use lever::{Costs, Group, Lever, Reading, Scope, Worst};
pub use obstacle::Obstacle;
pub use our_server::ServerPart;
use places::Places;
pub use plan::{Lasting, Plan, Step};
pub use program::ProgramPart;
pub use quota_cut::QuotaCut;
pub use site::Site;
pub use tested::TestBench;

#[cfg(test)]
mod tests;
