//! A gate between two commits: how each is built and measured, and whether the second may pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::RequestSpec;
use crate::verdict::Effect;

/// A commit that an agent checks out and builds in a worktree of its own. All its commands are
/// lines for `sh`, which run as the user who asked for them, in that user's environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Name of the build, for [`crate::study::Program::Built`] and for its folder.
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// The folder with the repository.
    pub repository: String,
    /// Folder below the root of the worktree in which the commands run; empty for the root.
    pub below: String,
    /// The commit, by its full hash.
    pub commit: String,
    /// The command that builds it.
    pub command: String,
    /// How the build is measured.
    pub job: Job,
}

/// How a build is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// A server, which is put under load.
    Serve {
        /// The command that starts it; `{port}` is replaced by the port on which it must listen.
        command: String,
        /// The request that it is sent, at any port.
        request: Box<RequestSpec>,
        /// Longest time until it must listen, ms.
        within_ms: u32,
    },
    /// A command, which is run to its end.
    Run {
        /// The command: a line of the shell, run in the tree of its commit.
        command: String,
    },
}

/// The unit of work whose cost is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A request to a server.
    Request,
    /// A run of a command.
    Run,
}

/// The limits and the plan of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateDesign {
    /// How much more the second commit may cost and still pass, as a share.
    pub bar: f64,
    /// The unit of work that the cost is of.
    pub unit: Unit,
    /// Length of the measurement, ms: it ends with the round in which this time is over, after at
    /// least 16 rounds. 0 if the number of rounds was given.
    pub most_ms: u64,
    /// How often each commit is built; the first is built as often again for the control. 2 to
    /// [`MOST_BUILDS`].
    pub builds: u32,
}

/// Most builds of a commit; nobody waits for more.
pub const MOST_BUILDS: u32 = 8;

impl GateDesign {
    /// Index of the build of each arm that a round measures; the builds take turns.
    pub const fn set(&self, round: u32) -> u32 {
        if self.builds == 0 {
            0
        } else {
            round % self.builds
        }
    }
}

/// Name of one of an arm's builds, for [`crate::study::Program::Built`].
pub fn of_set(arm: &str, set: u32) -> String {
    format!("{arm}-{}", set + 1)
}

/// Whether the second commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// The whole interval lies below the bar.
    Passes,
    /// The whole interval lies above the bar.
    Slower,
    /// Neither can be said; [`Untold`] says why.
    CannotTell,
}

/// Why it cannot be told whether the second commit passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Untold {
    /// The bar lies within the interval.
    BarWithin,
    /// No round has a figure for each build.
    NothingMeasured,
    /// Too few rounds have a figure for each build.
    FewRounds {
        /// Rounds with a figure for each build, count.
        rounds: u32,
        /// Fewest rounds for a verdict, count.
        needed: u32,
    },
    /// Different shares of the requests to the two commits failed.
    Failures {
        /// Share of the requests to the first commit that failed, 0 to 1.
        base_share: f64,
        /// Share of the requests to the second commit that failed, 0 to 1.
        head_share: f64,
    },
    /// CPU time is hidden, and the client limited the rate that is compared instead.
    ClientIsLimit,
}

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Whether the second commit passes.
    pub passage: Passage,
    /// Why it cannot be told; null where it can.
    pub untold: Option<Untold>,
    /// How much more the second commit may cost, as a share.
    pub bar: f64,
    /// The unit of work that the cost is of.
    pub unit: Unit,
    /// Cost of the second commit ÷ cost of the first, which in each round is the mean of two
    /// builds. The interval is the wider one of those by rounds and by builds. Null without rounds.
    pub cost: Option<Effect>,
    /// Uncertainty of the cost that comes from differences between builds of one commit, as a
    /// share: half of the interval by builds; null without rounds.
    pub floor: Option<f64>,
    /// If the bar lies within the interval: rounds that would decide it, if all else stays as it
    /// was, count. Null if more rounds would not.
    pub rounds_needed: Option<u32>,
    /// If more rounds would not decide it: builds of each commit that would, count. Null if up to
    /// [`MOST_BUILDS`] would not.
    pub builds_needed: Option<u32>,
}
