//! Who in the program led it into a sleep.

use std::collections::BTreeMap;

use model::stacks::{Stack, StackFrame, Stacks};

/// Beginnings of names that say how a program sleeps and not why: those of the C library and of files without names.
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

/// The innermost function of the program that is more than plumbing, of the stacks that sleep in functions of the kernel
/// whose names begin so; the one with most of their time, and its share of it, 0 to 1.
pub(super) fn of(asleep: Option<&Stacks>, at: &str) -> Option<(String, f64)> {
    let sleeps = |stack: &&Stack| {
        let mut kernel = stack.frames.iter().filter(|frame| frame.kernel);
        kernel.any(|frame| frame.name.starts_with(at))
    };
    let (mut sums, mut all) = (BTreeMap::<&str, f64>::new(), 0.0);
    for stack in asleep?.stacks.iter().filter(sleeps) {
        let weight = stack.weight_ns as f64;
        all += weight;
        if let Some(frame) = stack.frames.iter().rev().find(|frame| is_telling(frame)) {
            *sums.entry(&frame.name).or_default() += weight;
        }
    }
    let most = sums
        .into_iter()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    most.map(|(name, weight)| (name.to_owned(), weight / all))
}

fn is_telling(frame: &StackFrame) -> bool {
    !frame.kernel && !PLUMBING.iter().any(|name| frame.name.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_function_that_tells_something_is_the_caller() {
        let stack = |names: &[&str]| -> Vec<StackFrame> {
            let program = names.iter().map(|name| StackFrame::of_program(*name));
            program
                .chain([StackFrame::of_kernel("futex_do_wait")])
                .collect()
        };
        let asleep = Stacks::of(
            100,
            [
                (
                    stack(&[
                        "main",
                        "serve",
                        "take_gil",
                        "pthread_cond_timedwait",
                        "[libc.so.6]",
                    ]),
                    80,
                ),
                (stack(&["main", "flush", "__lll_lock_wait"]), 20),
            ],
        );
        assert_eq!(
            of(Some(&asleep), "futex_"),
            Some(("take_gil".to_owned(), 0.8))
        );
        assert_eq!(of(Some(&asleep), "pipe_"), None);
        assert_eq!(of(None, "futex_"), None);
    }
}
