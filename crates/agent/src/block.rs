//! Measures one block: loads a target and reads the counters at the edges of the scored window.

use machine::cpus::CpuSplit;
use machine::instruments::cpu::CpuWatch;
use model::failure::Failure;
use model::message::{BlockAsk, Loaded};
use model::reading::CpuReading;
use model::{Pace, Reading};
use traffic::load::{Engine, LoadError, LoadOutcome, LoadPlan, Loads as _, NoObserver, Observer};

use crate::gate;
use crate::speaks::Speaks;
use crate::target::Target;

/// A request whose answer takes longer than this is given up.
const TIMEOUT_NS: u64 = 2_000_000_000;

/// Measures one block. `of_new` matters only for a watched target, whose connections others open:
/// with it, the block is repeated until new connections carry nearly all of the traffic. The
/// processes of a target on another host cannot be read.
pub(crate) fn measure(
    target: &mut Target,
    ask: &BlockAsk,
    cpus: &CpuSplit,
    of_new: bool,
) -> Result<Loaded, Failure> {
    match &target.speaks {
        Speaks::Watched(watched) => watched.measure(ask, of_new, &mut NoObserver),
        _ => measure_beside(target, ask, cpus, &mut NoObserver),
    }
}

/// Measures one block and reports its progress to the observer `beside`.
pub(crate) fn measure_beside(
    target: &mut Target,
    ask: &BlockAsk,
    cpus: &CpuSplit,
    beside: &mut dyn Observer,
) -> Result<Loaded, Failure> {
    if let Speaks::Runs(runs) = &mut target.speaks {
        let reading = gate::measure(runs, ask.score_ms)?;
        return Ok(Loaded {
            opened_ns: 0,
            closed_ns: reading.window_ns,
            reading,
        });
    }
    if let Speaks::Watched(watched) = &target.speaks {
        return watched.measure(ask, false, beside);
    }
    let (outcome, watch) = load_beside(target, ask, cpus, beside)?;
    Ok(Loaded {
        opened_ns: outcome.opened_ns,
        closed_ns: outcome.opened_ns + outcome.window_ns,
        reading: reading(outcome, &watch),
    })
}

/// Loads the target ourselves. Returns the outcome that the load generator reports, and the
/// counters at the edges of its window.
pub(crate) fn load_beside(
    target: &Target,
    ask: &BlockAsk,
    cpus: &CpuSplit,
    beside: &mut dyn Observer,
) -> Result<(LoadOutcome, CpuWatch), Failure> {
    let asked = match &target.speaks {
        Speaks::Asked(asked) => Some(asked),
        Speaks::Http(..) | Speaks::Echo(_) => None,
        Speaks::Watched(_) | Speaks::Runs(_) => return Err(not_loaded(ask)),
    };
    let plan = LoadPlan {
        address: target.address.clone(),
        connections: ask.workload.connections,
        threads: ask.workload.threads,
        cpus: cpus.client.clone(),
        pace: ask.pace,
        settle_ns: u64::from(ask.settle_ms) * 1_000_000,
        score_ns: u64::from(ask.score_ms) * 1_000_000,
        requests: None,
        timeout_ns: TIMEOUT_NS,
        record_latency: ask.pace != Pace::Closed,
        // All studies use the same engine, so that runs can be compared with one another.
        engine: Engine::Epoll,
        bulk: false,
        tls: asked.and_then(|asked| asked.tls.clone()),
        streams: asked.and_then(|asked| asked.streams),
        pipeline: asked.map_or(1, |asked| asked.pipeline),
    };
    let mut window = Window {
        watch: CpuWatch::new(&target.pids),
        beside,
    };
    let outcome = match &target.speaks {
        Speaks::Http(protocol, _) => protocol.load(&plan, &mut window),
        Speaks::Echo(protocol) => protocol.load(&plan, &mut window),
        Speaks::Asked(asked) => asked.prepared.load(&plan, &mut window),
        Speaks::Runs(_) | Speaks::Watched(_) => unreachable!("it was answered above"),
    };
    if sys::stop::heard().is_some() {
        return Err(Failure::plain(format!(
            "the block on `{}` was cut short by a signal",
            ask.target
        )));
    }
    let outcome = outcome.map_err(|error| failure(ask, &error))?;
    Ok((outcome, window.watch))
}

/// Reads the counters in step with the load, and ends the load early when a signal arrives.
pub struct Window<'a> {
    /// Counters of the target's processes and of the whole machine.
    pub watch: CpuWatch,
    /// A second observer, which gets the same calls.
    pub beside: &'a mut dyn Observer,
}

impl Observer for Window<'_> {
    fn is_connected(&mut self) {
        self.beside.is_connected();
    }

    fn window_opens(&mut self) {
        self.beside.window_opens();
        self.watch.open();
    }

    fn window_closes(&mut self) {
        self.watch.close();
        self.beside.window_closes();
    }

    fn is_over(&self) -> bool {
        sys::stop::heard().is_some() || self.beside.is_over()
    }
}

/// Makes the reading of a block from the outcome of its load and the counters of its window.
pub fn reading(outcome: LoadOutcome, watch: &CpuWatch) -> Reading {
    let cpu = watch.reading(
        outcome.window_ns,
        outcome.client_cpu_ns,
        outcome.client_busy_share,
    );
    let cpu = CpuReading {
        client_occupied_share: Some(outcome.client_occupied_share),
        ..cpu
    };
    Reading {
        window_ns: outcome.window_ns,
        answered: outcome.answered,
        carried: None,
        ledger: outcome.ledger,
        cpu,
        latency: outcome.latency,
        doubts: outcome.doubts,
    }
}

/// The failure for a target that has its own traffic and gets no load from us.
fn not_loaded(ask: &BlockAsk) -> Failure {
    Failure {
        what: format!("`{}` is not loaded by us", ask.target),
        advice: "ask for its block, or look at its processes".to_owned(),
    }
}

fn failure(ask: &BlockAsk, error: &LoadError) -> Failure {
    Failure::plain(format!("load on `{}`: {error}", ask.target))
}
