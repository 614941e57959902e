//! Levers: settings of a machine that are read, planned, applied, verified and put back.
//!
//! A lever is a [`Card`] that says what it is, and the [`Knob`]s that it sets: most are rows of
//! `catalogue`, which know how to find their knobs on a machine. What was set is in the journal
//! with what stood there before, and [`carry::undo`] puts that back after whatever happened in between.

mod accepts;
mod advice;
mod card;
pub mod carry;
mod catalogue;
mod interrupts;
mod knob;
mod loss;
mod obstacle;
mod places;
mod plan;
pub mod program;
mod serving;
mod share;
mod sights;
mod site;
mod tested;
mod testing;
mod tunable;
mod twin;
mod value;

use accepts::Accepts;
pub use card::{Card, Group, Scope, Worst};
pub use knob::{
    CpuSetting, DeviceName, DeviceSetting, DriverSetting, FeatureName, HostSetting, Knob,
    LinkSetting, Queue, QueueSetting, Reach, RouteKey, RouteMetric, SysctlName, Value,
};
pub use obstacle::Obstacle;
use places::Places;
pub use plan::{Plan, Step};
pub use program::ProgramPart;
pub use serving::ServerPart;
pub use site::Site;
pub use tested::{TestBench, tested_in, tested_words};

/// A setting of a machine that we change and put back.
pub trait Lever: Sync {
    fn card(&self) -> &Card;

    /// What its knobs hold now, at a site; where it has none of its own, what there is to see.
    ///
    /// # Errors
    /// Why nothing can be seen.
    fn read(&self, site: &Site) -> Result<Reading, Obstacle>;

    /// What would be set, and from what: to a value as a person types it, or to the recommended.
    ///
    /// # Errors
    /// Why it cannot be set here, or not to that.
    fn plan(&self, site: &Site, value: Option<&str>) -> Result<Plan, Obstacle>;

    /// Whether this process may set it here.
    ///
    /// # Errors
    /// Why not, with the errno.
    fn may_set(&self, site: &Site) -> Result<(), Obstacle> {
        self.plan(site, None).map(drop)
    }

    /// The value that is set when none is typed; `None` where that depends on what the machine is for.
    fn recommended(&self, _: &Site) -> Option<String> {
        None
    }

    /// The values that it takes, in words.
    fn values(&self) -> String;

    /// Its knobs as a page names them, with DEVICE and N for what a machine has several of.
    fn sets(&self) -> Vec<String>;

    /// Whether a knob is one of its own. What a journal says of any other is not believed.
    fn owns(&self, _: &Knob) -> bool {
        false
    }

    /// Whether what is set goes back by itself unless it is confirmed.
    fn is_on_trial(&self) -> bool {
        false
    }

    /// What a person would type in our place, where that is not a command for each knob.
    fn by_hand(&self) -> Option<&'static str> {
        None
    }

    /// Whether it is a flag of our own server, that no other program has.
    fn is_of_our_server(&self) -> bool {
        false
    }

    /// What a program is to be started with, for a value as a person types it; `None` for what is
    /// set in the machine.
    fn at_start(&'static self, _: Option<&str>) -> Option<Result<AtStart, Obstacle>> {
        None
    }
}

/// What a program is started with.
#[derive(Clone)]
pub enum AtStart {
    /// Whatever program it is.
    Program(ProgramPart),
    /// Our own server alone.
    Server(ServerPart),
}

impl AtStart {
    /// Whether a program that is started from here could be given it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn rehearse(&self) -> Result<(), Obstacle> {
        match self {
            Self::Program(part) => part.rehearse(),
            Self::Server(part) => part.rehearse(),
        }
    }
}

/// What there is to see of a lever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// As a person reads it; knobs that hold the same are told once.
    pub now: String,
    /// Whether that is what is recommended; `None` where nothing is.
    pub is_recommended: Option<bool>,
}

/// Every lever, in the order of their groups.
pub fn all() -> impl Iterator<Item = &'static dyn Lever> {
    catalogue::all()
}

/// The lever of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Lever> {
    all().find(|lever| lever.card().name == name)
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
