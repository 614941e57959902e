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
        /// How long it may take until it listens, ms.
        within_ms: u32,
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
    /// How often each commit was built, and the first as often again as the control; from 2 to [`MOST_BUILDS`].
    pub builds: u32,
}

/// More builds of a commit than anybody waits for.
pub const MOST_BUILDS: u32 = 8;

impl GateDesign {
    /// Which builds a round measures, counted from none: in turn one of each arm.
    pub const fn set(&self, round: u32) -> u32 {
        if self.builds == 0 {
            0
        } else {
            round % self.builds
        }
    }
}

/// The name of one of an arm's builds, as of [`crate::study::Program::Built`].
pub fn of_set(arm: &str, set: u32) -> String {
    format!("{arm}-{}", set + 1)
}

/// Whether the second commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// All that the data leave possible lies below the bar.
    Passes,
    /// All of it lies above the bar.
    Slower,
    /// Neither may be said; [`Untold`] says why.
    CannotTell,
}

/// Why it is not told whether the second commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Untold {
    /// The bar lies within all that the data leave possible.
    BarWithin,
    /// No round has a figure of each build.
    NothingMeasured,
    /// So few rounds have one, where a verdict takes so many.
    FewRounds {
        /// Rounds with a figure of each build, count.
        rounds: u32,
        /// The fewest for a verdict, count.
        needed: u32,
    },
    /// Of the requests to the first commit and of those to the second other shares failed.
    Failures {
        /// Of the requests to the first, 0 to 1.
        base_share: f64,
        /// Of the requests to the second, 0 to 1.
        head_share: f64,
    },
    /// CPU time is hidden, and the client was the limit of the rate that is compared instead.
    ClientIsLimit,
}

/// What a gate came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Whether the second commit passes.
    pub passage: Passage,
    /// Why it cannot be told; null where it can.
    pub untold: Option<Untold>,
    /// How much more it may cost, as a share.
    pub bar: f64,
    /// What the cost is of.
    pub unit: Unit,
    /// How many times the cost of the first it costs, of which each round has the mean of two builds; its interval is
    /// the wider of that by rounds and that by builds. Null without rounds.
    pub cost: Option<Effect>,
    /// How far off the cost may be for what builds of one commit lie apart, as a share: half of the interval by builds;
    /// null without rounds.
    pub floor: Option<f64>,
    /// Where the bar lies within the interval, how many rounds would tell if all goes on as it did; null where more of
    /// them would not.
    pub rounds_needed: Option<u32>,
    /// Where more rounds would not tell, how many builds of each commit would; null where up to [`MOST_BUILDS`] would not.
    pub builds_needed: Option<u32>,
}
