//! Finds what holds a program back from what was observed of it. Every rule is a file of its own,
//! and a pure function of the observation and its ledger; the largest share of the time wins.

mod answering;
mod callers;
mod ceilings;
mod client;
mod conntrack;
mod cpu_quota;
mod disk;
mod elsewhere;
mod files;
mod handshakes;
mod hindered;
mod interrupts;
mod later_calls;
mod ledger;
mod listen_queue;
mod lock;
mod memory;
mod no_cpu;
mod not_asked;
mod one_thread;
mod opening;
mod other_sleep;
mod part;
mod parts;
mod ports;
mod refusing;
mod stolen;
mod stopped;
mod system_calls;
mod waking;
mod work;

use std::cmp::Ordering;

use model::Explanation;
use model::explanation::{AccountKind, Hindrance, Limiter, Looked, RuledOut, TimeLedger};
use model::observation::{Behind, Doing, Holder, Moment, Observation};
use model::stacks::Stacks;

use crate::cpu_used;
use hindered::hindered;

/// Share of the time from which on a limiter is named: one that costs a fiftieth never is, one that
/// costs a fifth always is.
const ENOUGH: f64 = 0.10;

/// Share of the time from which on what can be removed is named before what is always there. Some
/// part always works, and most of the time is work.
const NAMED_FIRST: f64 = 0.15;
/// Limiters that are there in any case.
const ALWAYS_THERE: [&str; 5] = ["work", "hot-function", "client", "wake-ups", "not-asked"];

/// A client that has or wants a CPU for this share of the time can read no faster.
const CLIENT_IS_FULL: f64 = 0.7;

/// What a rule judges.
struct Case<'a> {
    seen: &'a Observation,
    ledger: &'a TimeLedger,
}

/// The answer of a rule.
enum Ruling {
    /// This holds the program back.
    Holds(Limiter),
    /// The rule's limiter does not hold the program back, with what shows that.
    Not(RuledOut),
    /// There is nothing of this kind here, or it was not observed.
    Silent,
}

