//! Changes a machine by a plan and undoes it again, by means of the journal.
//!
//! The old value of each knob is on disk before the knob is changed. So an undo needs nothing but
//! the journal and the machine. A knob that holds our value gets its old one back; one that already
//! holds the old value is left alone; one that holds a third value has been set by somebody else.

mod apply;
mod elsewhere;
mod fate;
mod guard;
mod hold;
mod standing;
mod undo;

use std::io;

use thiserror::Error;

use super::{Knob, Obstacle};
use crate::journal::JournalError;
pub use apply::{Applied, Guard, Until, apply};
pub use fate::{KnobFate, Undone};
pub use guard::start_guard;
pub use hold::Held;
pub use standing::{Standing, StepNow, standing};
pub use undo::{
    confirm, forget, has_left, reverts_at_ms, undo, undo_leftovers, undo_overdue, unknown,
};

/// Why a plan was not carried out, or the journal not undone.
#[derive(Debug, Error)]
pub enum CarryError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    #[error(
        "{knob} was set by `{lever}` before (entry {id} of the journal); put it back first: \
         linerate levers undo {lever}"
    )]
    SetBefore { knob: Knob, lever: String, id: u64 },
    #[error("{0}; until then we cannot be sure that this is not set twice")]
    Unknown(String),
    #[error("{0}; everything was put back")]
    PutBack(Obstacle),
    #[error("{0}; not everything could be put back: linerate levers undo")]
    LeftChanged(Obstacle),
    #[error(
        "the process that would put it back in time could not be started: {0}; nothing was changed"
    )]
    Unguarded(io::Error),
    #[error("it is set, but the journal could not record what was set, or until when: {0}")]
    Unsettled(JournalError),
    #[error("it is not known whether there is time left to put it back: {0}")]
    Clock(io::Error),
}

#[cfg(test)]
mod tests;
