//! Finds the functions that take a program's time, in three short bursts of sampling. Each burst
//! costs CPU time itself, so bursts follow a look, except where a command may end at any time.

use std::io;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use machine::instruments::senders::{self, SenderWatch};
use machine::instruments::stacks;
use machine::targets;
use model::message::BurstsAsk;
use model::observation::{Observation, SeenCalls, Unseen};
use model::stacks::Stacks;
use sys::clock;

/// The bursts run one after another. Each is so short that its cost stays small, as measured in
/// docs/instruments/stacks.md.
const ON_CPU_MS: u32 = 1_000;
const ASLEEP_MS: u32 = 300;
const CALLS_MS: u32 = 100;
/// An upper bound on the time of all three bursts and of naming the functions that were seen, ms.
pub(crate) const LONGEST_MS: u32 = 5_000;
/// Samples per second on each CPU.
const HERTZ: u32 = 199;
/// The most bytes of each of the three sets of stacks: on the CPU for the program and for our
/// client, and asleep. An agent's answer has room for all three.
const MOST_STACK_BYTES: usize = 100_000;

/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;

/// What each burst saw, or why it failed; `None` for a burst that was not asked for.
#[derive(Default)]
pub(crate) struct Bursts {
    on_cpu: Option<io::Result<Stacks>>,
    of_client: Option<Stacks>,
    asleep: Option<io::Result<Stacks>>,
    calls: Option<io::Result<SeenCalls>>,
}

impl Bursts {
    /// Runs the bursts that are asked for. Where our own threads load the program, they are sampled
    /// at the same time as its threads.
    pub(crate) fn of(pids: &[u32], ask: BurstsAsk, is_loaded: bool) -> Self {
        let (is_on_cpu, is_of_calls) = match ask {
            BurstsAsk::All => (true, true),
            BurstsAsk::OnCpu => (true, false),
            BurstsAsk::Calls => (false, true),
        };
        let (on_cpu, of_client) = match is_on_cpu {
            true => on_cpu(pids, is_loaded),
            false => (None, None),
        };
        let asleep = || stacks::off_cpu(pids, ms(ASLEEP_MS));
        Self {
            on_cpu,
            of_client,
            asleep: (ask == BurstsAsk::All).then(asleep),
            calls: is_of_calls.then(|| calls(pids)),
        }
    }

    /// Adds what the bursts saw to an observation, and what they could not see.
    pub(crate) fn keep(self, observation: &mut Observation) {
        let within = |stacks: Stacks| stacks.within(MOST_STACK_BYTES);
        let unseen = &mut observation.unseen;
        observation.stacks = seen(self.on_cpu, "which functions take the time", unseen).map(within);
        observation.client_stacks = self.of_client.map(within);
        observation.asleep = seen(self.asleep, "what threads sleep in", unseen).map(within);
        observation.calls = seen(self.calls, "which system calls are made", unseen);
    }
}

/// Samples the stacks that run on CPUs: the program's and, where we load it, our own.
fn on_cpu(pids: &[u32], is_loaded: bool) -> (Option<io::Result<Stacks>>, Option<Stacks>) {
    let on_cpu = |pids: &[u32]| stacks::on_cpu(pids, ms(ON_CPU_MS), HERTZ);
    std::thread::scope(|scope| {
        let client = is_loaded.then(|| scope.spawn(|| on_cpu(&[std::process::id()])));
        let of_program = on_cpu(pids);
        let of_client = client.map(ScopedJoinHandle::join);
        let of_client = of_client.and_then(Result::ok).and_then(io::Result::ok);
        (Some(of_program), of_client)
    })
}

fn ms(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

/// Counts the system calls, and the bytes that clients acknowledged during the burst: the program
/// answers less while it is traced.
fn calls(pids: &[u32]) -> io::Result<SeenCalls> {
    let window_ns = u64::from(CALLS_MS) * 1_000_000;
    let mut senders = senders::open_for(&targets::addresses_of_all(pids));
    let begun_ns = clock::monotonic_ns();
    let counts = stacks::system_calls(pids, Duration::from_nanos(window_ns))?;
    senders.iter_mut().for_each(SenderWatch::close);
    let lasted_ns = clock::monotonic_ns() - begun_ns;
    let readings = senders.iter().filter_map(SenderWatch::reading);
    let acked = readings.map(|it| it.acked_bytes).reduce(|sum, it| sum + it);
    // `acked` also covers the time to prepare and to read the burst, so it is scaled down.
    let within = |acked: u64| {
        u128::from(acked) * u128::from(window_ns) / u128::from(lasted_ns.max(window_ns))
    };
    Ok(SeenCalls {
        window_ns,
        acked_bytes: acked.map(|acked| u64::try_from(within(acked)).unwrap_or(u64::MAX)),
        counts: counts.into_iter().collect(),
    })
}

fn seen<T>(seen: Option<io::Result<T>>, what: &str, unseen: &mut Vec<Unseen>) -> Option<T> {
    let error = match seen? {
        Ok(seen) => return Some(seen),
        Err(error) => error,
    };
    let why = match error.raw_os_error() {
        Some(NO_SUCH_PROCESS) => "it had ended by then".to_owned(),
        _ => format!("{error}: it takes root, and a kernel with perf events"),
    };
    unseen.push(Unseen {
        what: what.to_owned(),
        why,
    });
    None
}
