//! Estimates by accounting what it costs a program to be looked at.

use machine::targets;
use model::observation::{LookCost, Observation, SeenCalls};
use model::stacks::Stacks;
use sys::clock;

/// How much of a program's own time each event of a burst takes, ns, as measured in
/// docs/instruments/stacks.md: a sample on a CPU, a sleep with its end, and a system call.
const SAMPLE_NS: f64 = 15_000.0;
const SLEEP_NS: f64 = 1_800.0;
const CALL_NS: f64 = 610.0;

/// The CPU time that a program and this process had used when the look began.
pub(crate) struct CostWatch {
    pids: Vec<u32>,
    begun_ns: u64,
    used_ns: u64,
    own_ns: u64,
}

impl CostWatch {
    pub(crate) fn begin(pids: &[u32]) -> Self {
        Self {
            begun_ns: clock::monotonic_ns(),
            used_ns: used_ns(pids),
            own_ns: own_ns(),
            pids: pids.to_vec(),
        }
    }

    /// CPU time that this process has used since the look began, ns. It counts only where the
    /// program may use one of `cpus`, the CPUs that this process was pinned to; it is 0 elsewhere.
    pub(crate) fn beside_ns(&self, cpus: &[usize]) -> u64 {
        let may_use = targets::cpus_of(&self.pids);
        let is_shared = cpus.iter().any(|cpu| may_use.contains(cpu));
        own_ns().saturating_sub(self.own_ns) * u64::from(is_shared)
    }

    /// Ends the accounting once all bursts are over. `beside_ns` is our own time on CPUs that the
    /// program may use.
    pub(crate) fn end(self, seen: &Observation, beside_ns: u64) -> LookCost {
        let program_ns = used_ns(&self.pids).saturating_sub(self.used_ns);
        LookCost {
            lasted_ns: clock::monotonic_ns().saturating_sub(self.begun_ns),
            program_ns,
            within_ns: within_ns(seen),
            beside_ns,
        }
    }
}

/// The part of the program's own CPU time that the bursts took, ns.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a number of ns; `as` saturates"
)]
fn within_ns(seen: &Observation) -> u64 {
    let samples = seen.stacks.as_ref().map_or(0, |stacks| stacks.samples);
    let waits: f64 = seen.threads.iter().map(|it| it.waits as f64).sum();
    // A burst reports only some of the sleeps, but slows all of them down.
    let asleep_ns = seen
        .asleep
        .as_ref()
        .map_or(0, |stacks: &Stacks| stacks.window_ns);
    let sleeps = waits * asleep_ns as f64 / seen.window_ns.max(1) as f64;
    let of_calls = |calls: &SeenCalls| calls.counts.values().map(|count| *count as f64).sum();
    let calls: f64 = seen.calls.as_ref().map_or(0.0, of_calls);
    (samples as f64 * SAMPLE_NS + sleeps * SLEEP_NS + calls * CALL_NS) as u64
}

/// CPU time of all processes of a program together, each counted once, ns.
fn used_ns(pids: &[u32]) -> u64 {
    let all = targets::family(pids).into_iter();
    all.filter_map(|pid| clock::process_cpu_ns(pid).ok()).sum()
}

fn own_ns() -> u64 {
    clock::process_cpu_ns(std::process::id()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::observation::SeenThread;

    #[test]
    fn what_a_burst_took_is_the_number_of_its_events_by_what_each_takes() {
        let mut seen = Observation {
            window_ns: 10_000_000_000,
            threads: vec![SeenThread {
                waits: 100_000,
                ..SeenThread::default()
            }],
            ..Observation::default()
        };
        assert_eq!(within_ns(&seen), 0);
        seen.calls = Some(SeenCalls {
            counts: [("read".to_owned(), 1_000)].into(),
            ..SeenCalls::default()
        });
        assert_eq!(within_ns(&seen), 610_000);
        seen.asleep = Some(Stacks {
            window_ns: 300_000_000,
            ..Stacks::default()
        });
        assert_eq!(within_ns(&seen), 610_000 + 3_000 * 1_800);
        seen.stacks = Some(Stacks {
            samples: 199,
            ..Stacks::default()
        });
        assert_eq!(within_ns(&seen), 610_000 + 3_000 * 1_800 + 199 * 15_000);
    }
}
