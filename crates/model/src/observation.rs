//! What was seen of a program at work: values without a judgement, of which the judge finds what holds it back.

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
    /// What our own load came to within it; absent where the program was seen at its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<SeenLoad>,
    /// The addresses of TCP that it listens on; absent where there are none, or they are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listens: Vec<SocketAddr>,
    /// How it ended where it was started for the look; absent where it ran already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandReading>,
    /// Its threads that ran within the look, the busiest first.
    pub threads: Vec<SeenThread>,
    /// What was going on at moments drawn at random.
    pub moments: Vec<Moment>,
    /// What counters of the kernel rose by, and what limits stood at, by names that
    /// docs/instruments/counters.md explains.
    #[serde(deserialize_with = "all_bounded")]
    pub counters: BTreeMap<String, u64>,
    /// What the machine can do at most, by probes before the look: the values of each, by the names of docs/probes.md.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probed: ProbeValues,
    /// Where its threads were on a CPU, in a burst after the look; absent where that could not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Stacks>,
    /// Where those of our own load were meanwhile; absent likewise, and where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_stacks: Option<Stacks>,
    /// What its threads slept in, in a burst after that; absent where that could not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<Stacks>,
    /// The system calls of its threads, in a burst after that; absent where they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<SeenCalls>,
    /// What it cost the program to be looked at; absent in older runs, and where it is not told apart from our load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LookCost>,
    /// Who is at the other end of connections that it opened itself, those that it waits for first; absent where there
    /// are none, or its files are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
    /// Other programs that had the most CPU time, the busiest first.
    pub others: Vec<OtherProgram>,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

/// Load of ours on the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenLoad {
    /// Connections on each of which one request after another is asked, count.
    pub connections: u32,
    /// Right answers, count.
    pub answered: u64,
    /// Mean time from a request to its answer by the client's own clock, µs; null where nothing was answered.
    #[serde(default)]
    pub response_us: Option<f64>,
    /// Mean time of a handshake of TLS, from the connection to its end, by the client's own clock, µs; null in the clear.
    #[serde(default)]
    pub handshake_us: Option<f64>,
    /// Requests without a right answer, by fate.
    pub errors: Errors,
    /// CPU time of all threads of the load generator, ns.
    pub client_ns: u64,
    /// Share of the time for which the busiest of them had a CPU, 0 to 1.
    pub client_busy_share: f64,
    /// Share of the time for which that one could have run and had none, 0 to 1.
    #[serde(default)]
    pub client_ready_share: f64,
}

/// One thread of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenThread {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub id: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// It had a CPU, ns.
    #[serde(deserialize_with = "bounded")]
    pub running_ns: u64,
    /// It could have run and had none, ns.
    #[serde(deserialize_with = "bounded")]
    pub ready_ns: u64,
    /// Of the time on a CPU, in the program's own code, ns; by samples at the kernel's ticks.
    #[serde(deserialize_with = "bounded")]
    pub user_ns: u64,
    /// In the kernel, ns; likewise.
    #[serde(deserialize_with = "bounded")]
    pub system_ns: u64,
    /// It gave its CPU up to wait, count.
    #[serde(deserialize_with = "bounded")]
    pub waits: u64,
    /// Its CPU was taken from it, count.
    #[serde(deserialize_with = "bounded")]
    pub preemptions: u64,
    /// How many CPUs it may run on, count.
    pub cpus: u32,
}

/// So many of the moments at which a request was held there, while the program did this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Who had the request of a connection drawn at random.
    pub holder: Holder,
    /// What the program did.
    pub doing: Doing,
    /// Moments: parts of one where several threads did different things.
    pub count: f64,
}

