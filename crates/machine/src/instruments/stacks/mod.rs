//! Where the time of some processes goes, by stacks. It takes a second at most, since it slows the
//! watched program down.

mod areas;
mod asleep;
mod burst;
mod elf;

mod names;
mod programs;
mod samples;
mod unwind;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

use model::stacks::Stacks;
use sys::perf::{Hit, PerfRecord, Trigger};
use sys::{clock, system_call, tracepoint};

use asleep::Sleeps;
use burst::Burst;

use programs::{OwnThread, Programs};
use samples::{StackSample, StackSamples};

/// Samples each sleep. On a CPU that is left more than 499 times a second, a sample stands for all
/// sleeps since the previous one.
const FALLING_ASLEEP: Trigger = Trigger::Leaving { hertz: 499 };
const LONGEST: Duration = Duration::from_secs(1);
/// Shorter, since each sleep and each system call of the target then costs it more.
const LONGEST_ASLEEP: Duration = Duration::from_millis(300);
const LONGEST_COUNT: Duration = Duration::from_millis(100);
const MOST_HERTZ: u32 = 1000;
/// Where the call's number stands in the fields of `raw_syscalls:sys_enter`, after the fields
/// common to all tracepoints.
const NUMBER_AT: Range<usize> = 8..16;
/// Takes the place of the name for system calls whose records were lost.
const LOST: &str = "[lost]";

/// Where threads of these processes and of their children run, from samples of all CPUs, `hertz` of
/// them a second on each CPU; for a second at most.
///
/// # Errors
/// `EACCES` without root or `CAP_PERFMON`, `ESRCH` where none of the processes is there, `ENOSYS` without perf events.
pub fn on_cpu(pids: &[u32], duration: Duration, hertz: u32) -> io::Result<Stacks> {
    let hertz = hertz.clamp(1, MOST_HERTZ);
    let mut programs = Programs::of(pids)?;
    let mut burst = Burst::of_all_cpus(Trigger::Clock { hertz })?;
    let mut samples = StackSamples::default();
    let window_ns = burst.watch(duration.min(LONGEST), |record| {
        match record {
            PerfRecord::Hit(hit) if programs.has(hit.process) => {
                samples.add(StackSample::of(&hit), hit.stands_for);
            }
            PerfRecord::Lost(count) => samples.lost += count,
            _ => {}
        }
        samples.has_room()
    })?;
    Ok(samples.stacks(window_ns, &mut programs, Vec::new()))
}

/// Where threads of these processes and of their children sleep. A sleep lasts from the thread's
/// leaving its CPU by itself until it runs again. Watches for 300 ms at most, and only while there
/// is room for the records.
///
/// # Errors
/// Those of [`on_cpu`].
pub fn off_cpu(pids: &[u32], duration: Duration) -> io::Result<Stacks> {
    let mut programs = Programs::of(pids)?;
    let mut burst = Burst::of_all_cpus(FALLING_ASLEEP)?;
    let mut sleeps = Sleeps::default();
    let window_ns = burst.watch(duration.min(LONGEST_ASLEEP), |record| {
        sleeps.take(record, |process| programs.has(process));
        sleeps.has_room()
    })?;
    let ended_ns = clock::monotonic_ns();
    let threads = programs.threads();
    let still = threads.iter().filter(|own| sleeps.is_still(own.thread));
    let still = still.filter_map(|thread| Some((programs.sleeper(*thread)?, window_ns)));
    let still = still.collect();
    Ok(sleeps.end(ended_ns).stacks(window_ns, &mut programs, still))
}

/// Which system calls threads of these processes and of their children make, the most frequent
/// first. They stand by name or, where we know none, by number. Watches for 100 ms at most; calls
/// whose records were lost stand as `[lost]`.
///
/// # Errors
/// Those of [`on_cpu`] and of [`tracepoint::number`], and `EMFILE` where we may not have an open file for each thread.
pub fn system_calls(pids: &[u32], duration: Duration) -> io::Result<Vec<(String, u64)>> {
    let threads = Programs::of(pids)?.threads();
    let number = tracepoint::number("raw_syscalls", "sys_enter")?;
    let mut burst = Burst::of_threads(&numbers(&threads), Trigger::Tracepoint { number })?;
    let (mut by_number, mut lost) = (HashMap::<u64, u64>::new(), 0);
    burst.watch(duration.min(LONGEST_COUNT), |record| {
        match record {
            PerfRecord::Hit(hit) => *by_number.entry(call_of(&hit)).or_default() += 1,
            PerfRecord::Lost(count) => lost += count,
            _ => {}
        }
        true
    })?;
    let named = by_number
        .into_iter()
        .map(|(number, count)| (call_name(number), count));
    let lost = (lost > 0).then(|| (LOST.to_owned(), lost));
    let mut calls: Vec<_> = named.chain(lost).collect();
    calls
        .sort_unstable_by(|(name, count), (other, others)| others.cmp(count).then(name.cmp(other)));
    Ok(calls)
}

