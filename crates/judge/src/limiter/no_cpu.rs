//! The program could run and has no CPU, since others use the CPUs.

use model::explanation::{AccountKind, Hindrance};
use model::observation::SeenThread;

use super::{Case, Ruling, interrupts, limiter, percent, ruled_out};
use crate::cpu_used;

const WHAT: &str = "waiting for a CPU";
/// Least divisor of the gain: no more is promised than where other things take this share of the
/// time.
const LEAST_LEFT: f64 = 0.1;
/// At most this many other programs are named.
const NAMED: usize = 3;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let throttled_ns = case.seen.rise("group.throttled_us") * 1_000;
    let ready: u64 = case.seen.threads.iter().map(|it| it.ready_ns).sum();
    // Waits that a CPU quota causes are ruled on by the rule of the quota.
    let others_part = ready.saturating_sub(throttled_ns) as f64 / ready.max(1) as f64;
    let of_client = match case.shares_cpus_with_client() {
        true => case.client_waits(),
        false => 0.0,
    };
    let share = case.ledger.share(AccountKind::NoCpu) * others_part - for_own_threads(case);
    let share = (share - interrupts::of_ready(case)).max(0.0) + of_client;
    let preemptions: u64 = case.seen.threads.iter().map(|it| it.preemptions).sum();
    let (name, who, what_to_do) = competitor(case);
    let mut found = limiter(
        name,
        share,
        format!(
            "It is ready to run and has no CPU for {} of the time: {who}.",
            percent(share)
        ),
        vec![
            format!(
                "its threads had {:.2} CPUs and waited for one for {:.2} s of each second (schedstat)",
                case.cpus_used(),
                ready as f64 / case.seen.window_ns.max(1) as f64
            ),
            format!(
                "its CPU was taken from it {:.0} times a second",
                case.rate(preemptions)
            ),
        ],
        what_to_do,
    );
    match case.shares_cpus_with_client() {
        true => {
            let gain = share / (1.0 - share).max(LEAST_LEFT);
            found.hindrance = Some(Hindrance::ClientElsewhere { gain });
            // On CPUs elsewhere, our load may be the limit.
            found.follows = None;
        }
        false => found.hindrance = Some(Hindrance::ServerCpus),
    }
    Ruling::by_share(found, || {
        ruled_out(
            WHAT,
            format!(
                "ready without a CPU for {} of the time (schedstat)",
                percent(share)
            ),
        )
    })
}

/// Share of the time in which a thread of the program waits for another of its threads to leave the
/// CPU. Such a wait is work of the other thread. Other programs on these CPUs account for their
/// share of the wait.
pub(super) fn for_own_threads(case: &Case<'_>) -> f64 {
    let own = cpu_used::of(case.seen);
    let outside = case.seen.rise("program.cpus_busy_ns").saturating_sub(own);
    let part = |thread: &SeenThread| {
        let others = own.saturating_sub(thread.running_ns);
        thread.ready_ns as f64 * others as f64 / (others + outside).max(1) as f64
    };
    let ready: u64 = case.seen.threads.iter().map(|it| it.ready_ns).sum();
    let for_own: f64 = case.seen.threads.iter().map(part).sum();
    case.ledger.share(AccountKind::NoCpu) * for_own / ready.max(1) as f64
}

/// Limiter's name, who uses the CPUs, and what to do about it.
fn competitor(case: &Case<'_>) -> (&'static str, String, &'static str) {
    if case.shares_cpus_with_client() {
        return (
            "client-on-server-cpu",
            "our own load runs on the same CPUs".to_owned(),
            "keep the program on fewer CPUs (taskset -cp CPUS PID), so that the client has some of its own, or load it from another machine: this result says nothing about the server",
        );
    }
    let named = case.seen.others.iter().take(NAMED).map(|other| {
        let cpus = other.cpu_ns as f64 / case.seen.window_ns.max(1) as f64;
        format!("{} ({cpus:.2} CPUs)", other.name)
    });
    let named: Vec<String> = named.collect();
    (
        "run-queue",
        format!("other programs have the CPUs: {}", named.join(", ")),
        "move the others to other CPUs or machines (taskset, cpusets), or give the program a larger share (cpu.weight, nice)",
    )
}

#[cfg(test)]
mod tests {
    use model::observation::OtherProgram;

    use super::super::cases::{SECOND, busy, held, is_accused, thread};
    use super::*;

    #[test]
    fn threads_that_wait_for_one_another_are_at_work_and_those_that_wait_for_others_are_not() {
        let mut seen = busy();
        seen.threads = vec![thread(1, 500), thread(2, 500)];
        for thread in &mut seen.threads {
            thread.ready_ns = SECOND / 2;
        }
        assert!(!is_accused(rule, &seen));
        seen.counters
            .insert("program.cpus_busy_ns".to_owned(), 3 * SECOND / 2);
        assert!((held(rule, &seen).share - 0.225).abs() < 1e-9);
    }

    #[test]
    fn a_program_whose_cpu_others_have_half_the_time_names_them() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.threads[0].running_ns = SECOND / 2;
        seen.threads[0].ready_ns = SECOND / 2;
        seen.others = vec![OtherProgram {
            name: "cc1".to_owned(),
            cpu_ns: SECOND / 2,
        }];
        let found = held(rule, &seen);
        assert_eq!(found.name, "run-queue");
        assert!(found.what.contains("cc1 (0.50 CPUs)"), "{}", found.what);
        // The load has the CPUs instead.
        seen.others.clear();
        seen.counters.insert("load.shared_cpus".to_owned(), 1);
        let found = held(rule, &seen);
        assert_eq!(found.name, "client-on-server-cpu");
        // No flag of `explain` gives the client other CPUs.
        assert!(found.advice[0].contains("taskset"), "{found:?}");
    }
}
