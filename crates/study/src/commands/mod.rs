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

/// The order to run a study of commands.
pub struct CommandOrder {
    pub study: CommandStudy,
    pub seed: u64,
    /// The command that repeats the run, without secrets.
    pub command: String,
    /// Whether to record names and addresses too.
    pub full: bool,
    /// Doubts about the order itself, which do not depend on the machine.
    pub doubts: Vec<Doubt>,
}