type Rule = fn(&Case<'_>) -> Ruling;

static RULES: [Rule; 23] = [
    stopped::rule,
    cpu_quota::rule,
    stolen::rule,
    no_cpu::rule,
    interrupts::rule,
    client::rule,
    answering::rule,
    files::rule,
    listen_queue::rule,
    conntrack::rule,
    ports::rule,
    refusing::rule,
    handshakes::rule,
    opening::rule,
    memory::rule,
    disk::rule,
    lock::rule,
    elsewhere::rule,
    other_sleep::rule,
    waking::rule,
    one_thread::rule,
    not_asked::rule,
    part::rule,
];

/// Explains an observation, and says whether the trial confirms the explanation.
#[must_use]
pub fn explain_look(looked: &Looked) -> Explanation {
    let trial = looked.trial.as_ref();
    let explained = explain(&looked.observation);
    let limiter = explained.limiter.as_ref();
    Explanation {
        proof: trial
            .and_then(|trial| hindered(trial, limiter.and_then(|it| follows(it, &trial.whom)))),
        unproved: looked.untried.clone(),
        behind: looked
            .behind
            .as_deref()
            .map(|it| Box::new(explain_look(it))),
        ..explained
    }
}

/// Whether answers must become more or fewer with what the trial changed; `None` where either may
/// happen.
fn follows(limiter: &Limiter, whom: &Hindrance) -> Option<bool> {
    match whom {
        Hindrance::Calls(_) | Hindrance::Quota => Some(true),
        _ => limiter.follows,
    }
}

/// The program behind the observed one, where it holds that one back.
#[must_use]
pub fn leads_to(seen: &Observation) -> Option<&Behind> {
    let limiter = explain(seen).limiter?;
    elsewhere::behind(seen).filter(|_| limiter.name == elsewhere::NAME)
}

/// Explains an observation.
#[must_use]
pub fn explain(seen: &Observation) -> Explanation {
    let ledger = ledger::of(seen);
    let case = Case {
        seen,
        ledger: &ledger,
    };
    let (mut limiters, mut ruled_out) = (Vec::new(), Vec::new());
    for rule in &RULES {
        match rule(&case) {
            Ruling::Holds(limiter) => limiters.push(limiter),
            Ruling::Not(out) => ruled_out.push(out),
            Ruling::Silent => {}
        }
    }
    // The rest of a program's time, which nothing else explains, is its work.
    let is_explained = limiters
        .iter()
        .any(|limiter: &Limiter| limiter.share >= 0.5);
    match work::rule(&case) {
        Ruling::Holds(limiter) if !is_explained || limiter.share >= ENOUGH => {
            limiters.push(limiter);
        }
        Ruling::Not(out) => ruled_out.push(out),
        _ => {}
    }
    let ceilings = ceilings::bounds(&case);
    let mut limiters = merged(limiters);
    limiters.sort_by(|one, other| {
        let rank = |it: &Limiter| (is_avoidable(it), it.share);
        rank(other)
            .partial_cmp(&rank(one))
            .unwrap_or(Ordering::Equal)
    });
    if seen.command.is_some() {
        limiters.iter_mut().for_each(reword_for_command);
    }
    let mut limiters = limiters.into_iter();
    Explanation {
        limiter: limiters.next(),
        further: limiters.collect(),
        ledger,
        ceilings,
        cost: seen.cost,
        ruled_out,
        proof: None,
        unproved: None,
        behind: None,
    }
}

/// Merges limiters of one name. Two rules may see one thing from two sides: the larger share speaks
/// for both.
fn merged(mut limiters: Vec<Limiter>) -> Vec<Limiter> {
    limiters.sort_by(|one, other| other.share.total_cmp(&one.share));
    let mut all: Vec<Limiter> = Vec::new();
    for limiter in limiters {
        match all.iter_mut().find(|known| known.name == limiter.name) {
            Some(known) => known.shown_by.push(limiter.what),
            None => all.push(limiter),
        }
    }
    all
}

/// Whether a limiter is one that can be removed and costs enough to be named first.
fn is_avoidable(limiter: &Limiter) -> bool {
    limiter.share >= NAMED_FIRST && !ALWAYS_THERE.contains(&&*limiter.name)
}

impl Ruling {
    /// The limiter where it takes enough of the time, and otherwise what rules it out.
    fn by_share(limiter: Limiter, out: impl FnOnce() -> RuledOut) -> Self {
        match limiter.share >= ENOUGH {
            true => Self::Holds(limiter),
            false => Self::Not(out()),
        }
    }
}

impl Case<'_> {
    /// CPU time of all threads together, as a share of the look: 2 for two CPUs.
    fn cpus_used(&self) -> f64 {
        cpu_used::of(self.seen) as f64 / self.seen.window_ns.max(1) as f64
    }

    /// Share of the time in which the program runs, or waits for its own threads to leave a CPU.
    fn at_work(&self) -> f64 {
        let running =
            [AccountKind::OwnCode, AccountKind::Kernel].map(|kind| self.ledger.share(kind));
        running.iter().sum::<f64>() + no_cpu::for_own_threads(self)
    }

    /// A count per second of the look.
    fn rate(&self, count: u64) -> f64 {
        count as f64 / (self.seen.window_ns.max(1) as f64 / 1e9)
    }

    /// Share of the time in which it sleeps as `is_so` demands, by the kind of the sleep and the
    /// function of the kernel.
    fn sleeping(&self, is_so: impl Fn(AccountKind, &str) -> bool) -> f64 {
        let accounts = self.ledger.accounts.iter();
        let so = accounts.filter(|it| it.asleep_in.as_deref().is_some_and(|at| is_so(it.kind, at)));
        so.map(|it| it.share).sum()
    }

    /// Share of the moments for which `is_so` holds, 0 to 1.
    fn moments(&self, is_so: impl Fn(&Moment) -> bool) -> f64 {
        let all: f64 = self.seen.moments.iter().map(|it| it.count).sum();
        let those = self.seen.moments.iter().filter(|it| is_so(it));
        those.map(|it| it.count).sum::<f64>() / all.max(1.0)
    }

    /// Share of the time in which the answer lies at the client's end and the server may send no
    /// more, though our load has a CPU and time to read: its receive buffer is too small.
    fn held_by_window(&self) -> f64 {
        let Some(load) = self.seen.load else {
            return 0.0;
        };
        let all_us = self.connections_us().unwrap_or(1.0);
        let limited = self.seen.rise("senders.rwnd_limited_us") as f64 / all_us;
        let client = self.ledger.share(AccountKind::Client);
        match load.client_busy_share + load.client_ready_share < CLIENT_IS_FULL {
            true => limited.min(client),
            false => 0.0,
        }
    }

    /// Share of the time in which the answer lies at the client's end because of the client's own
    /// work: neither its receive buffer nor a CPU that it shares with the program holds it up.
    fn client_works(&self) -> f64 {
        let waits = match self.shares_cpus_with_client() {
            true => self.client_waits(),
            false => 0.0,
        };
        (self.ledger.share(AccountKind::Client) - self.held_by_window() - waits).max(0.0)
    }

    /// Share of the time in which the answer lies at the client's end, and our load is ready but
    /// has no CPU.
    fn client_waits(&self) -> f64 {
        let (busy, ready) = self.seen.load.map_or((0.0, 0.0), |load| {
            (load.client_busy_share, load.client_ready_share)
        });
        self.ledger.share(AccountKind::Client) * ready / (busy + ready).max(f64::MIN_POSITIVE)
    }

    /// Whether both ends run on the same CPUs, and use more of them than any other program.
    fn shares_cpus_with_client(&self) -> bool {
        let own = cpu_used::of(self.seen);
        let client_ns = self.seen.load.map_or(0, |load| load.client_ns);
        let shared = self.seen.rise("load.shared_cpus");
        let widest = self.seen.threads.iter().map(|it| u64::from(it.cpus)).max();
        let most = match widest <= Some(shared) {
            // The program has no CPUs that are not shared.
            true => self
                .seen
                .rise("load.cpus_busy_ns")
                .saturating_sub(own + client_ns),
            false => self.seen.others.first().map_or(0, |other| other.cpu_ns),
        };
        shared > 0 && own.min(client_ns) > most
    }

    /// Whether most requests lie unread while the program does this, so that they queue for it.
    fn is_queue(&self, is_it: impl Fn(&Doing) -> bool) -> bool {
        let moments = self.seen.moments.iter().filter(|it| is_it(&it.doing));
        let counts = moments.map(|it| (it.count, it.holder == Holder::Unread));
        let balance: f64 = counts
            .map(|(count, is_unread)| if is_unread { count } else { -count })
            .sum();
        balance > 0.0
    }

    /// Time of all connections of our load within the look together, µs; at least 1.
    fn connections_us(&self) -> Option<f64> {
        let load = self.seen.load?;
        Some((f64::from(load.connections) * self.seen.window_ns as f64 / 1e3).max(1.0))
    }

    /// Answers to our load within the look; `None` without any.
    fn answered(&self) -> Option<u64> {
        self.seen
            .load
            .map(|load| load.answered)
            .filter(|count| *count > 0)
    }
}

