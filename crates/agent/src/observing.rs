//! Looks at a program while it works, and hinders it to see what that changes.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use machine::cpus::CpuSplit;
use machine::instruments::moments::Watchee;
use machine::instruments::threads::OwnThreads;
use machine::levers::QuotaCut;
use machine::look::Look;
use machine::targets;
use machine::thief::Thief;
use model::explanation::{Hindrance, LaterCalls};
use model::failure::Failure;
use model::message::{BlockAsk, BurstsAsk, HinderAsk, HinderedBlock, ObserveAsk};
use model::observation::{Observation, SeenLoad};
use sys::bpf::CallDelay;
use sys::{clock, system_call};
use traffic::load::Observer;

use crate::block;
use crate::bursts::{self, Bursts};
use crate::cost::CostWatch;
use crate::target::Target;

/// Looks at a target within the scored window of a block.
pub(crate) fn under_load(
    target: &mut Target,
    block: &BlockAsk,
    ask: &ObserveAsk,
    cpus: &CpuSplit,
) -> Result<Observation, Failure> {
    are_there(&ask.behind)?;
    let pids = match &ask.behind[..] {
        [] => target.pids.clone(),
        behind => behind.to_vec(),
    };
    let cost = CostWatch::begin(&pids);
    let mut observation = look(target, block, (&pids, ask.seed), cpus)?;
    let own = targets::cpus_of(&pids);
    let shared = cpus.client.iter().filter(|cpu| own.contains(cpu)).count();
    let counters = &mut observation.counters;
    counters.insert("load.shared_cpus".to_owned(), shared as u64);
    // The bursts run under load too, but not within the look: they are work themselves.
    let block = BlockAsk {
        score_ms: bursts::LONGEST_MS,
        ..block.clone()
    };
    let mut beside = BurstsBeside {
        pids,
        ask: ask.bursts,
        thread: None,
    };
    block::measure_beside(target, &block, cpus, &mut beside)?;
    if let Some(thread) = beside.thread {
        let joined = thread.join();
        let (bursts, own_ns) = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        bursts.keep(&mut observation);
        // The look runs beside the load, on its CPUs. Where the program uses them too, the cost of
        // the look cannot be told from that of the load.
        if shared == 0 {
            observation.cost = Some(cost.end(&observation, own_ns));
        }
    }
    Ok(observation)
}

/// Takes the look without the bursts, and adds the outcome of the load.
fn look(
    target: &mut Target,
    ask: &BlockAsk,
    (pids, seed): (&[u32], u64),
    cpus: &CpuSplit,
) -> Result<Observation, Failure> {
    let mut beside = Beside {
        watchee: Watchee {
            asked_by: ask.workload.connections as usize,
            ..watchee(pids.to_vec())
        },
        cpus: cpus.client.clone(),
        seed,
        look: None,
        client: None,
        client_ready_share: 0.0,
        seen: None,
    };
    let (outcome, watch) = block::load_beside(target, ask, cpus, &mut beside)?;
    let waited_us = outcome.waited_ns as f64 / 1e3;
    let handshake_us = outcome.handshake_us();
    let reading = block::reading(outcome, &watch);
    let mut observation = beside.seen.unwrap_or_default();
    observation.load = Some(SeenLoad {
        connections: ask.workload.connections,
        answered: reading.answered,
        response_us: (reading.answered > 0).then(|| waited_us / reading.answered as f64),
        handshake_us,
        errors: reading.ledger.errors,
        client_ns: reading.cpu.client_ns,
        client_busy_share: reading.cpu.client_busy_share,
        client_ready_share: beside.client_ready_share,
    });
    Ok(observation)
}

/// Runs the bursts when the window opens.
struct BurstsBeside {
    pids: Vec<u32>,
    ask: BurstsAsk,
    /// Returns the bursts and the CPU time of ours that they took, ns.
    thread: Option<JoinHandle<(Bursts, u64)>>,
}

impl Observer for BurstsBeside {
    fn window_opens(&mut self) {
        let (pids, ask) = (self.pids.clone(), self.ask);
        self.thread = Some(std::thread::spawn(move || {
            (Bursts::of(&pids, ask, true), clock::thread_cpu_ns())
        }));
    }

