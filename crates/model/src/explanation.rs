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
    /// What each resource lets through at most, the nearest first; empty where it was not under load of ours.
    pub ceilings: Vec<ResourceBound>,
    /// What was looked at and does not hold it back.
    pub ruled_out: Vec<RuledOut>,
    /// Whether the result moved as it must where the accused was hindered; null where that was not tried.
    pub proof: Option<Hindered>,
    /// Why it was not tried; null where it was.
    pub unproved: Option<String>,
    /// What it cost the program to be looked at; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LookCost>,
    /// What holds the program back that it waits for; absent where none was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<Explanation>>,
}

/// A look at a program as its run folder describes it; it has no arms and no blocks.
pub type SavedLook = RunRecord<Looked>;

/// What was looked at, and all that is judged of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// That it is a look.
    pub workload: LookKind,
    /// What was looked at, without secrets.
    pub target: String,
    /// What was seen.
    pub observation: Observation,
    /// What came of hindering the accused; null where that was not tried.
    pub trial: Option<Trial>,
    /// Why it was not; null where it was.
    pub untried: Option<String>,
    /// The program behind it that it waits for, looked at under the same load; absent where there is none to be
    /// looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<Looked>>,
}

/// What tells a look from other runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LookKind {
    /// A program was looked at while it worked.
    #[default]
    Look,
}

/// Pairs of moments with somebody hindered, and without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Who was hindered.
    pub whom: Hindrance,
    /// What was added to it, as a share of what it had; below 0 what was taken.
    pub change: f64,
    /// Answers a second of each pair, without it and with it.
    pub pairs: Vec<(f64, f64)>,
}

/// All the time between a request and its answer, or all the time of a look, in accounts of which none overlaps
/// another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeLedger {
    /// What it adds up to: of a load of ours the mean time from a request to its answer, else the time that a
    /// connection has between its requests; null where neither is known, and shares are of the look, µs.
    pub response_us: Option<f64>,
    /// The accounts, the largest first.
    pub accounts: Vec<Account>,
    /// Share that is in none, since it could not be seen, 0 to 1.
    pub missing_share: f64,
    /// How it disagrees with the client's own clock, in sentences; empty where it does not, by a twentieth.
    pub missing: Vec<String>,
    /// Standard error of a share of a half, by the number of moments, 0 to 1.
    pub share_error: f64,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Who has the request meanwhile.
    pub kind: AccountKind,
    /// In which function of the kernel threads sleep; null where they do not.
    pub asleep_in: Option<String>,
    /// Of the whole, 0 to 1.
    pub share: f64,
}

/// What passes the time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A connection is being opened for it, or the one before closed.
    Opening,
    /// The program runs its own code.
    OwnCode,
    /// The kernel works for the program.
    Kernel,
    /// The program could run and has no CPU.
    NoCpu,
    /// It sleeps in the midst of work.
    Asleep,
    /// It sleeps in the midst of work, and no signal wakes it: for a disk mostly.
    Blocked,
    /// Somebody has stopped it.
    Stopped,
    /// The program has the request, and waits for something else than its clients.
    Elsewhere,
    /// The request is there, and the program has not woken up for it.
    Waking,
    /// Nobody asks.
    NotAsked,
    /// The request is under way.
    Asking,
    /// The answer is under way.
    Answering,
    /// The client has the answer, and has not read it.
    Client,
}

/// What holds a program back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limiter {
    /// Short stable name, such as `cpu-quota`.
    pub name: String,
    /// In one sentence.
    pub what: String,
    /// Share of the time that it accounts for, 0 to 1.
    pub share: f64,
    /// The observations that show it.
    pub shown_by: Vec<String>,
    /// What there is to gain by taking it away, at most; empty where that cannot be said.
    pub gain: String,
    /// What to do.
    pub advice: Vec<String>,
    /// What could be changed to prove it; null where nothing that we may touch.
    pub hindrance: Option<Hindrance>,
    /// Whether answers then become more or fewer by about as much: true, false where they stay as many, or null
    /// where either may be, of which the first alone proves it.
    pub follows: Option<bool>,
    /// What of the accused itself could be changed, which proves more and is tried first: answers then become fewer by
    /// about as much. Absent where nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closer: Option<Hindrance>,
}

/// What a resource lets through at most, by what each answer takes of it, or each unit of another rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceBound {
    /// Short stable name, such as `busiest-thread`.
    pub name: String,
    /// As part of a sentence.
    pub what: String,
    /// What an answer takes of it, or a unit of the rate, in the unit.
    pub demand: f64,
    /// The unit, in words.
    pub unit: String,
    /// Answers there can be if nothing else is in the way, 1/s; or of the other rate so many units.
    pub most_rps: f64,
    /// Of that there were so many, 0 to 1.
    pub reached: f64,
    /// The unit of that other rate, such as Gbit/s; absent where it is of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_unit: Option<String>,
}

/// What does not hold a program back, and what says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// What.
    pub what: String,
    /// The observation.
    pub by: String,
}

/// What is made a little worse, or more, for alternate moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// The CPUs that the program runs on: threads of ours take a part of their time.
    ServerCpus,
    /// The CPUs of our load.
    ClientCpus,
    /// The connections of our load, of which there are half as many more.
    Connections,
    /// Our load, which is on CPUs that the program may not use.
    ClientElsewhere {
        /// What that should bring, a share of what there was.
        gain: f64,
    },
    /// The CPU quota of the program's control group, which is lowered.
    Quota,
    /// System calls of the program, each of which begins later.
    Calls(LaterCalls),
}

/// System calls that end later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaterCalls {
    /// Their name, such as `clock_nanosleep`.
    pub name: String,
    /// By so much each ends later, µs.
    pub delay_us: f64,
    /// So many threads have nothing else to do than what these calls are part of, or CPUs: the share that is taken is of
    /// the time of all of them.
    pub at_once: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hindered {
    /// What was hindered.
    pub what: Hindrance,
    /// What was added to it, as a share of what it had; below 0 what was taken.
    pub change: f64,
    /// What answers a second became by it, as a ratio; its interval is of 95 %.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Pairs of moments with it and without, count.
    pub pairs: u32,
    /// Whether answers became more or fewer by about as much as was changed: true, false, or null where the interval
    /// holds both.
    pub followed: Option<bool>,
    /// Whether that is what must be if it is the limiter: true, false, or null where it cannot be told.
    pub borne_out: Option<bool>,
}

impl TimeLedger {
    /// Share of all accounts of a kind, 0 to 1.
    #[must_use]
    pub fn share(&self, kind: AccountKind) -> f64 {
        let of_kind = self.accounts.iter().filter(|account| account.kind == kind);
        of_kind.map(|account| account.share).sum()
    }
}
