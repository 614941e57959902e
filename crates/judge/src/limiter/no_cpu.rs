//! The program could run and has no CPU: others have it.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, advice, gain, limiter, percent, ruled_out};

const WHAT: &str = "waiting for a CPU";
/// The most others that are named.
const NAMED: usize = 3;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let throttled_ns = case.seen.rise("group.throttled_us") * 1_000;
    let ready: u64 = case.seen.threads.iter().map(|it| it.ready_ns).sum();
    // What a quota takes is the quota's.
    let others_part = ready.saturating_sub(throttled_ns) as f64 / ready.max(1) as f64;
    let of_client = match case.shares_cpus_with_client() {
        true => case.client_waits(),
        false => 0.0,
    };
    let share = case.ledger.share(AccountKind::NoCpu) * others_part + of_client;
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
    );
    found.gain = gain(share);
    found.advice = advice([what_to_do]);
    found.hindrance = Some(Hindrance::ServerCpus);
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

/// Who has the CPUs, and what to do about it.
fn competitor(case: &Case<'_>) -> (&'static str, String, &'static str) {
    let most = case.seen.others.first().map_or(0, |other| other.cpu_ns);
    if case.shares_cpus_with_client() {
        return (
            "client-on-server-cpu",
            "our own load runs on the same CPUs".to_owned(),
            "give the client CPUs of its own (`--client-cpus`), or another machine: this says nothing of the server",
        );
    }
    let busy_threads = case
        .seen
        .threads
        .iter()
        .filter(|it| it.running_ns * 10 > case.seen.window_ns);
    if most * 20 < case.seen.window_ns {
        let threads = busy_threads.count();
        return (
            "run-queue",
            format!("its own {threads} busy threads share too few CPUs"),
            "give it more CPUs, or as many busy threads as it has CPUs",
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

    use super::super::cases::{SECOND, busy, held, is_accused};
    use super::*;

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
        // The load has them instead.
        seen.others.clear();
        seen.counters.insert("load.shared_cpus".to_owned(), 1);
        assert_eq!(held(rule, &seen).name, "client-on-server-cpu");
    }
}
