//! One thread has a CPU all the time while other CPUs are idle.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, limiter, percent, ruled_out};

/// Least share of the look for which such a thread has a CPU: all of it, less what the kernel needs
/// to count.
const ALL_OF_IT: f64 = 0.85;
/// Most that the next thread may use, as a share of what the busiest uses.
const ALONE: f64 = 0.5;
/// From this many idle CPUs on, more threads would help.
const IDLE_CPUS: f64 = 0.5;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let window = case.seen.window_ns.max(1) as f64;
    let mut shares = case
        .seen
        .threads
        .iter()
        .map(|it| it.running_ns as f64 / window);
    let (Some(busiest), next) = (shares.next(), shares.next().unwrap_or(0.0)) else {
        return Ruling::Silent;
    };
    let thread = &case.seen.threads[0];
    let idle = case.seen.rise("cpus.idle_ns") as f64 / window;
    let by = format!(
        "its thread {} ({}) had a CPU for {} of the time, the next {}; {idle:.1} CPUs were idle",
        thread.id,
        thread.name,
        percent(busiest),
        percent(next)
    );
    let what = "one busy thread beside idle CPUs";
    if busiest < ALL_OF_IT || next > ALONE * busiest || idle < IDLE_CPUS || thread.cpus < 2 {
        return Ruling::Not(ruled_out(what, by));
    }
    let share = case.ledger.share(AccountKind::OwnCode) + case.ledger.share(AccountKind::Kernel);
    let mut found = limiter(
        "one-busy-thread",
        share,
        format!("One thread does all the work, and {idle:.1} CPUs are idle."),
        vec![by.clone()],
        "more workers or threads (worker_processes, GOMAXPROCS, a process for each CPU), each with a listener of its own",
    );
    found.gain = format!(
        "up to {:.1} times the answers, with a thread for each idle CPU",
        1.0 + idle
    );
    // Taking time from its CPU would only move the thread to an idle one. More connections show it
    // instead: all requests queue for this thread, so answers stay as many.
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), Some(false));
    Ruling::by_share(found, || ruled_out(what, by))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{SECOND, busy, held, is_accused, thread};
    use super::*;

    #[test]
    fn one_full_thread_beside_idle_cpus_is_told_and_beside_none_or_with_others_is_not() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen), "no CPU is idle");
        seen.counters.insert("cpus.idle_ns".to_owned(), 2 * SECOND);
        assert!(held(rule, &seen).gain.contains("3.0 times"));
        seen.threads.push(thread(2, 900));
        assert!(!is_accused(rule, &seen));
    }
}
