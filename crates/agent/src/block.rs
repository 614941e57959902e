//! One block: load on a target while the counters are read at the edges of the scored window.

use machine::cpus::CpuSplit;
use machine::instruments::cpu::CpuWatch;
use model::message::{BlockAsk, Failure, Loaded};
use model::{Pace, Reading};
use sys::clock;
use traffic::load::{self, Engine, LoadError, LoadOutcome, LoadPlan, Observer};

use crate::target::{Speaks, Target};

/// An answer that takes longer than this is given up.
const TIMEOUT_NS: u64 = 2_000_000_000;

/// Measures one block. Of a target on another host there are no processes to be read.
pub(crate) fn measure(target: &Target, ask: &BlockAsk, cpus: &CpuSplit) -> Result<Loaded, Failure> {
    let plan = LoadPlan {
        address: target.address,
        connections: ask.workload.connections,
        threads: ask.workload.threads,
        cpus: cpus.client.clone(),
        pace: ask.pace,
        settle_ns: u64::from(ask.settle_ms) * 1_000_000,
        score_ns: u64::from(ask.score_ms) * 1_000_000,
        timeout_ns: TIMEOUT_NS,
        record_latency: ask.pace != Pace::Closed,
        // One engine for all studies, so that runs can be compared with one another.
        engine: Engine::Epoll,
        bulk: false,
        tls: None,
    };
    let mut window = Window::new(&target.pids);
    let outcome = match &target.speaks {
        Speaks::Http(protocol, _) => load::run(&plan, protocol, &mut window),
        Speaks::Echo(protocol) => load::run(&plan, protocol, &mut window),
    };
    if sys::stop::heard().is_some() {
        return Err(Failure {
            what: format!("the block on `{}` was cut short by a signal", ask.target),
            advice: String::new(),
        });
    }
    let outcome = outcome.map_err(|error| failure(ask, &error))?;
    Ok(Loaded {
        opened_ns: window.opened_ns,
        closed_ns: window.closed_ns,
        reading: reading(outcome, &window.watch),
    })
}

/// Reads the counters in step with the load, and when that was.
struct Window {
    watch: CpuWatch,
    opened_ns: u64,
    closed_ns: u64,
}

impl Window {
    fn new(pids: &[u32]) -> Self {
        Self {
            watch: CpuWatch::new(pids),
            opened_ns: 0,
            closed_ns: 0,
        }
    }
}

impl Observer for Window {
    fn window_opens(&mut self) {
        self.watch.open();
        self.opened_ns = clock::monotonic_ns();
    }

    fn window_closes(&mut self) {
        self.closed_ns = clock::monotonic_ns();
        self.watch.close();
    }

    fn is_over(&self) -> bool {
        sys::stop::heard().is_some()
    }
}

fn reading(outcome: LoadOutcome, watch: &CpuWatch) -> Reading {
    let cpu = watch.reading(
        outcome.window_ns,
        outcome.client_cpu_ns,
        outcome.client_busy_share,
    );
    Reading {
        window_ns: outcome.window_ns,
        answered: outcome.answered,
        ledger: outcome.ledger,
        cpu,
        latency: outcome.latency,
        doubts: outcome.doubts,
    }
}

fn failure(ask: &BlockAsk, error: &LoadError) -> Failure {
    Failure {
        what: format!("load on `{}`: {error}", ask.target),
        advice: String::new(),
    }
}
