//! A gate between two commits: what is built of each, how it is measured, and whether the second may pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::RequestSpec;
use crate::verdict::Effect;

/// A commit that an agent checks out and builds in a worktree of its own. All its commands are lines for `sh`, which
/// are run as whoever asked for them, in his environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// What [`crate::study::Program::Built`] calls it, and the name of its folder.
    pub name: String,
    /// What readers call it.
    pub title: String,
    /// The folder with the repository.
    pub repository: String,
    /// Where the commands are run below the root of the worktree; empty for there.
    pub below: String,
    /// The commit, by its whole hash.
    pub commit: String,
    /// What builds it.
    pub command: String,
    /// What is measured of it.
    pub job: Job,
}

/// What is measured of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// A server that is loaded.
    Serve {
        /// What starts it; `{port}` becomes the port on which it shall listen.
        command: String,
        /// What it is asked, at any port.
        request: Box<RequestSpec>,
    },
    /// A command that is run to its end.
    Run {
        /// A line of the shell, in the tree of its commit.
        command: String,
    },
}

/// What one unit of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A request to a server.
    Request,
    /// A run of a command.
    Run,
}

/// What a gate asks of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateDesign {
    /// How much more the second commit may cost and still pass, as a share.
    pub bar: f64,
    /// What the cost is of.
    pub unit: Unit,
    /// How long it is measured, ms: it ends with the round in which they are over, after 16 at the least. 0 where the
    /// number of rounds was given.
    pub most_ms: u64,
}

/// Whether the second commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// All that the data leave possible lies below the bar.
    Passes,
    /// All of it lies above the bar.
    Slower,
    /// The bar lies within it, or too little was measured, or two builds of the first commit came out apart.
    CannotTell,
}

/// What a gate came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Whether the second commit passes.
    pub passage: Passage,
    /// How much more it may cost, as a share.
    pub bar: f64,
    /// What the cost is of.
    pub unit: Unit,
    /// How many times the cost of the first it costs, its interval widened by as much as two builds of the first came
    /// out apart; null without pairs.
    pub cost: Option<Effect>,
    /// How far two builds of the first commit may lie apart, as a share: the far end of the control's interval; null
    /// without pairs.
    pub floor: Option<f64>,
    /// Where it cannot be told, how many rounds would tell if all goes on as it did; null where more of them would not.
    pub rounds_needed: Option<u32>,
}