/// Makes a limiter without a hindrance; its gain is what removing its whole share would give.
fn limiter(
    name: &str,
    share: f64,
    what: String,
    shown_by: Vec<String>,
    what_to_do: &str,
) -> Limiter {
    Limiter {
        name: name.to_owned(),
        what,
        share,
        shown_by,
        gain: gain(share),
        advice: vec![what_to_do.to_owned()],
        hindrance: None,
        follows: Some(true),
        closer: None,
    }
}

fn ruled_out(what: &str, by: String) -> RuledOut {
    RuledOut {
        what: what.to_owned(),
        by,
    }
}

/// A share as `23 %`, with one more digit below a tenth.
fn percent(share: f64) -> String {
    // The sum of nothing is -0.0.
    let percent = share * 100.0 + 0.0;
    match percent.abs() < 10.0 && percent != 0.0 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}

/// The most that removing a share of the time would give (Amdahl), as where nothing else is in the
/// way.
fn gain(share: f64) -> String {
    match share {
        ..0.5 => format!("up to {} more answers", percent(share / (1.0 - share))),
        ..0.95 => format!("up to {:.1} times the answers", 1.0 / (1.0 - share)),
        _ => "many times the answers, until the next limit".to_owned(),
    }
}

/// Rewords the gain for a command, which answers nobody.
fn reword_for_command(limiter: &mut Limiter) {
    let gain = limiter.gain.replace("more answers", "faster");
    limiter.gain = gain.replace("times the answers", "times as fast");
}

/// A sentence on which function calls for the sleep in `at`; `None` where that was not seen.
fn called_from(seen: &Observation, at: &str) -> Option<String> {
    let (caller, share) = callers::of(seen.asleep.as_ref(), at)?;
    Some(format!(
        "they sleep there called from {caller}, for {} of that time",
        percent(share)
    ))
}

#[cfg(test)]
mod cases {
    //! Observations as they are recorded, cut down to what a rule reads.

    use model::command::{CommandEnd, CommandReading};
    use model::observation::{SeenLoad, SeenThread};

    use super::*;

    pub(super) const SECOND: u64 = 1_000_000_000;

    pub(super) fn moment(holder: Holder, doing: Doing, count: f64) -> Moment {
        Moment {
            holder,
            doing,
            count,
        }
    }

    pub(super) fn asleep(at: &str) -> Doing {
        Doing::Asleep(at.to_owned())
    }