    fn window_closes(&mut self) {}

    fn is_over(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

/// Looks at processes at their own work, for as long as is asked for or until a signal comes.
pub(crate) fn at_work(
    pids: &[u32],
    ask: &ObserveAsk,
    cpus: &CpuSplit,
) -> Result<Observation, Failure> {
    are_there(pids)?;
    let seen = std::thread::scope(|scope| scope.spawn(|| watched(pids, ask, cpus)).join());
    Ok(seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Looks at processes from our own CPUs, where there are any, and accounts for the cost.
fn watched(pids: &[u32], ask: &ObserveAsk, cpus: &CpuSplit) -> Observation {
    let _ = sys::cpu::pin(&cpus.client);
    let cost = CostWatch::begin(pids);
    let mut look = Look::prepare(watchee(pids.to_vec()));
    look.begin(&cpus.client, ask.seed);
    wait_for_end(pids, ask.look_ms);
    let mut observation = look.end();
    Bursts::of(pids, ask.bursts, false).keep(&mut observation);
    let beside_ns = cost.beside_ns(&cpus.client);
    observation.cost = Some(cost.end(&observation, beside_ns));
    observation
}

/// Waits for `ms`, but not beyond a signal or the end of all of the program: what is counted for
/// the whole machine must end with the program.
fn wait_for_end(pids: &[u32], ms: u32) {
    let runs = || pids.iter().any(|pid| targets::is_alive(*pid));
    // Where the program is hidden from us, we cannot tell when it ends.
    let is_seen = runs();
    clock::wait_until(Duration::from_millis(ms.into()), || {
        sys::stop::heard().is_some() || (is_seen && !runs())
    });
}

/// Waits for `ms`, or until a signal comes.
pub(crate) fn wait_ms(ms: u32) {
    clock::wait_until(Duration::from_millis(ms.into()), || {
        sys::stop::heard().is_some()
    });
}

fn are_there(pids: &[u32]) -> Result<(), Failure> {
    let is_gone = |pid: &&u32| !Path::new(&format!("/proc/{pid}")).exists();
    pids.iter().find(is_gone).map_or(Ok(()), |gone| {
        Err(Failure {
            what: format!("there is no process {gone}"),
            advice: "look for it with `ps -e` or `ss -tlnp`".to_owned(),
        })
    })
}

/// The processes that listen on an address.
pub(crate) fn listening_on(address: SocketAddr) -> Result<Vec<u32>, Failure> {
    targets::listening_on(address).map_err(|error| Failure {
        what: error.to_string(),
        advice: "run as the server's user or as root, where it runs".to_owned(),
    })
}

/// Measures a block under a hindrance, such as a part of one end's CPU time taken away.
pub(crate) fn hindered(
    target: &mut Target,
    ask: &HinderAsk,
    cpus: &CpuSplit,
) -> Result<HinderedBlock, Failure> {
    let pids = target.processes()?;
    let mut whose = match &ask.whom {
        Hindrance::Quota => return with_less_quota((target, &pids), ask, cpus),
        Hindrance::Calls(calls) => return with_later_calls((target, &pids), ask, calls, cpus),
        Hindrance::ClientElsewhere { gain } => {
            return with_client_elsewhere((target, &pids), ask, *gain, cpus);
        }
        Hindrance::ServerCpus => targets::cpus_of(&pids),
        Hindrance::ClientCpus => cpus.client.clone(),
        // The block that is asked for has the raised number of connections.
        Hindrance::Connections => Vec::new(),
    };
    if ask.whom == Hindrance::ServerCpus {
        // Time may be taken only on CPUs that one end has to itself.
        whose.retain(|cpu| !cpus.client.contains(cpu));
    }
    let thief = Thief::begin(&whose, ask.take);
    let loaded = block::measure(target, &ask.block, cpus, false);
    let taken = thief.end();
    Ok(HinderedBlock {
        reading: loaded?.reading,
        taken,
    })
}

/// Measures a block with our load on CPUs that the target may not use.
fn with_client_elsewhere(
    (target, pids): (&mut Target, &[u32]),
    ask: &HinderAsk,
    gain: f64,
    cpus: &CpuSplit,
) -> Result<HinderedBlock, Failure> {
    let own = targets::cpus_of(pids);
    let mut client = sys::cpu::allowed().unwrap_or_default();
    client.retain(|cpu| !own.contains(cpu) && !cpus.left_out.contains(cpu));
    client.truncate(cpus.client.len());
    if client.is_empty() {
        return Err(Failure {
            what: "the program may use every CPU that our load may use".to_owned(),
            advice: "give it fewer: taskset -cp CPUS PID".to_owned(),
        });
    }
    let cpus = CpuSplit {
        client,
        ..cpus.clone()
    };
    let loaded = block::measure(target, &ask.block, &cpus, false)?;
    Ok(HinderedBlock {
        reading: loaded.reading,
        taken: -gain,
    })
}

/// Measures a block while the target's quota is lowered, where it can be.
fn with_less_quota(
    (target, pids): (&mut Target, &[u32]),
    ask: &HinderAsk,
    cpus: &CpuSplit,
) -> Result<HinderedBlock, Failure> {
    let cut = QuotaCut::begin(pids, ask.take);
    let loaded = block::measure(target, &ask.block, cpus, false);
    let taken = cut.map_or(Ok(0.0), QuotaCut::end);
    let taken = taken.map_err(|error| Failure {
        what: format!("the CPU quota of the program may still be lower than it was: {error}"),
        advice: "put it back: linerate levers undo".to_owned(),
    })?;
    Ok(HinderedBlock {
        reading: loaded?.reading,
        taken,
    })
}

/// Measures a block while certain system calls of the target end later.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate"
)]
fn with_later_calls(
    (target, pids): (&mut Target, &[u32]),
    ask: &HinderAsk,
    calls: &LaterCalls,
    cpus: &CpuSplit,
) -> Result<HinderedBlock, Failure> {
    let refused = |what: String| {
        Failure::plain(format!(
            "calls of {} cannot be made to end later: {what}",
            calls.name
        ))
    };
    let number = system_call::number(&calls.name);
    let number = number.ok_or_else(|| refused("its number is not known".to_owned()))?;
    let all: Vec<u32> = targets::family(pids).into_iter().collect();
    let delay_ns = (calls.delay_us * 1e3) as u32;
    let delay = CallDelay::begin(number, delay_ns, &all);
    let mut beside = DelayBeside {
        delay: delay.map_err(|error| refused(error.to_string()))?,
        delayed_ns: 0,
    };
    let reading = block::measure_beside(target, &ask.block, cpus, &mut beside)?.reading;
    let time_ns = reading.window_ns as f64 * calls.at_once;
    Ok(HinderedBlock {
        taken: beside.delayed_ns as f64 / time_ns.max(1.0),
        reading,
    })
}

/// Measures by how much calls ended later within the window.
struct DelayBeside {
    delay: CallDelay,
    delayed_ns: u64,
}

impl Observer for DelayBeside {
    fn window_opens(&mut self) {
        self.delayed_ns = self.delay.sum_ns().unwrap_or_default();
    }

    fn window_closes(&mut self) {
        let until_now = self.delay.sum_ns().unwrap_or_default();
        self.delayed_ns = until_now.saturating_sub(self.delayed_ns);
    }
}

fn watchee(pids: Vec<u32>) -> Watchee {
    Watchee {
        listens: targets::addresses_of_all(&pids),
        pids,
        asked_by: 0,
        is_short: false,
    }
}

/// Takes the look from the opening of the window to its close.
struct Beside {
    watchee: Watchee,
    cpus: Vec<usize>,
    seed: u64,
    look: Option<Look>,
    client: Option<OwnThreads>,
    client_ready_share: f64,
    seen: Option<Observation>,
}

impl Observer for Beside {
    fn is_connected(&mut self) {
        self.look = Some(Look::prepare(self.watchee.clone()));
    }

    fn window_opens(&mut self) {
        if let Some(look) = &mut self.look {
            look.begin(&self.cpus, self.seed);
        }
        self.client = Some(OwnThreads::open());
    }

    fn window_closes(&mut self) {
        if let Some(client) = self.client.take() {
            self.client_ready_share = client.ready_share();
        }
        self.seen = self.look.take().map(Look::end);
    }
}
