//! Levers of a program. A process takes them on before it executes the program, and they end with
//! it, so there is nothing to journal. A row of the catalogue says what may be typed; `shown` reads
//! back what the kernel holds.

mod group;
mod holding;
mod kind;
mod shown;
mod spelling;
mod start;

pub use group::sweep_after;
pub(crate) use holding::Held;
pub use holding::Holding;
use kind::ProgramKind;
pub use spelling::ProgramSetting;
pub use start::Start;

use std::fmt;
use std::io;

use serde::Deserialize;

use super::Obstacle;
use crate::errno::errno;
use group::OwnGroup;
use shown::{Shown, shown};
use sys::attribute::{Attribute, rehearse_entering};
use sys::scheduling::Scheduling;

/// A lever that any program can be started with, as a row of the catalogue describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfAProgram {
    kind: ProgramKind,
    /// What a process needs to be allowed this; shown when it was refused.
    #[serde(default)]
    needs: String,
}

/// A lever of a program, and the setting that is wanted.
#[derive(Clone)]
pub struct ProgramPart {
    lever: &'static str,
    row: &'static OfAProgram,
    setting: ProgramSetting,
}

impl fmt::Display for ProgramPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.lever, self.setting)
    }
}

impl OfAProgram {
    /// Returns the setting of this process, which it would hand on to a program.
    pub(super) fn now(&self, lever: &str) -> Result<String, Obstacle> {
        let shown = self.shown(lever, std::process::id())?;
        Ok(shown.to_string())
    }

    /// Returns the lever with a value; `None` if it does not take that value.
    pub(super) fn part(&'static self, lever: &'static str, value: &str) -> Option<ProgramPart> {
        let (row, setting) = (self, self.kind.parse(value)?);
        Some(ProgramPart {
            lever,
            row,
            setting,
        })
    }

    fn shown(&self, lever: &str, pid: u32) -> Result<Shown, Obstacle> {
        shown(self.kind, pid).map_err(|error| self.refused(lever, &error))
    }

    /// Describes a refusal. Adds what is needed to be allowed, unless the error has words of its
    /// own.
    fn refused(&self, lever: &str, error: &io::Error) -> Obstacle {
        let words = format!("{lever}: {}", errno(error));
        Obstacle::Other(match error.kind() {
            io::ErrorKind::Other => words,
            _ if self.needs.is_empty() => words,
            _ => format!("{words}; {}", self.needs),
        })
    }
}

impl ProgramPart {
    /// Whether this program runs before all ordinary programs of the machine (sched(7)).
    pub(crate) fn goes_before_all_others(&self) -> bool {
        let ProgramSetting::Attribute(Attribute::Scheduling(scheduling)) = &self.setting else {
            return false;
        };
        matches!(scheduling, Scheduling::Fifo(_) | Scheduling::RoundRobin(_))
    }

    /// Checks whether a program that is started from here can have the setting. A process that ends
    /// at once tries it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn rehearse(&self) -> Result<(), Obstacle> {
        let rehearsed = match &self.setting {
            ProgramSetting::Attribute(attribute) => attribute.clone().rehearse(),
            ProgramSetting::CpuWeight(weight) => {
                OwnGroup::make(*weight).and_then(|group| rehearse_entering(group.processes.clone()))
            }
            ProgramSetting::Holding(holding) => holding.take().map(drop),
        };
        rehearsed.map_err(|error| self.refused(&error))
    }

    /// Holds the setting as long as the returned value lives, whichever programs run. `None` for a
    /// setting that belongs to the program alone.
    pub(crate) fn hold(&self) -> Option<Result<Held, Obstacle>> {
        let ProgramSetting::Holding(holding) = &self.setting else {
            return None;
        };
        Some(holding.take().map_err(|error| self.refused(&error)))
    }

    /// Checks with the kernel that a program has the setting that it was given.
    ///
    /// # Errors
    /// Says what the program has instead.
    fn verify(&self, pid: u32) -> Result<(), Obstacle> {
        let shown = self.row.shown(self.lever, pid)?;
        if shown.is(&self.setting) {
            return Ok(());
        }
        Err(self.not_held(&shown.to_string()))
    }

    fn not_held(&self, held: &str) -> Obstacle {
        let (lever, wanted) = (self.lever, &self.setting);
        Obstacle::Other(format!(
            "{lever} did not take effect: `{wanted}` was asked for, and the program has `{held}`"
        ))
    }

    fn refused(&self, error: &io::Error) -> Obstacle {
        self.row.refused(self.lever, error)
    }

    fn is_held_open(&self) -> bool {
        matches!(self.setting, ProgramSetting::Holding(_))
    }
}
