//! What each resource lets through at most: what an answer takes of it, against what there is of it.

use model::explanation::ResourceBound;
use model::observation::Observation;

use super::Case;
use crate::median;

/// Of each resource of which it is known, the nearest first; none where nobody knows what was answered.
pub(super) fn bounds(case: &Case<'_>) -> Vec<ResourceBound> {
    let Some(answered) = case.answered() else {
        return Vec::new();
    };
    let each = Each {
        case,
        seen: case.seen,
        answered: answered as f64,
    };
    let all = [
        each.busiest_thread(),
        each.cpus(),
        each.client(),
        each.loopback(),
        each.calls(),
        each.switches(),
    ];
    let mut bounds: Vec<ResourceBound> = all.into_iter().flatten().collect();
    bounds.sort_by(|one, other| one.most_rps.total_cmp(&other.most_rps));
    bounds
}

/// What falls on each answer.
struct Each<'a> {
    case: &'a Case<'a>,
    seen: &'a Observation,
    answered: f64,
}

impl Each<'_> {
    fn busiest_thread(&self) -> Option<ResourceBound> {
        let thread = self.seen.threads.first()?;
        let us = thread.running_ns as f64 / 1e3 / self.answered;
        let what = format!("one CPU for its busiest thread ({})", thread.name);
        self.bound(("busiest-thread", what), (us, "µs of it"), 1e6)
    }

    /// All that the program may use; of one thread alone what more of them could do.
    fn cpus(&self) -> Option<ResourceBound> {
        let us = self.case.cpus_used() * self.seen.window_ns as f64 / 1e3 / self.answered;
        let cpus = f64::from(self.cpu_count()?);
        let quota = self.seen.counter("group.quota_mcpu");
        let quota = quota.map(|thousandths| thousandths as f64 / 1e3);
        match quota.filter(|quota| *quota < cpus) {
            Some(quota) => {
                let what = format!("its quota of {quota:.2} CPUs");
                self.bound(("cpu-quota", what), (us, "µs of a CPU"), quota * 1e6)
            }
            None if cpus > 1.0 => {
                let what = format!("the {cpus} CPUs that it may use");
                self.bound(("cpus", what), (us, "µs of a CPU"), cpus * 1e6)
            }
            None => None,
        }
    }

    fn client(&self) -> Option<ResourceBound> {
        let busy = self.seen.load?.client_busy_share;
        let us = busy * self.seen.window_ns as f64 / 1e3 / self.answered;
        let what = "one CPU for our load's busiest thread".to_owned();
        self.bound(("client-thread", what), (us, "µs of it"), 1e6)
    }

    fn loopback(&self) -> Option<ResourceBound> {
        let bytes = self.bytes()?;
        let most = self.probed("loopback_bytes_per_second")?;
        let what = "TCP over loopback from one CPU to another".to_owned();
        self.bound(("loopback-bytes", what), (bytes, "bytes"), most)
    }

    /// By a burst that slows the program down, so that its answers are told by the bytes of them.
    fn calls(&self) -> Option<ResourceBound> {
        let calls = self.seen.calls.as_ref()?;
        let answered = calls.acked_bytes? as f64 / self.bytes()?;
        let made: f64 = calls.counts.values().map(|count| *count as f64).sum();
        let what = "system calls that do nothing".to_owned();
        let most = 1e9 / self.probed("syscall_ns")? * self.threads_at_once()?;
        self.bound(("system-calls", what), (made / answered, "calls"), most)
    }

    fn switches(&self) -> Option<ResourceBound> {
        let waits = self.seen.threads.iter().map(|it| it.waits as f64);
        let each = waits.sum::<f64>() / self.answered;
        let most = 1e9 / self.probed("context_switch_ns")? * self.threads_at_once()?;
        let what = "switches of threads alone".to_owned();
        self.bound(("switches", what), (each, "switches"), most)
    }

    /// Of answers, heads and all.
    fn bytes(&self) -> Option<f64> {
        let acked = self.seen.counter("senders.acked_bytes")?;
        (acked > 0).then(|| acked as f64 / self.answered)
    }

    fn probed(&self, name: &str) -> Option<f64> {
        median::of(self.seen.probed.get(name)?)
    }

    fn cpu_count(&self) -> Option<u32> {
        self.seen.threads.iter().map(|it| it.cpus).max()
    }

    /// On how many CPUs it works when its busiest thread has one all the time.
    fn threads_at_once(&self) -> Option<f64> {
        let busiest = self.seen.threads.first()?.running_ns as f64;
        let used = self.case.cpus_used() * self.seen.window_ns as f64;
        let cpus = f64::from(self.cpu_count()?.max(1));
        Some((used / busiest.max(1.0)).clamp(1.0, cpus))
    }

    /// `None` where an answer takes nothing of it, or no number comes of it.
    fn bound(
        &self,
        (name, what): (&str, String),
        (demand, unit): (f64, &str),
        most: f64,
    ) -> Option<ResourceBound> {
        let most_rps = most / demand;
        let bound = ResourceBound {
            name: name.to_owned(),
            what,
            demand,
            unit: unit.to_owned(),
            most_rps,
            reached: self.answered / (self.seen.window_ns.max(1) as f64 / 1e9) / most_rps,
        };
        (demand > 0.0 && most_rps.is_finite() && most_rps > 0.0).then_some(bound)
    }
}

#[cfg(test)]
mod tests {
    use model::observation::SeenCalls;

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
    fn a_quota_stands_in_the_place_of_cpus_and_absurd_figures_bound_nothing() {
        let mut seen = busy();
        seen.counters.insert("group.quota_mcpu".to_owned(), 500);
        assert!(
            of(&seen)
                .iter()
                .any(|it| it.0 == "cpu-quota" && it.2 == 50_505.0)
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