/// Who has a request, or its answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Nobody: a connection is being opened for it, or that of the one before closed.
    Opening,
    /// The network: the request is written, and not all there.
    Asking,
    /// The server's kernel: it came in, and the program has not read it.
    Unread,
    /// The program: it has read all that came, and all that it wrote is read or there. Between requests of a client
    /// that is not ours this is nobody.
    Program,
    /// The network: the answer is written, and not all there.
    Network,
    /// The server's kernel: a part of the answer is written, and nothing is on the way though the client has room.
    HeldBack,
    /// The server's kernel: all that is written is there, its send buffer is full, and no acknowledgement has come.
    Full,
    /// The client: the answer lies at its end, unread.
    Client,
    /// The client's kernel: a part of the answer lies there, and its receive buffer is too small for the rest.
    Window,
    /// It cannot be told: the connection is not seen, or has gone.
    Unknown,
}

/// What a program does at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A thread has a CPU, or could use one.
    Running,
    /// Threads sleep in the midst of work, in this function of the kernel.
    Asleep(String),
    /// Threads sleep in this function of the kernel while another has a CPU: they wait for it, or have nothing to do.
    AsleepBeside(String),
    /// Threads sleep in this function of the kernel, and cannot be woken by a signal.
    Blocked(String),
    /// Somebody has stopped it by a signal or a debugger.
    Stopped,
    /// All threads wait for something to do, in this function of the kernel.
    Idle(String),
}

/// System calls within a burst, which it slows down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenCalls {
    /// Length of the burst, ns.
    #[serde(deserialize_with = "bounded")]
    pub window_ns: u64,
    /// What clients acknowledged of its answers meanwhile, bytes; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked_bytes: Option<u64>,
    /// How often each was made, by its name; `[lost]` are those that there was no room for.
    #[serde(deserialize_with = "all_bounded")]
    pub counts: BTreeMap<String, u64>,
}

/// What it cost a program to be looked at, with all bursts, by accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookCost {
    /// From the beginning of the look to the end of the last burst, ns.
    #[serde(deserialize_with = "bounded")]
    pub lasted_ns: u64,
    /// CPU time of the program meanwhile, ns.
    #[serde(deserialize_with = "bounded")]
    pub program_ns: u64,
    /// Of that, for the samples, sleeps and system calls of bursts: their number by what each takes, ns.
    #[serde(deserialize_with = "bounded")]
    pub within_ns: u64,
    /// CPU time of ours meanwhile where the program may use our CPUs too, ns: it is taken from whatever is idle first.
    #[serde(deserialize_with = "bounded")]
    pub beside_ns: u64,
}

impl LookCost {
    /// What was for bursts, over the program's CPU time, 0 to 1; `None` where it used none.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let of_all = self.program_ns.max(self.within_ns);
        (of_all > 0).then(|| self.within_ns as f64 / of_all as f64)
    }
}

/// Who is at the other end of connections of the program's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// IP address and port of that end.
    pub address: SocketAddr,
    /// Whether that end is on this machine, in the same network namespace.
    pub is_here: bool,
    /// The processes that listen there; empty where they are not seen.
    pub pids: Vec<u32>,
    /// Their name, as the kernel has it; empty likewise.
    pub name: String,
    /// Connections there in the mean, count.
    pub open: f64,
    /// Of these such as were written to later than anything came, so that something is waited for, count.
    pub waiting: f64,
}

/// Another program on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// Its name, as the kernel has it.
    pub name: String,
    /// CPU time within the look, ns.
    #[serde(deserialize_with = "bounded")]
    pub cpu_ns: u64,
}

/// Something that was not looked at, and what it would have told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Whatever a folder or another host tells, so many of them can be added up: some five hours in ns.
const MOST: u64 = 1 << 44;
/// Of counters there is one each, and some are of all CPUs of a machine.
const MOST_COUNTED: u64 = 1 << 50;

/// A number that was saved, or the most that is believed.
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
    /// A counter or limit; `None` where it was not read.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// What a counter rose by; 0 where it was not read.
    #[must_use]
    pub fn rise(&self, name: &str) -> u64 {
        self.counter(name).unwrap_or(0)
    }
}
