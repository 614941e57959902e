//! From a plan to a machine that is changed, and back: with the journal between.
//!
//! What stood in each knob is on the disk before anything else stands there. So an undo needs
//! nothing but the journal and the machine: a knob that holds what we set gets its old value, one
//! that holds that already is left, and one that holds a third value is somebody else's by now.

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

/// Why a plan was not carried out, or a journal not undone.
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
    #[error("{0}; until then it cannot be told that this would not be set twice")]
    Unknown(String),
    #[error("{0}; all was put back")]
    PutBack(Obstacle),
    #[error("{0}; not all could be put back: linerate levers undo")]
    LeftChanged(Obstacle),
    #[error(
        "the process that would put it back in time could not be started: {0}; nothing was changed"
    )]
    Unguarded(io::Error),
    #[error("it is set, and the journal could not be told as what, or until when: {0}")]
    Unsettled(JournalError),
    #[error("whether it is in time to put it back cannot be told: {0}")]
    Clock(io::Error),
}

#[cfg(test)]
mod tests;
