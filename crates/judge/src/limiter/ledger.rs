//! Where the time of a request goes, by the moments that were observed.

use std::collections::BTreeMap;

use model::explanation::{Account, AccountKind, TimeLedger};
use model::observation::{Doing, Holder, Moment, Observation};

use super::other_sleep::TIMER;
use super::{callers, handshakes};
use crate::cpu_used;

/// A difference below this share of the time does not count.
const ENOUGH: f64 = 0.05;
/// Longest time that a thread which waits for a client takes to wake up, ns. One that takes longer
/// sleeps for something else.
const WOKEN_UP_NS: f64 = 500_000.0;
/// Share of one CPU; threads that only do a program's housekeeping now and then use less.
const HOUSEKEEPING: f64 = 0.01;

/// How the time of threads that run, or could run, is divided; the shares add up to 1.
struct Split {
    own_code: f64,
    kernel: f64,
    no_cpu: f64,
    /// On a CPU, but it is not known whether in its own code.
    unknown: f64,
}

type Key = (AccountKind, Option<String>);

/// Adds up the moments to a ledger.
pub(super) fn of(seen: &Observation) -> TimeLedger {
    let all: f64 = seen.moments.iter().map(|moment| moment.count).sum();
    let split = split(seen);
    let whose = Asker::of(seen);
    let (mut sums, mut missing) = (BTreeMap::<Key, f64>::new(), 0.0);
    let response_us = response_us(seen);
    let is_late = is_late(seen);
    let is_left_alone = is_left_alone(seen);
    let moments = seen.moments.iter();
    for moment in moments.flat_map(|moment| without_idlers(moment, seen, response_us)) {
        let share = moment.count / all;
        match account(&moment, whose, is_late) {
            Some(Placed::At(AccountKind::Asleep, Some(at))) if is_left_alone && at == TIMER => {
                *sums.entry((AccountKind::NotAsked, None)).or_default() += share;
            }
            Some(Placed::At(kind, at)) => *sums.entry((kind, at)).or_default() += share,
            Some(Placed::OnCpu) => {
                for (kind, part) in split.parts() {
                    *sums.entry((kind, None)).or_default() += share * part;
                }
                missing += share * split.unknown;
            }
            None => missing += share,
        }
    }
    let account = |((kind, asleep_in), share)| Account {
        kind,
        asleep_in,
        share,
    };
    let mut accounts: Vec<Account> = sums.into_iter().map(account).collect();
    accounts.retain(|account| account.share > 0.0);
    accounts.sort_by(|one, other| other.share.total_cmp(&one.share));
    let ledger = TimeLedger {
        response_us,
        missing: Vec::new(),
        accounts,
        missing_share: if all > 0.0 { missing } else { 1.0 },
        share_error: if all > 0.0 { 0.5 / all.sqrt() } else { 1.0 },
    };
    TimeLedger {
        missing: against_the_clock(&ledger, seen),
        ..ledger
    }
}

/// Says where the client's own clock gives another time than connections and answers do, or than
/// the accounts add up to.
fn against_the_clock(ledger: &TimeLedger, seen: &Observation) -> Vec<String> {
    // Its clock starts with the request, after the handshake; the moments include handshakes.
    let clock_us = seen
        .load
        .and_then(|load| Some(load.response_us? + handshakes::us_per_answer(seen).unwrap_or(0.0)));
    let (Some(whole_us), Some(clock_us)) = (ledger.response_us, clock_us) else {
        return Vec::new();
    };
    // While a connection is opened there is no request yet.
    let opening = ledger.share(AccountKind::Opening);
    let by_chance = if opening > 0.0 {
        2.0 * ledger.share_error
    } else {
        0.0
    };
    let sums = [
        (
            "connections and answers a second give",
            whole_us * (1.0 - opening),
        ),
        (
            "the accounts add up to",
            whole_us * (1.0 - opening - ledger.missing_share),
        ),
    ];
    let differs = |us: f64| (us / clock_us - 1.0).abs() > ENOUGH + by_chance;
    let sums = sums.into_iter().filter(|(_, us)| differs(*us));
    sums.map(|(who, us)| {
        format!("an answer takes {clock_us:.0} µs by the client's own clock, but {who} {us:.0} µs")
    })
    .collect()
}

