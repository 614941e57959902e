//! Which function of the program led it into a sleep.

use std::collections::BTreeMap;

use model::stacks::{CUT, Stack, StackFrame, Stacks};

use super::lock::INTERPRETERS;
use super::other_sleep::TIMER;

/// Beginnings of names that say how a program sleeps and not why: those of the C library, and of
/// files without names of functions.
const PLUMBING: [&str; 9] = [
    "[",
    "__",
    "pthread_",
    "futex",
    "sem_",
    "syscall",
    "clock_nanosleep",
    "nanosleep",
    "PyThread_",
];

/// Functions in which the threads of a runtime wait for work: Go's (runtime/proc.go), libuv's,
/// Node's and tokio's.
const IDLE: [&str; 8] = [
    "runtime.stopm",
    "runtime.mPark",
    "runtime.sysmon",
    "runtime.notetsleep",
    "runtime.templateThread",
    "uv_cond_wait",
    "node::TaskQueue",
    "tokio::runtime::scheduler",
];
/// Half of the time for which it is recorded what threads sleep in, µs.
const SHORT_US: f64 = 150_000.0;
/// In this many sleeps, a kind that makes up one in three is missed by chance once in fifty times.
/// A burst sees fewer where other programs switch threads far more often.
const ENOUGH_SLEEPS: u64 = 10;
/// Functions in which a thread waits for a signal from another.
const SIGNALLED: [&str; 3] = ["pthread_cond_", "Unsafe_Park", "std::thread::park"];
/// JavaScript's `Atomics.wait` also goes through these functions, but is a lock of the program.
const OWN_LOCK: &str = "v8::internal::FutexEmulation";

/// What threads wait for while they sleep in functions of the kernel whose names begin alike, as
/// shares of their time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sleepers {
    /// They wait for work.
    pub(super) idle: f64,
    /// They wait for a signal from another thread.
    pub(super) signalled: f64,
}

/// Finds what threads sleep for from the functions that led there.
///
/// For a thread that slept all the time these are not known; where answers take less than that
/// time, the thread had none to give and was idle. Sleeps for a chosen time are idle too where
/// enough other sleeps were seen and none of these: the many answers in that time needed none.
pub(super) fn sleepers(asleep: Option<&Stacks>, at: &str, response_us: Option<f64>) -> Sleepers {
    let are_short = response_us.is_some_and(|us| us < SHORT_US);
    let (mut found, mut all) = (Sleepers::default(), 0.0);
    let sleeping = asleep.iter().flat_map(|asleep| &asleep.stacks);
    for stack in sleeping.filter(|stack| sleeps_in(stack, at) && (are_short || is_known(stack))) {
        let weight = stack.weight_ns as f64;
        all += weight;
        match () {
            () if goes_through(stack, &INTERPRETERS) || goes_through(stack, &[OWN_LOCK]) => {}
            () if !is_known(stack) || goes_through(stack, &IDLE) => found.idle += weight,
            () if goes_through(stack, &SIGNALLED) => found.signalled += weight,
            () => {}
        }
    }
    if all > 0.0 {
        found.idle /= all;
        found.signalled /= all;
    } else if asleep.is_some_and(saw_enough) && are_short && at == TIMER {
        found.idle = 1.0;
    }
    found
}

fn saw_enough(asleep: &Stacks) -> bool {
    asleep.samples.saturating_sub(asleep.cut) >= ENOUGH_SLEEPS
}

pub(super) fn sleeps_in(stack: &Stack, at: &str) -> bool {
    let mut kernel = stack.frames.iter().filter(|frame| frame.kernel);
    kernel.any(|frame| frame.name.starts_with(at))
}

/// Whether a function of the program is known, after the name of the thread.
fn is_known(stack: &Stack) -> bool {
    let mut frames = stack.frames.iter().skip(1);
    frames.any(|frame| !frame.kernel && frame.name != CUT)
}

fn goes_through(stack: &Stack, functions: &[&str]) -> bool {
    let begins = |name: &str| functions.iter().any(|function| name.starts_with(function));
    stack.frames.iter().any(|frame| begins(&frame.name))
}