    pub(super) fn idle(at: &str) -> Doing {
        Doing::Idle(at.to_owned())
    }

    /// A thread that had a CPU for `running_ms` of the second, three quarters of it in the kernel.
    pub(super) fn thread(id: u32, running_ms: u64) -> SeenThread {
        SeenThread {
            pid: 1,
            id,
            name: "server".to_owned(),
            running_ns: running_ms * 1_000_000,
            user_ns: running_ms * 250_000,
            system_ns: running_ms * 750_000,
            cpus: 4,
            ..SeenThread::default()
        }
    }

    /// A second of a server that has a CPU all the time, under load of 16 connections.
    pub(super) fn busy() -> Observation {
        Observation {
            window_ns: SECOND,
            load: Some(SeenLoad {
                connections: 16,
                answered: 100_000,
                client_ns: SECOND / 2,
                client_busy_share: 0.5,
                ..SeenLoad::default()
            }),
            threads: vec![thread(1, 990)],
            moments: vec![
                moment(Holder::Unread, Doing::Running, 90.0),
                moment(Holder::Client, Doing::Running, 10.0),
            ],
            ..Observation::default()
        }
    }

    /// A second of a command that was in its own code for three quarters of its CPU time.
    pub(super) fn command() -> Observation {
        Observation {
            load: None,
            command: Some(CommandReading {
                wall_ns: SECOND,
                user_ns: SECOND / 4 * 3,
                system_ns: SECOND / 4,
                peak_memory_bytes: 1 << 20,
                machine: None,
                end: CommandEnd::Exited(0),
                left_running: false,
                last_words: String::new(),
            }),
            ..busy()
        }
    }

    /// What a rule answers on an observation.
    pub(super) fn asked(rule: Rule, seen: &Observation) -> Ruling {
        let ledger = ledger::of(seen);
        rule(&Case {
            seen,
            ledger: &ledger,
        })
    }

    pub(super) fn held(rule: Rule, seen: &Observation) -> Limiter {
        match asked(rule, seen) {
            Ruling::Holds(limiter) => limiter,
            Ruling::Not(out) => panic!("ruled out by {}", out.by),
            Ruling::Silent => panic!("it says nothing"),
        }
    }

    pub(super) fn is_accused(rule: Rule, seen: &Observation) -> bool {
        matches!(asked(rule, seen), Ruling::Holds(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_works_all_the_time_is_held_back_by_its_work_and_all_else_is_ruled_out() {
        let found = explain(&cases::busy());
        assert_eq!(found.limiter.unwrap().name, "work");
        assert!(found.ruled_out.len() > 3, "{:?}", found.ruled_out);
    }

    #[test]
    fn what_keeps_the_work_from_idle_cpus_stands_before_the_work() {
        let mut seen = cases::busy();
        seen.counters
            .insert("cpus.idle_ns".to_owned(), cases::SECOND);
        let found = explain(&seen);
        assert_eq!(found.limiter.unwrap().name, "one-busy-thread");
        assert!(found.further.iter().any(|it| it.name == "work"));
    }

    #[test]
    fn a_command_becomes_faster_and_answers_nobody() {
        let found = explain(&cases::command()).limiter.unwrap();
        assert!(found.gain.ends_with("as fast"), "{found:?}");
        let none = explain(&cases::command()).ruled_out.into_iter();
        let asked: Vec<_> = none.filter(|out| out.what.contains("client")).collect();
        assert_eq!(asked, []);
    }

    #[test]
    fn where_nothing_was_seen_nothing_is_accused() {
        let found = explain(&Observation::default());
        assert_eq!(found.limiter, None);
        assert_eq!(found.ledger.missing_share, 1.0);
    }

    #[test]
    fn of_two_sides_of_one_thing_the_larger_share_stands_with_its_own_words_and_gain() {
        let side = |share| limiter("processes", share, percent(share), Vec::new(), "");
        let all = merged(vec![side(0.167), side(0.43)]);
        assert_eq!(all.len(), 1);
        let found = &all[0];
        assert_eq!((found.share, &found.what[..]), (0.43, "43 %"));
        assert_eq!(found.gain, gain(0.43));
        assert_eq!(found.shown_by, ["17 %"]);
    }

    #[test]
    fn a_gain_is_what_the_rest_of_the_time_leaves() {
        assert_eq!(gain(0.2), "up to 25 % more answers");
        assert_eq!(gain(0.75), "up to 4.0 times the answers");
        assert!(gain(0.99).contains("many times"));
    }
}
