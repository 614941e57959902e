//! Which system calls of the accused are made to end later, and by how much: if they hold it back,
//! answers become fewer by as much.

use std::collections::BTreeMap;

use model::explanation::{Hindrance, LaterCalls};
use model::observation::Observation;

use super::callers::sleeps_in;
use super::system_calls::{Door, answers, door};

/// Share of the time of the threads that make the calls which the delay is to take, 0 to 1.
const TAKE: f64 = 0.15;
/// Smallest share of that time that shows anything.
const ENOUGH: f64 = 0.05;
/// Longest delay of a call, µs: during it a CPU can do nothing else.
const MOST_US: f64 = 200.0;
/// Shortest delay of a call, µs: the delaying itself costs more in any case.
const LEAST_US: f64 = 0.1;

/// The delay for calls of this name, made by `at_once` threads or CPUs at a time that have nothing
/// else to do; `None` where the calls are too few.
pub(super) fn named(seen: &Observation, name: &str, at_once: f64) -> Option<Hindrance> {
    let calls = seen.calls.as_ref()?;
    let count = *calls.counts.get(name)? as f64;
    // The burst is short, but an answer takes as many calls in it as in the whole look.
    let per_us = match (answers(&calls.counts), seen.load) {
        (Some(answers @ 1..), Some(load)) => {
            count / answers as f64 * load.answered as f64 / (seen.window_ns.max(1) as f64 / 1e3)
        }
        _ => count / (calls.window_ns.max(1) as f64 / 1e3),
    };
    let delay_us = (TAKE * at_once / per_us).clamp(LEAST_US, MOST_US);
    let taken = per_us * delay_us / at_once;
    (taken >= ENOUGH).then(|| {
        Hindrance::Calls(LaterCalls {
            name: name.to_owned(),
            delay_us,
            at_once,
        })
    })
}

/// The delay for the system call by which threads mostly sleep in a function of the kernel; they do
/// so for `share` of a request's time, 0 to 1.
pub(super) fn asleep_in(seen: &Observation, at: &str, share: f64) -> Option<Hindrance> {
    let asleep = seen.asleep.as_ref()?;
    let mut weights = BTreeMap::<&str, u64>::new();
    for stack in asleep.stacks.iter().filter(|stack| sleeps_in(stack, at)) {
        if let Door::Call(name) = door(stack) {
            *weights.entry(name).or_default() += stack.weight_ns;
        }
    }
    let (name, weight_ns) = weights.into_iter().max_by_key(|(_, weight)| *weight)?;
    // For the rest of the time these threads do what follows the sleep.
    let sleeping = weight_ns as f64 / asleep.window_ns.max(1) as f64;
    let all = seen.threads.len().max(1) as f64;
    named(seen, name, (sleeping / share).clamp(1.0, all))
}

#[cfg(test)]
mod tests {
    use model::observation::SeenCalls;
    use model::stacks::{StackFrame, Stacks};

    use super::super::cases::busy;
    use super::*;

    /// A tenth of a second with so many calls, of which each thread was in one for half of the time.
    fn calling(count: u64, threads: u64) -> Observation {
        let kernel = ["__x64_sys_clock_nanosleep", "hrtimer_nanosleep"].map(StackFrame::of_kernel);
        let frames = [vec![StackFrame::of_program("app")], kernel.to_vec()].concat();
        let mut seen = busy();
        seen.threads = vec![seen.threads[0].clone(); 8];
        seen.asleep = Some(Stacks::of(100, [(frames, threads * 50)]));
        seen.calls = Some(SeenCalls {
            acked_bytes: None,
            window_ns: 100_000_000,
            counts: [("clock_nanosleep".to_owned(), count)].into(),
        });
        seen
    }

    #[test]
    fn the_delay_is_a_part_of_the_time_of_those_that_make_the_calls() {
        for (count, threads, expected) in [
            (100, 1, Some((150.0, 1.0))),
            (1000, 4, Some((60.0, 4.0))),
            // 200 µs would be a fiftieth of it.
            (10, 1, None),
            (10_000_000, 1, Some((0.1, 1.0))),
        ] {
            let found = asleep_in(&calling(count, threads), "hrtimer_nanosleep", 0.5);
            let found = found.map(|found| match found {
                Hindrance::Calls(calls) => ((calls.delay_us * 1e6).round() / 1e6, calls.at_once),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected, "{count} of {threads}");
        }
    }

    #[test]
    fn a_burst_at_a_moment_without_answers_makes_no_delay_longer() {
        let mut seen = calling(30, 1);
        let calls = seen.calls.as_mut().unwrap();
        // Three for each of the 100,000 answers of a second.
        calls
            .counts
            .extend(["recvfrom", "sendto"].map(|name| (name.to_owned(), 10)));
        let Some(Hindrance::Calls(later)) = named(&seen, "clock_nanosleep", 1.0) else {
            panic!("none")
        };
        assert!((later.delay_us - 0.5).abs() < 1e-9, "{later:?}");
    }

    #[test]
    fn what_was_not_seen_is_not_delayed() {
        assert_eq!(asleep_in(&busy(), "hrtimer_nanosleep", 0.5), None);
        assert_eq!(asleep_in(&calling(100, 1), "pipe_read", 0.5), None);
        assert_eq!(named(&calling(0, 1), "clock_nanosleep", 1.0), None);
    }
}
