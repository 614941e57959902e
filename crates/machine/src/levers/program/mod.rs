//! Levers of a program: taken on before it takes its own place, and gone with it, so that there is
//! nothing to journal. A row says what may be typed; `shown` reads back what the kernel holds.

mod allocator;
mod group;
mod holding;
mod kind;
mod shown;
mod spelling;
mod start;

pub use allocator::{Allocator, Startup, Variable};
pub use group::sweep_after;
pub(crate) use holding::Held;
pub use holding::Holding;
pub(super) use kind::Kind;
pub use spelling::ProgramSetting;
pub use start::Start;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::card::Card;
use super::{AtStart, Lever, Obstacle, Plan, Reading, Site};
use group::OwnGroup;
use shown::{Shown, shown};
use sys::attribute::{Attribute, rehearse_entering};
use sys::scheduling::Scheduling;

/// A row.
pub(super) struct OfAProgram {
    pub(super) card: Card,
    pub(super) kind: Kind,
    /// The values that it takes, in words.
    pub(super) values: &'static str,
    /// Why no value is right everywhere.
    pub(super) depends: &'static str,
    /// What it takes to be let, for whoever was not.
    pub(super) needs: &'static str,
    /// The system calls that set it.
    pub(super) sets: &'static [&'static str],
    /// What a person would type in our place.
    pub(super) by_hand: &'static str,
}

/// A lever of a program, and what it is to be.
#[derive(Clone)]
pub struct ProgramPart {
    row: &'static OfAProgram,
    setting: ProgramSetting,
}

impl fmt::Display for ProgramPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.row.card.name, self.setting)
    }
}

impl Lever for OfAProgram {
    fn card(&self) -> &Card {
        &self.card
    }

    /// What this very process has, and so would hand on.
    fn read(&self, _: &Site) -> Result<Reading, Obstacle> {
        let shown = self.shown(std::process::id())?;
        Ok(Reading {
            now: shown.to_string(),
            is_recommended: None,
        })
    }

    fn plan(&self, _: &Site, _: Option<&str>) -> Result<Plan, Obstacle> {
        let name = self.card.name;
        Err(Obstacle::AtStart {
            of: "a program",
            by: format!("linerate levers run {name}=VALUE -- CMD"),
        })
    }

    fn values(&self) -> String {
        self.values.to_owned()
    }

    fn sets(&self) -> Vec<String> {
        self.sets.iter().map(|&call| call.to_owned()).collect()
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some(self.by_hand)
    }

    fn at_start(&'static self, value: Option<&str>) -> Option<Result<AtStart, Obstacle>> {
        Some(self.part(value).map(AtStart::Program))
    }
}

impl OfAProgram {
    fn part(&'static self, value: Option<&str>) -> Result<ProgramPart, Obstacle> {
        let (lever, expected) = (self.card.name, self.values.to_owned());
        let Some(value) = value else {
            let why = self.depends;
            return Err(Obstacle::NoValue {
                lever,
                why,
                expected,
            });
        };
        let setting = self.kind.parse(value).ok_or_else(|| Obstacle::BadValue {
            lever,
            value: value.to_owned(),
            expected,
        })?;
        Ok(ProgramPart { row: self, setting })
    }

    fn shown(&self, pid: u32) -> Result<Shown, Obstacle> {
        shown(self.kind, pid).map_err(|error| self.refused(error))
    }

    /// With what it takes, unless the error has words of its own.
    fn refused(&self, error: io::Error) -> Obstacle {
        let lever = self.card.name;
        let says_itself = error.kind() == io::ErrorKind::Other;
        Obstacle::NotTaken {
            lever,
            advice: if says_itself { "" } else { self.needs },
            refused: Arc::new(error),
        }
    }
}

impl ProgramPart {
    /// Whether no ordinary program of the machine runs where this one wants to (sched(7)).
    #[must_use]
    pub(crate) fn goes_before_all_others(&self) -> bool {
        let ProgramSetting::Attribute(Attribute::Scheduling(scheduling)) = &self.setting else {
            return false;
        };
        matches!(scheduling, Scheduling::Fifo(_) | Scheduling::RoundRobin(_))
    }

    /// Whether a program that is started from here could be given it, by one that ends at once.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn rehearse(&self) -> Result<(), Obstacle> {
        let rehearsed = match &self.setting {
            ProgramSetting::Attribute(attribute) => attribute.clone().rehearse(),
            ProgramSetting::CpuWeight(weight) => {
                OwnGroup::make(*weight).and_then(|group| rehearse_entering(group.processes.clone()))
            }
            ProgramSetting::Allocator(allocator) => allocator.rehearse(),
            ProgramSetting::Holding(holding) => holding.take().map(drop),
        };
        rehearsed.map_err(|error| self.row.refused(error))
    }

    /// Holds it for as long as the answer lives, whoever may run meanwhile; `None` of what is the program's
    /// alone.
    pub(crate) fn hold(&self) -> Option<Result<Held, Obstacle>> {
        let ProgramSetting::Holding(holding) = &self.setting else {
            return None;
        };
        Some(holding.take().map_err(|error| self.row.refused(error)))
    }

    /// Whether a program that was given it has it, by what the kernel shows of that.
    ///
    /// # Errors
    /// What it has instead.
    fn verify(&self, pid: u32) -> Result<(), Obstacle> {
        let shown = self.row.shown(pid)?;
        if shown.is(&self.setting) {
            return Ok(());
        }
        Err(self.not_held(shown.to_string()))
    }

    fn not_held(&self, held: String) -> Obstacle {
        Obstacle::NotHeld {
            lever: self.row.card.name,
            wanted: self.setting.to_string(),
            held,
        }
    }

    /// The file of a person's choice that a program would load and run with it.
    pub(crate) fn library(&self) -> Option<&Path> {
        match self.allocator()? {
            Allocator::Library(library) => Some(library.as_path()),
            _ => None,
        }
    }

    fn is_held_open(&self) -> bool {
        matches!(self.setting, ProgramSetting::Holding(_))
    }

    fn allocator(&self) -> Option<&Allocator> {
        match &self.setting {
            ProgramSetting::Allocator(allocator) => Some(allocator),
            _ => None,
        }
    }
}
