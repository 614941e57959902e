//! Studies of commands: from the file to a saved run.

pub mod arms;
mod evidence;
mod fill;
mod hands;
mod measure;
pub(crate) mod programs;
pub(crate) mod pull;
mod said;
mod trial;

use model::{CommandStudy, Doubt};

pub use hands::CommandError;

/// What to run.
pub struct CommandOrder {
    pub study: CommandStudy,
    pub seed: u64,
    /// The command that repeats it, without secrets.
    pub command: String,
    /// Also record names and addresses.
    pub full: bool,
    /// What is doubtful of the order itself, before the machine is looked at.
    pub doubts: Vec<Doubt>,
}