fn numbers(threads: &[OwnThread]) -> Vec<u32> {
    threads.iter().map(|own| own.thread).collect()
}

fn call_of(hit: &Hit<'_>) -> u64 {
    let number = hit
        .fields
        .get(NUMBER_AT)
        .and_then(|bytes| bytes.try_into().ok());
    number.map_or(u64::MAX, u64::from_ne_bytes)
}

fn call_name(number: u64) -> String {
    system_call::name(number).map_or_else(|| number.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::parent_id;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use model::stacks::{CUT, Stack};

    use super::*;

    const MOMENT: Duration = Duration::from_millis(300);

    /// What `look` finds of this process; `None` where the kernel is right to refuse it.
    fn found<T>(look: impl FnOnce(&[u32]) -> io::Result<T>) -> Option<T> {
        match look(&[std::process::id()]) {
            Err(refused) if !sys::user::is_root() => {
                assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
                None
            }
            found => Some(found.unwrap()),
        }
    }

    /// Whether the stack is whole and has functions with such ends in this order.
    fn leads_by(stack: &Stack, ends: &[&str]) -> bool {
        let mut names = stack.frames.iter().map(|frame| &frame.name);
        let is_whole = stack.frames.iter().all(|frame| frame.name != CUT);
        is_whole && ends.iter().all(|end| names.any(|name| name.ends_with(end)))
    }

    /// Repeats `work` in another thread until `look` has returned.
    fn beside<T>(work: impl Fn() + Sync, look: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    work();
                }
            });
            let found = look();
            is_over.store(true, Ordering::Relaxed);
            found
        })
    }

    #[inline(never)]
    fn spins() {
        (0..100_000).for_each(|number| _ = black_box(number));
    }

    #[test]
    fn a_function_of_ours_that_spins_is_seen_from_the_outermost_frame_on() {
        let found = beside(spins, || found(|own| on_cpu(own, MOMENT, 499)));
        let Some(stacks) = found else { return };
        let ends = ["::__rust_begin_short_backtrace", "::spins"];
        let is_seen = stacks.stacks.iter().any(|stack| leads_by(stack, &ends));
        assert!(is_seen, "{}", stacks.folded());
    }

    /// Waits for a byte, or for the other end to close; `true` for a byte.
    #[inline(never)]
    fn waits(mut stream: &UnixStream) -> bool {
        matches!(black_box(stream.read(&mut [0])), Ok(1))
    }

    #[test]
    fn a_thread_of_ours_that_waits_is_seen_where_it_does_whether_it_wakes_meanwhile_or_not() {
        let (near, far) = UnixStream::pair().unwrap();
        let (open, quiet) = UnixStream::pair().unwrap();
        let send = |mut from: &UnixStream| from.write_all(b"?").unwrap();
        let found = thread::scope(|scope| {
            scope.spawn(|| waits(&quiet));
            scope.spawn(|| {
                while waits(&far) {
                    send(&far);
                }
            });
            let ask = || {
                send(&near);
                waits(&near);
            };
            let found = beside(ask, || found(|own| off_cpu(own, MOMENT)));
            for end in [&near, &open] {
                end.shutdown(Shutdown::Both).unwrap();
            }
            found
        });
        let Some(stacks) = found else { return };
        let waited_in = |ends: &[&str]| stacks.stacks.iter().any(|stack| leads_by(stack, ends));
        assert!(
            waited_in(&["::waits", "unix_stream_read_generic"]),
            "{}",
            stacks.folded()
        );
        let slept =
            |stack: &&Stack| stack.weight_ns == stacks.window_ns && stack.frames[1].name == CUT;
        let still = stacks.stacks.iter().filter(slept);
        let mut innermost = still.filter_map(|stack| stack.frames.last());
        assert!(
            innermost.any(|frame| frame.name == "unix_stream_read_generic"),
            "{}",
            stacks.folded()
        );
    }

    #[test]
    fn the_system_call_that_a_thread_of_ours_makes_most_is_told_first() {
        let calls = || (0..1000).for_each(|_| _ = black_box(parent_id()));
        let found = beside(calls, || found(|own| system_calls(own, MOMENT)));
        let Some(calls) = found else { return };
        assert_eq!(calls[0].0, "getppid", "{calls:?}");
        assert!(calls[0].1 > 1000, "{calls:?}");
    }

    #[test]
    fn nothing_is_told_of_a_process_that_is_not_there() {
        let refused = on_cpu(&[u32::MAX], Duration::ZERO, 99).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(3));
    }
}
