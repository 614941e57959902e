//! What was seen of a program at work: values without a judgement. From them the judge finds what
//! holds the program back.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ceiling::ProbeValues;
use crate::command::CommandReading;
use crate::reading::Errors;
use crate::stacks::Stacks;

/// One look at a program, and at what it works with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// Length of the look, ns.
    #[serde(deserialize_with = "bounded")]
    pub window_ns: u64,
    /// The results of our own load in the look; absent if the program was seen at its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<SeenLoad>,
    /// The TCP addresses that it listens on; absent if there are none, or they are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listens: Vec<SocketAddr>,
    /// How it ended, if it was started for the look; absent if it was already running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandReading>,
    /// Its threads that ran within the look, the busiest first.
    pub threads: Vec<SeenThread>,
    /// What went on at moments drawn at random.
    pub moments: Vec<Moment>,
    /// By how much counters of the kernel rose, and the values of limits, by names that
    /// docs/instruments/counters.md explains.
    #[serde(deserialize_with = "all_bounded")]
    pub counters: BTreeMap<String, u64>,
    /// The values of probes that ran before the look, by the names of docs/probes.md: what the
    /// machine can do at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probed: ProbeValues,
    /// Where its threads were on a CPU, in a burst after the look; absent if that could not be
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Stacks>,
    /// Where the threads of our own load were in that burst; absent if that could not be seen, or
    /// there was no load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_stacks: Option<Stacks>,
    /// What its threads slept in, in a later burst; absent if that could not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<Stacks>,
    /// The system calls of its threads, in a still later burst; absent if they could not be
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<SeenCalls>,
    /// What the observation cost the program; absent in older runs, and if it cannot be told from
    /// our load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LookCost>,
    /// The other ends of connections that the program opened itself, those that it waits for first;
    /// absent if there are none, or its files are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
    /// Other programs that used the most CPU time, the busiest first.
    pub others: Vec<OtherProgram>,
    /// What could not be observed, and why.
    pub unseen: Vec<Unseen>,
}

/// Our load on the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenLoad {
    /// Connections, on each of which one request follows another, count.
    pub connections: u32,
    /// Requests with a right answer, count.
    pub answered: u64,
    /// Mean time from a request to its answer by the client's own clock, µs; null if nothing was
    /// answered.
    #[serde(default)]
    pub response_us: Option<f64>,
    /// Mean time of a TLS handshake, from the established connection to the end of the handshake,
    /// by the client's own clock, µs; null without TLS.
    #[serde(default)]
    pub handshake_us: Option<f64>,
    /// Requests without a right answer, by fate.
    pub errors: Errors,
    /// CPU time of all threads of the load generator, ns.
    pub client_ns: u64,
    /// Share of the time in which the busiest of these threads had a CPU, 0 to 1.
    pub client_busy_share: f64,
    /// Share of the time in which that thread could have run but had no CPU, 0 to 1.
    #[serde(default)]
    pub client_ready_share: f64,
}

/// One thread of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenThread {
    /// Process id of its process.
    pub pid: u32,
    /// Thread id.
    pub id: u32,
    /// Its name in the kernel.
    pub name: String,
    /// Time for which it had a CPU, ns.
    #[serde(deserialize_with = "bounded")]
    pub running_ns: u64,
    /// Time for which it could have run but had no CPU, ns.
    #[serde(deserialize_with = "bounded")]
    pub ready_ns: u64,
    /// Part of the time on a CPU that it spent in the program's own code, ns; from samples at the
    /// kernel's ticks.
    #[serde(deserialize_with = "bounded")]
    pub user_ns: u64,
    /// Part of the time on a CPU that it spent in the kernel, ns; from samples at the kernel's
    /// ticks.
    #[serde(deserialize_with = "bounded")]
    pub system_ns: u64,
    /// Times that it gave up its CPU to wait, count.
    #[serde(deserialize_with = "bounded")]
    pub waits: u64,
    /// Times that its CPU was taken from it, count.
    #[serde(deserialize_with = "bounded")]
    pub preemptions: u64,
    /// CPUs that it may run on, count.
    pub cpus: u32,
}

/// The number of moments at which a request had this holder while the program did this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Who had the request of a connection that was drawn at random.
    pub holder: Holder,
    /// What the program did.
    pub doing: Doing,
    /// Number of moments; a moment at which several threads did different things counts in parts.
    pub count: f64,
}

