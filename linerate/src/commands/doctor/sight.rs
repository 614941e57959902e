//! How small an effect this machine can see, measured on identical servers, or why it was not.

use model::{Doubt, Workload};
use schemars::JsonSchema;
use serde::Serialize;
use study::progress::Progress;
use study::visible::Budget;
use study::{Campaign, Monotonic, Visible};

use crate::agents;
use crate::commands::versus;
use crate::console::Console;

/// What is answered while two identical servers are measured: small, so that little of the time
/// is the answer's own.
const PATH: &str = "/json";
const CONNECTIONS: u32 = 64;

/// What was measured, or the reason why nothing was.
pub(super) enum Sight {
    Measured(Visible),
    NotMeasured(String),
}

/// What a comparison of two servers can see here.
#[derive(Serialize, JsonSchema)]
pub(super) struct VisibleShape {
    /// Why it was not measured; null where it was.
    reason: Option<String>,
    /// Pairs of blocks of two identical servers that it comes from, count; null where it was
    /// not measured.
    pairs: Option<u32>,
    /// Standard error of the effects below, as a share of them; null where it was not measured.
    relative_error: Option<f64>,
    /// By time, the shortest first; null where it was not measured.
    budgets: Option<Vec<BudgetShape>>,
}

/// The smallest effects that a comparison in so much time finds with 80 % power at 5 % error.
#[derive(Serialize, JsonSchema)]
struct BudgetShape {
    /// Time, min.
    minutes: u32,
    /// Rounds that the time has room for, count.
    rounds: u32,
    /// Smallest visible change of the server's CPU time per request, as a share; null where it
    /// cannot be said.
    cpu_per_request_share: Option<f64>,
    /// Smallest visible change of throughput, as a share; null where it cannot be said.
    throughput_share: Option<f64>,
}

/// Measures, unless the machine is at work and nobody says yes. A failure is a reason too: the
/// rest of the page stands without it.
pub(super) fn measure(yes: bool, console: &Console) -> Sight {
    let measured = agents::start_private().and_then(|mut agent| {
        let mut campaign = Campaign {
            agent: &mut agent,
            progress: &mut Quietly { yes, console },
            clock: &Monotonic::default(),
        };
        Ok(campaign.visible(&comparison(), versus::ARMS)?)
    });
    measured.map_or_else(
        |error| Sight::NotMeasured(error.to_string()),
        Sight::Measured,
    )
}

fn comparison() -> model::Study {
    let workload = Workload {
        path: PATH.to_owned(),
        connections: CONNECTIONS,
        workers: model::cpus::Workers::default(),
        threads: 1,
    };
    versus::comparison(String::new(), workload, 0.0)
}

impl Sight {
    pub(super) fn not_measured(reason: &str) -> Self {
        Self::NotMeasured(reason.to_owned())
    }

    /// What it says, a line for each time.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::NotMeasured(reason) => vec![format!("not measured: {reason}")],
            Self::Measured(visible) => {
                let budgets = visible.budgets.iter().map(budget_words);
                budgets.chain([how(visible)]).collect()
            }
        }
    }

    pub(super) fn shape(&self) -> VisibleShape {
        let (visible, reason) = match self {
            Self::Measured(visible) => (Some(visible), None),
            Self::NotMeasured(reason) => (None, Some(reason.clone())),
        };
        let budget = |budget: &Budget| BudgetShape {
            minutes: budget.minutes,
            rounds: budget.rounds,
            cpu_per_request_share: budget.cpu_per_request,
            throughput_share: budget.throughput,
        };
        VisibleShape {
            reason,
            pairs: visible.map(|visible| visible.pairs),
            relative_error: visible.map(|visible| visible.relative_error),
            budgets: visible.map(|visible| visible.budgets.iter().map(budget).collect()),
        }
    }
}

fn budget_words(budget: &Budget) -> String {
    let minutes = match budget.minutes {
        1 => "1 minute".to_owned(),
        several => format!("{several} minutes"),
    };
    let from = |effect: Option<f64>| {
        effect.map_or_else(
            || "unknown".to_owned(),
            |effect| format!("from {} on", report::numbers::share(effect)),
        )
    };
    format!(
        "in {minutes} ({} rounds): changes of CPU per request {}, of throughput {}",
        budget.rounds,
        from(budget.cpu_per_request),
        from(budget.throughput),
    )
}

fn how(visible: &Visible) -> String {
    format!(
        "found in 8 of 10 cases at 5 % error; from {} pairs of 0.2 s blocks of two identical \
         servers, so give or take {}, and as long as the machine stays as it is",
        visible.pairs,
        report::numbers::share(visible.relative_error),
    )
}

/// Says nothing but what it is doing, and asks nobody.
struct Quietly<'a> {
    yes: bool,
    console: &'a Console,
}

impl Progress for Quietly<'_> {
    fn may_load(&mut self, _signs: &[Doubt]) -> bool {
        self.yes
    }

    fn phase(&mut self, what: &str) {
        if self.console.may_draw() {
            self.console.note(what);
        }
    }
}