/// Divides a moment by what the sleeping threads wait for. Threads that have no work, or wait for a
/// signal from another thread, have no request of their own beside a thread that runs.
fn without_idlers(moment: &Moment, seen: &Observation, response_us: Option<f64>) -> Vec<Moment> {
    let sleepers = |at| callers::sleepers(seen.asleep.as_ref(), at, response_us);
    let part = |doing, share: f64| Moment {
        doing,
        count: moment.count * share,
        holder: moment.holder,
    };
    let parts = match &moment.doing {
        Doing::Asleep(at) => {
            let idle = sleepers(at).idle;
            [
                (Doing::Idle(at.clone()), idle),
                (moment.doing.clone(), 1.0 - idle),
            ]
        }
        Doing::AsleepBeside(at) => {
            let found = sleepers(at);
            let others = found.idle + found.signalled;
            [
                (Doing::Running, others),
                (Doing::Asleep(at.clone()), 1.0 - others),
            ]
        }
        _ => return vec![moment.clone()],
    };
    parts
        .into_iter()
        .map(|(doing, share)| part(doing, share))
        .collect()
}

/// The account to which a moment belongs.
enum Placed {
    At(AccountKind, Option<String>),
    /// The accounts of a thread that has a CPU or wants one, by their shares.
    OnCpu,
}

/// Who asks the program to do something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// Our own load.
    Ours,
    /// Clients that are not ours.
    Others,
    /// Nobody: it was started to do its work, and listens nowhere.
    Nobody,
}

impl Asker {
    pub(super) fn of(seen: &Observation) -> Self {
        match (seen.load, &seen.command) {
            (Some(_), _) => Self::Ours,
            (None, Some(_)) if seen.counter("listen.limit").is_none() => Self::Nobody,
            (None, _) => Self::Others,
        }
    }
}

/// Whether, at each sleep of its threads, requests lie unread for longer than any thread takes to
/// wake up. So it is with a program that waits for a program behind it while other clients ask.
fn is_late(seen: &Observation) -> bool {
    let all: f64 = seen.moments.iter().map(|it| it.count).sum();
    let unread = seen.moments.iter();
    let unread =
        unread.filter(|it| it.holder == Holder::Unread && matches!(it.doing, Doing::Idle(_)));
    let share = unread.map(|it| it.count).sum::<f64>() / all.max(1.0);
    let sleeps: u64 = seen.threads.iter().map(|it| it.waits).sum();
    share * seen.window_ns as f64 > WOKEN_UP_NS * sleeps.max(1) as f64
}

/// Whether clients that are not ours asked for nothing, so that a sleep for a chosen time keeps
/// nobody waiting.
///
/// Then its threads hardly ran, no request lies unread, and no answer was acknowledged. Where each
/// answer closes its connection, answers are not seen, but new connections are: then no connection
/// may be there at any moment. A program that is not seen to listen may be asked in another way.
fn is_left_alone(seen: &Observation) -> bool {
    let used = cpu_used::of(seen);
    let mut moments = seen.moments.iter();
    Asker::of(seen) == Asker::Others
        && seen.counter("listen.limit").is_some()
        && (used as f64) < HOUSEKEEPING * seen.window_ns as f64
        && seen.rise("senders.acked_bytes") == 0
        && match seen.rise("Tcp.PassiveOpens") {
            0 => moments.all(|it| it.holder != Holder::Unread),
            _ => moments.all(|it| it.holder == Holder::Unknown),
        }
}

fn account(moment: &Moment, whose: Asker, is_late: bool) -> Option<Placed> {
    use AccountKind::{
        Answering, Asking, Asleep, Blocked, Client, Elsewhere, NotAsked, Opening, Stopped, Waking,
    };
    let at = |kind| Some(Placed::At(kind, None));
    let is_ours = whose == Asker::Ours;
    // Most connections of other clients are between two requests, so what the program does counts.
    match (moment.holder, &moment.doing) {
        (Holder::Unknown, _) if is_ours => None,
        (Holder::Opening, _) if is_ours => at(Opening),
        (Holder::Asking, _) if is_ours => at(Asking),
        (Holder::Network | Holder::HeldBack | Holder::Window, _) if is_ours => at(Answering),
        (Holder::Client, _) if is_ours => at(Client),
        (_, Doing::Running) => Some(Placed::OnCpu),
        (_, Doing::Asleep(function) | Doing::AsleepBeside(function)) => {
            Some(Placed::At(Asleep, Some(function.clone())))
        }
        (_, Doing::Blocked(function)) => Some(Placed::At(Blocked, Some(function.clone()))),
        (_, Doing::Stopped) => at(Stopped),
        (Holder::Unread, Doing::Idle(_)) if !(is_ours && is_late) => at(Waking),
        (Holder::Unread | Holder::Program, Doing::Idle(function)) if is_ours => {
            Some(Placed::At(Elsewhere, Some(function.clone())))
        }
        (_, Doing::Idle(function)) if whose == Asker::Nobody => {
            Some(Placed::At(Elsewhere, Some(function.clone())))
        }
        (Holder::Full | Holder::Network | Holder::HeldBack | Holder::Window, Doing::Idle(_)) => {
            at(Answering)
        }
        (Holder::Client, Doing::Idle(_)) => at(Client),
        (_, Doing::Idle(_)) => at(NotAsked),
    }
}

