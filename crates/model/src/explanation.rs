//! What holds a program back: the ledger of a request's time, and the limiter that follows from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::{LookCost, Observation};
use crate::run::RunRecord;

/// The judgement of one observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Where the time goes.
    pub ledger: TimeLedger,
    /// What holds the program back most; null where it cannot be told.
    pub limiter: Option<Limiter>,
    /// What else takes its share, the largest first.
    pub further: Vec<Limiter>,
    /// What each resource allows at most, the nearest bound first; empty if the program was not
    /// under our own load.
    pub ceilings: Vec<ResourceBound>,
    /// What was checked and does not hold the program back.
    pub ruled_out: Vec<RuledOut>,
    /// Whether answers changed as they must when the accused was hindered; null if that was not
    /// tried.
    pub proof: Option<Hindered>,
    /// Why that was not tried; null if it was.
    pub unproved: Option<String>,
    /// What the observation cost the program; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LookCost>,
    /// The explanation of the program that this one waits for; absent if none was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<Explanation>>,
}

/// A look at a program, as its run folder describes it; it has no arms and no blocks.
pub type SavedLook = RunRecord<Looked>;

/// The observed program, and all that is judged of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// Marks this run as a look.
    pub workload: LookKind,
    /// The program that was observed, without secrets.
    pub target: String,
    /// The observation.
    pub observation: Observation,
    /// The measured effect of hindering the accused; null if that was not tried.
    pub trial: Option<Trial>,
    /// Why that was not tried; null if it was.
    pub untried: Option<String>,
    /// The program behind this one, which it waits for, observed under the same load; absent if
    /// there is none that can be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<Looked>>,
}

/// What distinguishes a look from other runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LookKind {
    /// A program was observed while it worked.
    #[default]
    Look,
}

/// Pairs of short measurements, one with the accused hindered and one without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// What was hindered.
    pub whom: Hindrance,
    /// Change of its resource, as a share of what it had; below 0 if a part was taken away.
    pub change: f64,
    /// Answers per second of each pair, without the hindrance and with it.
    pub pairs: Vec<(f64, f64)>,
}

/// All the time between a request and its answer, or all the time of a look, divided into accounts
/// that do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeLedger {
    /// The time that the accounts add up to, µs: under our own load the mean time from a request to
    /// its answer, otherwise the time that a connection has between its requests. Null if neither is
    /// known; then shares are of the look.
    pub response_us: Option<f64>,
    /// The accounts, the largest first.
    pub accounts: Vec<Account>,
    /// Share of the time that is in no account, because it could not be seen, 0 to 1.
    pub missing_share: f64,
    /// Disagreements with the client's own clock, in sentences; empty if they agree to within a
    /// twentieth.
    pub missing: Vec<String>,
    /// Standard error of a share of one half, which follows from the number of moments, 0 to 1.
    pub share_error: f64,
}

/// One part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// What happens to the request in this time.
    pub kind: AccountKind,
    /// The function of the kernel in which threads sleep; null if they do not sleep.
    pub asleep_in: Option<String>,
    /// Share of the whole, 0 to 1.
    pub share: f64,
}

/// What happens in a part of the time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A connection is being opened for the request, or the previous one closed.
    Opening,
    /// The program runs its own code.
    OwnCode,
    /// The kernel works for the program.
    Kernel,
    /// The program could run but has no CPU.
    NoCpu,
    /// The program sleeps in the middle of work.
    Asleep,
    /// The program sleeps in the middle of work and no signal can wake it: mostly it waits for a
    /// disk.
    Blocked,
    /// Somebody has stopped the program.
    Stopped,
    /// The program has the request and waits for something other than its clients.
    Elsewhere,
    /// The request has arrived, and the program has not woken up for it yet.
    Waking,
    /// There is no request.
    NotAsked,
    /// The request is on its way.
    Asking,
    /// The answer is on its way.
    Answering,
    /// The answer has arrived at the client, which has not read it yet.
    Client,
}

/// What holds a program back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limiter {
    /// Short stable name, such as `cpu-quota`.
    pub name: String,
    /// What it is, in one sentence.
    pub what: String,
    /// Share of the time that it accounts for, 0 to 1.
    pub share: f64,
    /// The observations that show it.
    pub shown_by: Vec<String>,
    /// The most that can be gained by removing it; empty if that cannot be said.
    pub gain: String,
    /// What to do about it.
    pub advice: Vec<String>,
    /// What could be changed to prove it; null if there is nothing that we may change.
    pub hindrance: Option<Hindrance>,
    /// Whether answers then become more or fewer by about as much: true if they must, false if they
    /// must stay as many. Null if either may happen; then only the former proves it.
    pub follows: Option<bool>,
    /// A change of the accused itself, which proves more and is tried first: answers must then
    /// become fewer by about as much. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closer: Option<Hindrance>,
}

/// The highest rate that a resource allows, from what each answer, or each unit of another rate,
/// uses of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceBound {
    /// Short stable name, such as `busiest-thread`.
    pub name: String,
    /// What it is, as part of a sentence.
    pub what: String,
    /// How much of it an answer, or a unit of the rate, uses, in the unit.
    pub demand: f64,
    /// The unit, in words.
    pub unit: String,
    /// Highest rate if nothing else is in the way: answers, 1/s, or units of the other rate.
    pub most_rps: f64,
    /// Measured rate as a share of that, 0 to 1.
    pub reached: f64,
    /// The unit of the other rate, such as Gbit/s; absent if the rate is of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_unit: Option<String>,
}

/// Something that does not hold a program back, and the observation that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// What does not hold it back.
    pub what: String,
    /// The observation that shows it.
    pub by: String,
}

/// What is made a little worse, or increased, in every other measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// The CPUs that the program runs on: our threads take a part of their time.
    ServerCpus,
    /// The CPUs of our load: our threads take a part of their time.
    ClientCpus,
    /// The connections of our load: their number is raised by half.
    Connections,
    /// Our load: it is moved to CPUs that the program may not use.
    ClientElsewhere {
        /// Expected gain, as a share of the previous rate.
        gain: f64,
    },
    /// The CPU quota of the program's control group: it is lowered.
    Quota,
    /// System calls of the program: each ends later.
    Calls(LaterCalls),
}

/// System calls that are made to end later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaterCalls {
    /// Name of the call, such as `clock_nanosleep`.
    pub name: String,
    /// How much later each call ends, µs.
    pub delay_us: f64,
    /// Number of threads, or CPUs, whose work these calls are a part of and that do nothing else.
    /// The share taken is of the time of all of them.
    pub at_once: f64,
}

/// The effect of a hindrance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hindered {
    /// What was hindered.
    pub what: Hindrance,
    /// Change of its resource, as a share of what it had; below 0 if a part was taken away.
    pub change: f64,
    /// Answers per second with the hindrance ÷ without it; its interval is at 95 %.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Pairs of measurements with the hindrance and without, count.
    pub pairs: u32,
    /// Whether answers became more or fewer by about as much as the resource was changed: true,
    /// false, or null if the interval allows both.
    pub followed: Option<bool>,
    /// Whether that is what must happen if the accused is the limiter: true, false, or null if it
    /// cannot be told.
    pub borne_out: Option<bool>,
}

impl TimeLedger {
    /// Sum of the shares of all accounts of a kind, 0 to 1.
    #[must_use]
    pub fn share(&self, kind: AccountKind) -> f64 {
        let of_kind = self.accounts.iter().filter(|account| account.kind == kind);
        of_kind.map(|account| account.share).sum()
    }
}