/// The function that leads to most of the sleep in functions of the kernel whose names begin with
/// `at`, and its share of that time, 0 to 1. Of each stack, the innermost function of the program
/// that is more than plumbing counts. `None` after a few sleeps, which say nothing about the
/// others.
pub(super) fn of(asleep: Option<&Stacks>, at: &str) -> Option<(String, f64)> {
    let asleep = asleep.filter(|asleep| saw_enough(asleep))?;
    let (mut sums, mut all) = (BTreeMap::<&str, f64>::new(), 0.0);
    for stack in asleep.stacks.iter().filter(|stack| sleeps_in(stack, at)) {
        let weight = stack.weight_ns as f64;
        all += weight;
        // The outermost frame is the name of the thread, which called nothing.
        let mut functions = stack.frames.iter().skip(1).rev();
        if let Some(frame) = functions.find(|frame| is_own_code(frame)) {
            *sums.entry(&frame.name).or_default() += weight;
        }
    }
    let most = sums
        .into_iter()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    most.map(|(name, weight)| (name.to_owned(), weight / all))
}

fn is_own_code(frame: &StackFrame) -> bool {
    !frame.kernel && !PLUMBING.iter().any(|name| frame.name.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_without_work_are_told_from_those_that_wait_for_a_lock() {
        let mut asleep = Stacks::of(
            100,
            [
                ("runtime.stopm", 50),
                ("pthread_cond_wait", 30),
                ("take_gil", 20),
                (CUT, 900),
            ]
            .map(|(name, weight)| {
                let frames = [StackFrame::of_program("app"), StackFrame::of_program(name)];
                let kernel = StackFrame::of_kernel("futex_do_wait");
                (frames.into_iter().chain([kernel]).collect(), weight)
            }),
        );
        let expected = Sleepers {
            idle: 0.5,
            signalled: 0.3,
        };
        assert_eq!(sleepers(Some(&asleep), "futex_", None), expected);
        assert_eq!(sleepers(None, "futex_", None), Sleepers::default());
        // Three sleeps that were seen say nothing of those that were not.
        assert_eq!(sleepers(Some(&asleep), TIMER, Some(1_000.0)).idle, 0.0);
        asleep.samples += ENOUGH_SLEEPS;
        assert_eq!(sleepers(Some(&asleep), TIMER, Some(1_000.0)).idle, 1.0);
        assert_eq!(sleepers(Some(&asleep), TIMER, None).idle, 0.0);
        // Those that slept all the time, 900 of 1000, had none of the many answers to give.
        let known = sleepers(Some(&asleep), "futex_", Some(1_000.0));
        assert!((known.idle - 0.95).abs() < 1e-9, "{known:?}");
    }

    fn sleep(names: &[&str]) -> Vec<StackFrame> {
        let program = names.iter().map(|name| StackFrame::of_program(*name));
        program
            .chain([StackFrame::of_kernel("futex_do_wait")])
            .collect()
    }

    #[test]
    fn the_innermost_function_that_tells_something_is_the_caller() {
        let of_lock = [
            "app",
            "main",
            "serve",
            "take_gil",
            "pthread_cond_timedwait",
            "[libc.so.6]",
        ];
        let others = sleep(&["app", "main", "flush", "__lll_lock_wait"]);
        let seen = |times| {
            let of_lock = vec![(sleep(&of_lock), 10); times];
            Stacks::of(
                100,
                of_lock.into_iter().chain(vec![(others.clone(), 10); 2]),
            )
        };
        let asleep = seen(8);
        assert_eq!(
            of(Some(&asleep), "futex_"),
            Some(("take_gil".to_owned(), 0.8))
        );
        assert_eq!(of(Some(&asleep), "pipe_"), None);
        assert_eq!(of(None, "futex_"), None);
        assert_eq!(of(Some(&seen(7)), "futex_"), None);
    }

    #[test]
    fn the_name_of_a_thread_is_no_function_that_leads_anywhere() {
        let seen = vec![(sleep(&["python3", "[libc.so.6]"]), 10); 10];
        let asleep = Stacks::of(100, seen);
        assert_eq!(of(Some(&asleep), "futex_"), None);
    }
}