/// Divides the time by the kernel's own account of each thread. It is exact, while moments cannot
/// tell a thread that has a CPU from one that wants one.
fn split(seen: &Observation) -> Split {
    let sum = |of: fn(&model::observation::SeenThread) -> u64| -> f64 {
        seen.threads.iter().map(|thread| of(thread) as f64).sum()
    };
    // A group that has used up its quota counts that time itself; its threads are not always
    // counted as ready then.
    let throttled = seen.rise("group.throttled_us") as f64 * 1e3;
    let (running, ready) = (
        sum(|it| it.running_ns),
        sum(|it| it.ready_ns).max(throttled),
    );
    let [user, system] = cpu_used::in_parts(seen).map(|ns| ns as f64);
    let part = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
    let on_cpu = 1.0 - part(ready, running + ready);
    let split = Split {
        own_code: on_cpu * part(user, user + system),
        kernel: on_cpu * part(system, user + system),
        no_cpu: 1.0 - on_cpu,
        unknown: 0.0,
    };
    match user + system > 0.0 {
        true => split,
        false => Split {
            unknown: on_cpu,
            ..split
        },
    }
}

impl Split {
    fn parts(&self) -> [(AccountKind, f64); 3] {
        [
            (AccountKind::OwnCode, self.own_code),
            (AccountKind::Kernel, self.kernel),
            (AccountKind::NoCpu, self.no_cpu),
        ]
    }
}

/// The response time by Little's law, µs: as many requests are under way as there are connections.
fn response_us(seen: &Observation) -> Option<f64> {
    let load = seen.load.filter(|load| load.answered > 0)?;
    Some(f64::from(load.connections) * seen.window_ns as f64 / 1e3 / load.answered as f64)
}

#[cfg(test)]
mod tests {
    use super::super::cases::{asleep, busy, command, idle, moment, thread};
    use super::*;

    #[test]
    fn all_accounts_and_what_is_missing_are_the_whole() {
        let mut seen = busy();
        seen.threads[0].ready_ns = seen.threads[0].running_ns;
        seen.moments
            .push(moment(Holder::Unknown, Doing::Running, 5.0));
        seen.moments
            .push(moment(Holder::Unread, asleep("futex_do_wait"), 20.0));
        let ledger = of(&seen);
        let sum: f64 = ledger.accounts.iter().map(|account| account.share).sum();
        assert!(
            (sum + ledger.missing_share - 1.0).abs() < 1e-9,
            "{ledger:?}"
        );
        // 90 of 125 moments, half of them without a CPU, the rest three to one.
        assert!((ledger.share(AccountKind::NoCpu) - 0.36).abs() < 1e-9);
        assert!((ledger.share(AccountKind::Kernel) - 0.27).abs() < 1e-9);
        assert!((ledger.share(AccountKind::OwnCode) - 0.09).abs() < 1e-9);
        assert!((ledger.share(AccountKind::Asleep) - 0.16).abs() < 1e-9);
    }

    #[test]
    fn what_the_clients_clock_has_not_seen_is_told_and_a_small_difference_is_not() {
        let mut seen = busy();
        let mut told = |clock_us, unknown| {
            seen.load.as_mut().unwrap().response_us = clock_us;
            seen.moments.truncate(2);
            let unseen = moment(Holder::Unknown, Doing::Running, unknown);
            seen.moments.push(unseen);
            of(&seen).missing.len()
        };
        // It is 160 µs by connections and answers.
        assert_eq!(told(Some(156.0), 0.0), 0);
        assert_eq!(told(None, 30.0), 0);
        assert_eq!(told(Some(160.0), 30.0), 1);
        assert_eq!(told(Some(120.0), 0.0), 2);
    }

