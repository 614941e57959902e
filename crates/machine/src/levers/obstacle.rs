//! Why a lever cannot be set.

use std::io;

use thiserror::Error;

use super::Knob;
use crate::errno::errno;

/// The reason why a lever cannot be set here, or not to the given value.
#[derive(Clone, Debug, Error)]
pub enum Obstacle {
    /// This kernel or this machine lacks the setting.
    #[error("{0}")]
    Absent(String),
    #[error("{lever} cannot be `{value}`; expected {expected}")]
    BadValue {
        lever: &'static str,
        value: String,
        expected: String,
    },
    #[error(
        "{lever} has no value that is right everywhere ({why}); give {lever}=VALUE with {expected}"
    )]
    NoValue {
        lever: &'static str,
        why: &'static str,
        expected: String,
    },
    /// The setting belongs to programs that are yet to be started, not to the machine.
    #[error("for {of}: set when it is started ({by})")]
    AtStart {
        of: &'static str,
        /// The command that starts such a program.
        by: String,
    },
    /// Advice: a person must do it, for the reason given.
    #[error("{0}")]
    Advice(String),
    /// Any other reason, in words.
    #[error("{0}")]
    Other(String),
}

impl Obstacle {
    /// Translates the error of reading or writing a knob. A file that does not exist means a
    /// setting that this machine lacks.
    pub(super) fn of(knob: &Knob, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => {
                Self::Absent(format!("this kernel or machine has no {knob}"))
            }
            _ => Self::Other(format!("{knob}: {}", errno(error))),
        }
    }
}
