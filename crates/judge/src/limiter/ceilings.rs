//! How many answers each resource allows at most, by what a look saw.

use model::explanation::ResourceBound;

use super::Case;
use crate::ceilings::{self, Served, answer_demand};

/// The bounds by all resources of which enough is known, nearest first; none where the number of
/// answers is not known.
pub(super) fn bounds(case: &Case<'_>) -> Vec<ResourceBound> {
    let seen = case.seen;
    let (Some(load), Some(demand)) = (seen.load, answer_demand("", seen)) else {
        return Vec::new();
    };
    let window_ns = seen.window_ns as f64;
    ceilings::bounds(&Served {
        answered: load.answered as f64,
        window_ns,
        cpu_ns: Some(case.cpus_used() * window_ns),
        client_busy_share: Some(load.client_busy_share),
        demand: &demand,
        probed: &seen.probed,
    })
}

#[cfg(test)]
mod tests {
    use model::observation::{Observation, SeenCalls};

    use super::super::cases::{SECOND, busy, thread};
    use super::super::ledger;
    use super::*;

    fn of(seen: &Observation) -> Vec<(String, f64, f64, f64)> {
        let ledger = ledger::of(seen);
        let case = Case {
            seen,
            ledger: &ledger,
        };
        let told = |it: ResourceBound| (it.name, it.demand, it.most_rps.round(), it.reached);
        bounds(&case).into_iter().map(told).collect()
    }

    #[test]
    fn what_an_answer_takes_of_each_resource_says_how_many_there_can_be() {
        let mut seen = busy();
        seen.threads = vec![thread(1, 800)];
        seen.counters
            .insert("senders.acked_bytes".to_owned(), 20_000_000);
        let probed = [
            ("loopback_bytes_per_second", [9e7, 1e8, 2e9]),
            ("syscall_ns", [100.0; 3]),
        ];
        seen.probed = probed
            .map(|(name, values)| (name.to_owned(), values.to_vec()))
            .into();
        seen.calls = Some(SeenCalls {
            window_ns: SECOND / 10,
            acked_bytes: Some(1_000_000),
            counts: [("read".to_owned(), 10_000), ("write".to_owned(), 10_000)].into(),
        });
        let expected = [
            ("busiest-thread", 8.0, 125_000.0, 0.8),
            ("client-thread", 5.0, 200_000.0, 0.5),
            ("cpus", 8.0, 500_000.0, 0.2),
            ("loopback-bytes", 200.0, 500_000.0, 0.2),
            ("system-calls", 4.0, 2_500_000.0, 0.04),
        ];
        assert_eq!(
            of(&seen),
            expected.map(|(name, a, b, c)| (name.to_owned(), a, b, c))
        );
    }

    #[test]
    fn what_threads_that_have_ended_used_is_in_the_cpu_time_of_an_answer() {
        let mut seen = busy();
        seen.threads = vec![thread(1, 100)];
        let counts = [("program.user_ns", 300), ("program.system_ns", 500)];
        seen.counters = counts
            .map(|(name, ms)| (name.to_owned(), ms * 1_000_000))
            .into();
        let found = of(&seen);
        let us = |name: &str| found.iter().find(|it| it.0 == name).unwrap().1;
        assert!((us("cpus") - 8.0).abs() < 1e-9, "{found:?}");
        assert!((us("busiest-thread") - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_quota_stands_in_the_place_of_cpus_and_absurd_figures_bound_nothing() {
        let mut seen = busy();
        seen.counters.insert("group.quota_mcpu".to_owned(), 1_500);
        assert!(
            of(&seen)
                .iter()
                .any(|it| it.0 == "cpu-quota" && it.2 == 151_515.0)
        );
        seen.threads[0].running_ns = 0;
        seen.threads[0].waits = 1;
        seen.load.as_mut().unwrap().client_busy_share = 0.0;
        seen.probed = [("context_switch_ns".to_owned(), vec![0.0, f64::NAN])].into();
        assert_eq!(of(&seen), []);
        seen.load = None;
        assert_eq!(of(&seen), []);
    }
}
