//! A program is looked at while it works, and hindered to see what comes of it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use machine::cpus::CpuSplit;
use machine::instruments::moments::Watchee;
use machine::instruments::stacks;
use machine::look::Look;
use machine::targets;
use machine::thief::Thief;
use model::explanation::Hindrance;
use model::failure::Failure;
use model::message::{BlockAsk, HinderAsk, HinderedBlock, ObserveAsk};
use model::observation::{Observation, SeenLoad, Unseen};
use model::stacks::Stacks;
use sys::clock;
use traffic::load::Observer;

use crate::block;
use crate::target::Target;

/// A burst in which it is seen which functions are under way, ms, and how often a second on each CPU: the cost is
/// 0.3 % of the program's CPU time within it (docs/instruments/stacks.md).
const BURST_MS: u32 = 1_000;
const HERTZ: u32 = 199;
/// An answer of an agent has no room for more than twice as much.
const MOST_STACK_BYTES: usize = 200_000;

/// Looks at a target within the scored window of a block.
pub(crate) fn under_load(
    target: &mut Target,
    ask: &BlockAsk,
    seed: u64,
    cpus: &CpuSplit,
) -> Result<Observation, Failure> {
    let mut beside = Beside {
        watchee: watchee(target.pids.clone()),
        cpus: cpus.client.clone(),
        seed,
        look: None,
        seen: None,
    };
    let reading = block::measure_beside(target, ask, cpus, &mut beside)?.reading;
    let mut observation = beside.seen.unwrap_or_default();
    observation.load = Some(SeenLoad {
        connections: ask.workload.connections,
        answered: reading.answered,
        errors: reading.ledger.errors,
        client_ns: reading.cpu.client_ns,
        client_busy_share: reading.cpu.client_busy_share,
    });
    let own = targets::cpus_of(&target.pids);
    let shared = cpus.client.iter().filter(|cpu| own.contains(cpu)).count();
    let counters = &mut observation.counters;
    counters.insert("load.shared_cpus".to_owned(), shared as u64);
    // Under load still, and not within the look: it is work itself.
    let ask = BlockAsk {
        score_ms: BURST_MS,
        ..ask.clone()
    };
    let mut burst = Burst::of(&target.pids);
    block::measure_beside(target, &ask, cpus, &mut burst)?;
    keep(&mut observation, burst.end());
    Ok(observation)
}

/// Adds what a burst saw, or why it saw nothing.
fn keep(observation: &mut Observation, stacks: io::Result<Stacks>) {
    match stacks {
        Ok(stacks) => observation.stacks = Some(stacks.within(MOST_STACK_BYTES)),
        Err(error) => observation.unseen.push(Unseen {
            what: "which functions take the time".to_owned(),
            why: format!("{error}: it takes root, and a kernel with perf events"),
        }),
    }
}

/// Where threads are on a CPU, from the opening of the window on.
struct Burst {
    pids: Vec<u32>,
    thread: Option<JoinHandle<io::Result<Stacks>>>,
}

impl Burst {
    fn of(pids: &[u32]) -> Self {
        Self {
            pids: pids.to_vec(),
            thread: None,
        }
    }

    fn end(self) -> io::Result<Stacks> {
        let ended = self.thread.map(JoinHandle::join);
        let never = || Err(io::ErrorKind::Interrupted.into());
        ended.map_or_else(never, |ended| {
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Observer for Burst {
    fn window_opens(&mut self) {
        let pids = self.pids.clone();
        self.thread = Some(std::thread::spawn(move || burst(&pids)));
    }

    fn window_closes(&mut self) {}
}

fn burst(pids: &[u32]) -> io::Result<Stacks> {
    stacks::on_cpu(pids, Duration::from_millis(BURST_MS.into()), HERTZ)
}

/// Looks at processes at their own work, for as long as is asked for or until a signal comes.
pub(crate) fn at_work(
    pids: &[u32],
    ask: &ObserveAsk,
    cpus: &CpuSplit,
) -> Result<Observation, Failure> {
    if let Some(gone) = pids
        .iter()
        .find(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    {
        return Err(Failure {
            what: format!("there is no process {gone}"),
            advice: "look for it with `ps -e` or `ss -tlnp`".to_owned(),
        });
    }
    let look = Look::begin(watchee(pids.to_vec()), &cpus.client, ask.seed);
    clock::wait_until(Duration::from_millis(ask.look_ms.into()), || {
        sys::stop::heard().is_some()
    });
    let mut observation = look.end();
    keep(&mut observation, burst(pids));
    Ok(observation)
}

/// The processes that listen there.
pub(crate) fn listening_on(address: SocketAddr) -> Result<Vec<u32>, Failure> {
    targets::listening_on(address).map_err(|error| Failure {
        what: error.to_string(),
        advice: "run as the server's user or as root, where it runs".to_owned(),
    })
}

/// Measures a block with a part of somebody's CPU time taken away.
pub(crate) fn hindered(
    target: &mut Target,
    ask: &HinderAsk,
    cpus: &CpuSplit,
) -> Result<HinderedBlock, Failure> {
    let mut whose = match ask.whom {
        Hindrance::ServerCpus => targets::cpus_of(&target.pids),
        Hindrance::ClientCpus => cpus.client.clone(),
    };
    if ask.whom == Hindrance::ServerCpus {
        // Whose time is taken must be one end's alone.
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

fn watchee(pids: Vec<u32>) -> Watchee {
    Watchee {
        listens: targets::addresses_of_all(&pids),
        pids,
    }
}

/// Looks on from the opening of the window to its close.
struct Beside {
    watchee: Watchee,
    cpus: Vec<usize>,
    seed: u64,
    look: Option<Look>,
    seen: Option<Observation>,
}

impl Observer for Beside {
    fn window_opens(&mut self) {
        self.look = Some(Look::begin(self.watchee.clone(), &self.cpus, self.seed));
    }

    fn window_closes(&mut self) {
        self.seen = self.look.take().map(Look::end);
    }
}