/// Who has a request, or its answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Nobody: a connection is being opened for the request, or the one of the previous request
    /// closed.
    Opening,
    /// The network: the request is written but has not fully arrived.
    Asking,
    /// The server's kernel: the request has arrived, and the program has not read it.
    Unread,
    /// The program: it has read all that arrived, and all that it wrote was read or has arrived.
    /// Between the requests of a client that is not ours this means nobody.
    Program,
    /// The network: the answer is written but has not fully arrived.
    Network,
    /// The server's kernel: a part of the answer is written, and nothing is on the way although the
    /// client has room.
    HeldBack,
    /// The server's kernel: all that is written has arrived, its send buffer is full, and no
    /// acknowledgement has come.
    Full,
    /// The client: the answer has arrived, and the client has not read it.
    Client,
    /// The client's kernel: a part of the answer has arrived, and its receive buffer is too small
    /// for the rest.
    Window,
    /// Unknown: the connection cannot be seen, or is gone.
    Unknown,
}

/// What a program does at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A thread has a CPU, or could use one.
    Running,
    /// Threads sleep in the middle of work, in this function of the kernel.
    Asleep(String),
    /// Threads sleep in this function of the kernel while another has a CPU: they wait for that
    /// thread, or have nothing to do.
    AsleepBeside(String),
    /// Threads sleep in this function of the kernel, and no signal can wake them.
    Blocked(String),
    /// Somebody has stopped the program by a signal or a debugger.
    Stopped,
    /// All threads wait for something to do, in this function of the kernel.
    Idle(String),
}

/// System calls in a burst, which slows the program down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenCalls {
    /// Length of the burst, ns.
    #[serde(deserialize_with = "bounded")]
    pub window_ns: u64,
    /// Bytes of its answers that clients acknowledged in the burst; absent if the kernel does not
    /// report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked_bytes: Option<u64>,
    /// Number of calls by the name of the call; `[lost]` counts those for which there was no room.
    #[serde(deserialize_with = "all_bounded")]
    pub counts: BTreeMap<String, u64>,
}

/// What the observation cost a program, including all bursts, by accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookCost {
    /// Time from the beginning of the look to the end of the last burst, ns.
    #[serde(deserialize_with = "bounded")]
    pub lasted_ns: u64,
    /// CPU time of the program in that time, ns.
    #[serde(deserialize_with = "bounded")]
    pub program_ns: u64,
    /// The part of it that was spent on the samples, sleeps and system calls of bursts, ns: their
    /// number times the cost of each.
    #[serde(deserialize_with = "bounded")]
    pub within_ns: u64,
    /// Our own CPU time in that time if the program may use our CPUs too, ns; it first uses time
    /// that is idle.
    #[serde(deserialize_with = "bounded")]
    pub beside_ns: u64,
}

impl LookCost {
    /// The time spent on bursts ÷ the program's CPU time, 0 to 1; `None` if it used none.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let of_all = self.program_ns.max(self.within_ns);
        (of_all > 0).then(|| self.within_ns as f64 / of_all as f64)
    }
}

/// The other end of connections that the program opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// IP address and port of the other end.
    pub address: SocketAddr,
    /// Whether the other end is on this machine, in the same network namespace.
    pub is_here: bool,
    /// The processes that listen there; empty if they cannot be seen.
    pub pids: Vec<u32>,
    /// Their name in the kernel; empty if they cannot be seen.
    pub name: String,
    /// Open connections to it, on average, count.
    pub open: f64,
    /// Those of them on which the program waits for something, since it wrote later than anything
    /// arrived, on average, count.
    pub waiting: f64,
}

/// Another program on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// Its name in the kernel.
    pub name: String,
    /// CPU time within the look, ns.
    #[serde(deserialize_with = "bounded")]
    pub cpu_ns: u64,
}

/// Something that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// What could not be observed, and what it would have shown.
    pub what: String,
    /// Why it could not be observed.
    pub why: String,
}

/// Largest number that is accepted from a folder or another host, so that many can be added up:
/// some five hours in ns.
const MOST: u64 = 1 << 44;
/// Largest value of a counter. There is only one of each name, and some are sums over all CPUs of a
/// machine.
const MOST_COUNTED: u64 = 1 << 50;

/// Reads a number, limited to [`MOST`].
pub(crate) fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    u64::deserialize(from).map(|number| number.min(MOST))
}

fn all_bounded<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, u64>, D::Error> {
    let mut all = BTreeMap::<String, u64>::deserialize(from)?;
    for number in all.values_mut() {
        *number = (*number).min(MOST_COUNTED);
    }
    Ok(all)
}

impl Observation {
    /// The value of a counter or limit; `None` if it was not read.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// By how much a counter rose; 0 if it was not read.
    #[must_use]
    pub fn rise(&self, name: &str) -> u64 {
        self.counter(name).unwrap_or(0)
    }
}