    #[test]
    fn the_mean_response_is_what_the_connections_have_for_each_answer() {
        assert_eq!(of(&busy()).response_us, Some(160.0));
    }

    #[test]
    fn a_command_that_waits_is_not_asked_by_anybody() {
        let mut seen = command();
        seen.moments = vec![moment(Holder::Unknown, idle("do_poll"), 9.0)];
        assert_eq!(of(&seen).share(AccountKind::Elsewhere), 1.0);
        seen.moments[0].doing = Doing::Running;
        // By its own account, whatever its threads were seen to use.
        assert_eq!(of(&seen).share(AccountKind::OwnCode), 0.75);
    }

    #[test]
    fn of_a_program_whose_threads_have_ended_the_count_of_its_processes_parts_the_work() {
        let mut seen = busy();
        seen.threads.clear();
        // Neither is known of a program that has gone: it is not the kernel's.
        assert_eq!(of(&seen).share(AccountKind::Kernel), 0.0);
        assert_eq!(of(&seen).missing_share, 0.9);
        let counts = [("program.user_ns", 600), ("program.system_ns", 200)];
        seen.counters = counts.map(|(name, ns)| (name.to_owned(), ns)).into();
        assert_eq!(of(&seen).missing_share, 0.0);
        assert!((of(&seen).share(AccountKind::OwnCode) - 0.675).abs() < 1e-9);
    }

    #[test]
    fn an_idle_program_is_not_asked_unless_it_has_a_request_of_ours() {
        let mut seen = busy();
        seen.threads = vec![thread(1, 10)];
        seen.moments = vec![moment(Holder::Program, idle("ep_poll"), 9.0)];
        assert_eq!(of(&seen).share(AccountKind::Elsewhere), 1.0);
        seen.load = None;
        assert_eq!(of(&seen).share(AccountKind::NotAsked), 1.0);
        seen.moments[0].holder = Holder::Unread;
        assert_eq!(of(&seen).share(AccountKind::Waking), 1.0);
    }

    #[test]
    fn a_housekeepers_timer_is_no_sleep_where_nobody_asks_and_one_is_where_requests_come() {
        let at_rest = || {
            let mut seen = busy();
            (seen.load, seen.threads) = (None, vec![thread(1, 1), thread(2, 1)]);
            seen.moments = vec![moment(Holder::Unknown, asleep(TIMER), 9.0)];
            seen.counters.insert("listen.limit".to_owned(), 1024);
            seen.counters.insert("Tcp.PassiveOpens".to_owned(), 3);
            seen
        };
        let is_asked = |seen: &Observation| {
            let ledger = of(seen);
            let shares = [AccountKind::Asleep, AccountKind::NotAsked].map(|it| ledger.share(it));
            assert_eq!(shares[0] + shares[1], 1.0);
            shares[0] > 0.5
        };
        let mut seen = at_rest();
        assert!(!is_asked(&seen), "nobody is connected");
        seen.moments[0].holder = Holder::Program;
        assert!(is_asked(&seen), "each answer may close its connection");
        seen.counters.insert("Tcp.PassiveOpens".to_owned(), 0);
        assert!(!is_asked(&seen), "connections stay, and carry nothing");
        seen.counters.insert("senders.acked_bytes".to_owned(), 9);
        assert!(is_asked(&seen), "it answers");
        seen = at_rest();
        seen.moments[0].holder = Holder::Unread;
        assert!(is_asked(&seen), "a request waits");
        seen = at_rest();
        seen.threads[0].running_ns = seen.window_ns / 50;
        assert!(is_asked(&seen), "it works");
        seen = at_rest();
        seen.counters.remove("listen.limit");
        assert!(is_asked(&seen), "it may be asked by another way");
    }

    #[test]
    fn who_leaves_requests_unread_for_long_waits_for_something_else() {
        let mut seen = busy();
        seen.moments = vec![moment(Holder::Unread, idle("do_poll"), 9.0)];
        let per_s = |sleeps| sleeps * seen.window_ns / 1_000_000_000;
        for (waits, expected) in [
            (per_s(100_000), AccountKind::Waking),
            (per_s(100), AccountKind::Elsewhere),
        ] {
            seen.threads[0].waits = waits;
            assert_eq!(of(&seen).share(expected), 1.0, "{waits}");
        }
    }
}
