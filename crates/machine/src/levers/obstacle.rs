//! Why a lever cannot be set.

use std::io;

use thiserror::Error;

use super::Knob;
use crate::errno::errno;

/// Why a lever cannot be set here, or not to that.
#[derive(Clone, Debug, Error)]
pub enum Obstacle {
    /// This kernel or this machine has none.
    #[error("{0}")]
    Absent(String),
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
    /// It is no setting of the machine, but of programs that are yet to be started.
    #[error("of {of}: set when it is started ({by})")]
    AtStart {
        of: &'static str,
        /// The command that does.
        by: String,
    },
    /// A person must do it, and why.
    #[error("{0}")]
    Advice(String),
    /// What else there is, in words alone.
    #[error("{0}")]
    Other(String),
}

impl Obstacle {
    /// What reading or writing a knob failed with: a file that is not there is a setting that this
    /// machine has not.
    pub(super) fn of(knob: &Knob, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => {
                Self::Absent(format!("this kernel or machine has no {knob}"))
            }
            _ => Self::Other(format!("{knob}: {}", errno(error))),
        }
    }
}
