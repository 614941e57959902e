//! Why a lever cannot be set.

use std::io;
use std::sync::Arc;

use thiserror::Error;

use super::Knob;
use crate::errno::errno;

/// Why a lever cannot be set here, or not to that.
#[derive(Clone, Debug, Error)]
pub enum Obstacle {
    /// This kernel or this machine has none.
    #[error("{0}")]
    Absent(String),
    #[error("{0}")]
    NoDevice(String),
    #[error("{knob}: {}", errno(.refused))]
    Refused { knob: Knob, refused: Arc<io::Error> },
    #[error("{lever} cannot be `{value}`; expected {expected}")]
    BadValue {
        lever: &'static str,
        value: String,
        expected: String,
    },
    #[error(
        "{lever} has no value that is right everywhere ({why}); say {lever}=VALUE with {expected}"
    )]
    NoValue {
        lever: &'static str,
        why: &'static str,
        expected: String,
    },
    /// It could be set, but not put back to what it is now.
    #[error("{knob} is `{now}` now, and could not be put back to that: {}", errno(.refused))]
    OneWay {
        knob: Knob,
        now: String,
        refused: Arc<io::Error>,
    },
    /// Another setting rules, and this one would count for nothing or take it along.
    #[error("{knob} is overruled by {ruling}, which is `{held}`: {why}")]
    Overruled {
        knob: Knob,
        ruling: Box<Knob>,
        held: String,
        why: String,
    },
    /// What would be put back is not what stands there.
    #[error(
        "{knob} was `{planned}` when this was planned and is `{now}` now; nothing was changed: try \
         again"
    )]
    ChangedMeanwhile {
        knob: Knob,
        planned: String,
        now: String,
    },
    /// It would change more than its undo puts back.
    #[error("{knob} is left as it is: {lost}, and an undo would not bring that back")]
    WouldLose { knob: Knob, lost: String },
    /// The kernel took it and holds another.
    #[error("{knob} holds `{held}` after `{wanted}` was written")]
    WithoutEffect {
        knob: Knob,
        wanted: String,
        held: String,
    },
    /// It is no setting of the machine, but of programs that are yet to be started.
    #[error("of {of}: set when it is started ({by})")]
    AtStart {
        of: &'static str,
        /// The command that does.
        by: String,
    },
    /// A program could not be given it.
    #[error("{lever}: {}{}{advice}", errno(.refused), if advice.is_empty() { "" } else { "; " })]
    NotTaken {
        lever: &'static str,
        refused: Arc<io::Error>,
        /// What it takes; empty where that is nothing, or not what was missing.
        advice: &'static str,
    },
    /// A program was given it and has another.
    #[error("{lever} did not take effect: `{wanted}` was asked for, and the program has `{held}`")]
    NotHeld {
        lever: &'static str,
        wanted: String,
        held: String,
    },
    /// A person must do it, and why.
    #[error("{0}")]
    Advice(String),
}

impl Obstacle {
    /// What reading or writing a knob failed with: a file that is not there is a setting that this
    /// machine has not.
    pub(super) fn of(knob: &Knob, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            return Self::Absent(format!("this kernel or machine has no {knob}"));
        }
        let (knob, refused) = (knob.clone(), Arc::new(error));
        Self::Refused { knob, refused }
    }
}
