//! Other work on the machine while the commands ran, and what had to wait for it.

use model::command::Meanwhile;
use model::command_run::CommandBlock;
use model::{CommandRun, Doubt};

use crate::surroundings::{FOREIGN_SHARE, PRESSURE_SHARE};

/// Shortest total time for a judgement, ns: the totals are counted in ticks of 10 ms, too coarse to
/// tell a tenth of a shorter time.
const FEWEST_NS: f64 = 1e9;

/// What all runs of commands together show.
#[derive(Default)]
struct Total {
    window_ns: f64,
    /// CPU time of everybody else; a little below 0 where there was nobody, since ticks are coarse.
    others_ns: f64,
    waited_ns: f64,
}

pub(super) fn doubts(run: &CommandRun, blocks: &[CommandBlock]) -> Vec<Doubt> {
    if another_agents_server_is_here(run) {
        return Vec::new();
    }
    let seen = blocks.iter().filter_map(|block| block.reading.meanwhile);
    let total = seen.fold(Total::default(), Total::with);
    if total.window_ns < FEWEST_NS {
        return Vec::new();
    }
    let host = run.client.as_ref().map_or(&run.facts, |host| &host.facts);
    let cpus = f64::from(host.cpus_online.max(1));
    [total.foreign_work(cpus), total.pressure()]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether both hosts are one machine with a server on it: the agent that times the commands cannot
/// tell the other agent's server from the work of strangers.
fn another_agents_server_is_here(run: &CommandRun) -> bool {
    let is_one_machine = run.client.as_ref().is_some_and(|host| host.same_machine);
    is_one_machine && !run.study.workload.server.is_empty()
}

impl Total {
    /// Adds one run; a run whose totals are hidden adds nothing.
    fn with(self, meanwhile: Meanwhile) -> Self {
        let Some(busy_ns) = meanwhile.busy_ns else {
            return self;
        };
        let window_ns = meanwhile.window_ns as f64;
        Self {
            window_ns: self.window_ns + window_ns,
            others_ns: self.others_ns + busy_ns as f64 - meanwhile.own_ns as f64,
            waited_ns: self.waited_ns + meanwhile.psi_some_share.unwrap_or(0.0) * window_ns,
        }
    }

    fn foreign_work(&self, cpus: f64) -> Option<Doubt> {
        let cpu_share = self.others_ns / (self.window_ns * cpus);
        (cpu_share > FOREIGN_SHARE).then_some(Doubt::ForeignWork { cpu_share })
    }

    /// A doubt where commands waited for others. A task waits while another runs, so others account
    /// for no more waiting than the time for which they ran; the rest is due to the commands' own
    /// processes, which may wait for one another on their one CPU.
    fn pressure(&self) -> Option<Doubt> {
        let share = self.waited_ns.min(self.others_ns) / self.window_ns;
        (share > PRESSURE_SHARE).then_some(Doubt::CpuPressure {
            waiting_percent: share * 100.0,
        })
    }
}
