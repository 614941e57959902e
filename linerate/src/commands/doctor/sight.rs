//! How small an effect this machine can see, measured on identical servers, or why that was not
//! measured.

use model::{Doubt, Workload};
use schemars::JsonSchema;
use serde::Serialize;
use study::progress::Progress;
use study::visible::Budget;
use study::{Campaign, Monotonic, Visible};

use crate::agents;
use crate::commands::versus;
use crate::console::Console;

/// Path requested from the two identical servers. Its answer is small, so that little of the time
/// is spent on the answer itself.
const PATH: &str = "/json";
const CONNECTIONS: u32 = 64;

/// What a comparison of two servers can see here.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "VisibleShape")]
pub(super) struct Sight {
    /// Why it was not measured; null where it was.
    reason: Option<String>,
    /// Pairs of blocks of two identical servers behind the figures, count; null where it was not
    /// measured.
    pairs: Option<u32>,
    /// Standard error of the effects below, as a share of them; null where it was not measured.
    relative_error: Option<f64>,
    /// Smallest visible effects by measuring time, the shortest first; null where it was not
    /// measured.
    budgets: Option<Vec<BudgetShape>>,
}

/// The smallest effects that a comparison of one duration finds with 80 % power at 5 % error.
#[derive(Serialize, JsonSchema)]
struct BudgetShape {
    /// Duration of the comparison, min.
    minutes: u32,
    /// Rounds that fit into the time, count.
    rounds: u32,
    /// Smallest visible change of the server's CPU time per request, as a share; null where it
    /// cannot be estimated.
    cpu_per_request_share: Option<f64>,
    /// Smallest visible change of throughput, as a share; null where it cannot be estimated.
    throughput_share: Option<f64>,
}

/// Measures, unless the machine is at work and `yes` is not set. A failure only becomes the reason
/// why nothing was measured: the rest of the page does not depend on it.
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
        |error| Sight::not_measured(&error.to_string()),
        |visible| Sight::of(&visible),
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
        Self {
            reason: Some(reason.to_owned()),
            ..Self::default()
        }
    }

    fn of(visible: &Visible) -> Self {
        let budget = |budget: &Budget| BudgetShape {
            minutes: budget.minutes,
            rounds: budget.rounds,
            cpu_per_request_share: budget.cpu_per_request,
            throughput_share: budget.throughput,
        };
        Self {
            reason: None,
            pairs: Some(visible.pairs),
            relative_error: Some(visible.relative_error),
            budgets: Some(visible.budgets.iter().map(budget).collect()),
        }
    }
}

/// Reports only the current phase, and asks no questions.
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
