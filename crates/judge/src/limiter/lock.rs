//! Threads wait for one another: they sleep in futex calls in the middle of work.

use model::explanation::Hindrance;

use super::cpu_quota::throttled_share;
use super::{Case, Ruling, called_from, callers, limiter, percent, ruled_out};

/// How the names of all functions begin in which a futex call sleeps (kernel/futex/).
pub(super) const FUTEX: &str = "futex_";
/// Functions that sleep for locks on files and for the kernel's own (fs/locks.c, kernel/locking/).
const OTHERS: [&str; 6] = [
    "flock_lock_inode_wait",
    "locks_lock_inode_wait",
    "posix_lock_inode_wait",
    "__mutex_lock",
    "mutex_lock",
    "rwsem_down_",
];
/// Functions that wait for an interpreter's lock (`CPython`'s ceval_gil, Ruby's thread_sync).
pub(super) const INTERPRETERS: [&str; 3] =
    ["take_gil", "gvl_acquire", "thread_sched_wait_running_turn"];

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.threads.len() < 2 {
        return match case.seen.threads.is_empty() {
            true => Ruling::Silent,
            false => Ruling::Not(ruled_out("locks", "only one thread has run".to_owned())),
        };
    }
    // While a quota stops the thread that holds the lock, the others wait for the quota.
    let share = case.sleeping(|_, at| is_lock(at)) * (1.0 - throttled_share(case));
    let waits: u64 = case.seen.threads.iter().map(|it| it.waits).sum();
    let by = format!(
        "threads that have work sleep in futex calls, or on the kernel's own locks, for {} of the time",
        percent(share)
    );
    let mut found = limiter(
        "lock",
        share,
        format!(
            "Its threads wait for one another's locks for {} of the time.",
            percent(share)
        ),
        vec![
            by.clone(),
            format!(
                "they gave up their CPU {:.0} times a second, and used {:.2} CPUs",
                case.rate(waits),
                case.cpus_used()
            ),
        ],
        "find the lock by the stacks that sleep there, and hold it for less time, or split it",
    );
    found.shown_by.extend(called_from(case.seen, FUTEX));
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), Some(false));
    if is_of_the_interpreter(case) {
        "interpreter-lock".clone_into(&mut found.name);
        found.what = format!(
            "Only one of its threads runs at a time: the others wait for the interpreter's own lock for {} of the time.",
            percent(share)
        );
        found.advice = vec![
            "use processes instead of threads; otherwise the work of the thread that runs, shown below as its work, has to become cheaper".to_owned(),
        ];
    }
    Ruling::by_share(found, || ruled_out("locks", by))
}

/// Whether threads that sleep in this function of the kernel wait for a lock.
pub(super) fn is_lock(at: &str) -> bool {
    at.starts_with(FUTEX) || OTHERS.iter().any(|name| at.starts_with(name))
}

/// Whether most sleepers wait for the lock that lets one thread of Python, or of Ruby, run.
fn is_of_the_interpreter(case: &Case<'_>) -> bool {
    let caller = callers::of(case.seen.asleep.as_ref(), FUTEX);
    caller.is_some_and(|(name, share)| share > 0.5 && INTERPRETERS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use model::observation::{Doing, Holder};
    use model::stacks::{StackFrame, Stacks};

    use super::super::cases::{asleep, busy, held, is_accused, moment, thread};
    use super::*;

    #[test]
    fn threads_that_sleep_in_futex_calls_half_of_the_time_wait_for_a_lock() {
        let mut seen = busy();
        seen.threads.push(thread(2, 500));
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Unread, asleep("futex_do_wait"), 100.0));
        let found = held(rule, &seen);
        assert_eq!((&found.name[..], found.follows), ("lock", Some(false)));
        seen.moments.pop();
        let blocked = Doing::Blocked("rwsem_down_write_slowpath".to_owned());
        seen.moments.push(moment(Holder::Unread, blocked, 100.0));
        assert!((held(rule, &seen).share - 0.5).abs() < 1e-9);
    }

    #[test]
    fn threads_that_wait_for_the_interpreter_are_told_from_those_that_wait_for_a_lock_of_their_own()
    {
        let mut seen = busy();
        seen.threads.push(thread(2, 500));
        seen.moments
            .push(moment(Holder::Unread, asleep("futex_do_wait"), 100.0));
        for (caller, expected) in [("take_gil", "interpreter-lock"), ("flush", "lock")] {
            let frames = vec![
                StackFrame::of_program("app"),
                StackFrame::of_program(caller),
                StackFrame::of_kernel("futex_do_wait"),
            ];
            seen.asleep = Some(Stacks::of(100, vec![(frames.clone(), 9); 10]));
            let found = held(rule, &seen);
            assert_eq!(found.name, expected);
            assert!(found.shown_by[2].contains(caller), "{found:?}");
            // One sleep is not most of them.
            seen.asleep = Some(Stacks::of(100, [(frames, 9)]));
            let found = held(rule, &seen);
            assert_eq!((&found.name[..], found.shown_by.len()), ("lock", 2));
        }
    }

    #[test]
    fn what_a_quota_takes_while_a_lock_is_held_is_no_wait_for_the_lock() {
        let mut seen = busy();
        seen.threads = vec![thread(1, 200), thread(2, 100)];
        seen.moments
            .push(moment(Holder::Unread, asleep("futex_do_wait"), 100.0));
        let share = held(rule, &seen).share;
        seen.counters
            .insert("group.throttled_us".to_owned(), 700_000);
        assert!((held(rule, &seen).share - 0.3 * share).abs() < 1e-9);
    }

    #[test]
    fn a_program_of_one_thread_has_no_lock_to_wait_for() {
        assert!(!is_accused(rule, &busy()));
    }
}
