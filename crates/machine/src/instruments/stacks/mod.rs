//! Where the time of some processes goes, by stacks: for a second at most, as whoever is watched pays for it.

mod areas;
mod elf;
mod names;
mod programs;
mod unwind;

use std::io;
use std::time::Duration;

use model::stacks::Stacks;
use sys::perf::{PerfEvent, PerfRecord, Told, Trigger, Whose};
use sys::{clock, kernel_file};

use programs::{Moment, Programs};

/// Of a program's stack so much is copied each time. The loop of libuv alone has 12 KiB on it.
const STACK_BYTES: u32 = 32 << 10;
/// What is kept of all moments until the burst is over.
const MOST_BYTES: usize = 64 << 20;
/// All rings together, and each at most: what we may be late by, where others have the CPUs.
const MOST_PAGES: usize = 8192;
const MOST_PAGES_EACH: usize = 512;
/// So often rings are emptied.
const TURN: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
const MOST_HERTZ: u32 = 1000;
const NS_PER_S: u64 = 1_000_000_000;

/// Where threads of these processes and of their children run, by samples of all CPUs, so many a second of each. At most
/// for a second.
///
/// # Errors
/// `EACCES` without root or `CAP_PERFMON`, `ESRCH` where none of the processes is there, `ENOSYS` without perf events.
pub fn on_cpu(pids: &[u32], duration: Duration, hertz: u32) -> io::Result<Stacks> {
    let hertz = hertz.clamp(1, MOST_HERTZ);
    let mut programs = Programs::of(pids)?;
    let told = Told::Memory {
        most_bytes: STACK_BYTES,
    };
    let cpus = online();
    let pages = pages_each(cpus.len());
    let open = |cpu| PerfEvent::open(Trigger::Clock { hertz }, told, Whose::Cpu(cpu), pages);
    let events = cpus.into_iter().map(open);
    let mut events = events.collect::<io::Result<Vec<_>>>()?;
    let mut kept = KeptMoments::default();
    let window_ns = watch(&mut events, duration, |record| match record {
        PerfRecord::Hit(hit) if programs.has(hit.process) => {
            kept.add(Moment::of(&hit), NS_PER_S / u64::from(hertz));
        }
        PerfRecord::Lost(count) => kept.lost += count,
        _ => {}
    })?;
    Ok(kept.stacks(window_ns, &mut programs))
}

fn drain(events: &mut [PerfEvent], take: &mut impl FnMut(PerfRecord<'_>)) {
    for event in events {
        event.drain(&mut *take);
    }
}

/// Moments with their weights, and how many there was no room for.
#[derive(Default)]
struct KeptMoments {
    moments: Vec<(Moment, u64)>,
    bytes: usize,
    lost: u64,
}

/// A power of two, as the kernel wants it.
fn pages_each(events: usize) -> usize {
    let most = (MOST_PAGES / events.max(1)).clamp(1, MOST_PAGES_EACH);
    1 << most.ilog2()
}

fn online() -> Vec<u32> {
    let list = kernel_file::text("/sys/devices/system/cpu/online");
    let cpus = list.and_then(|list| sys::cpu::parse_list(&list).ok());
    let cpus = cpus.unwrap_or_default().into_iter();
    cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// Has events watch for that time, and hands over what they tell; how long it was, ns.
fn watch(
    events: &mut [PerfEvent],
    duration: Duration,
    mut take: impl FnMut(PerfRecord<'_>),
) -> io::Result<u64> {
    events.iter().try_for_each(PerfEvent::start)?;
    let begun_ns = clock::monotonic_ns();
    let end = clock::now() + duration.min(LONGEST);
    while let Some(left) = end
        .checked_duration_since(clock::now())
        .filter(|left| !left.is_zero())
    {
        clock::wait_until(left.min(TURN), || false);
        drain(events, &mut take);
    }
    events.iter().try_for_each(PerfEvent::stop)?;
    let window_ns = clock::monotonic_ns() - begun_ns;
    drain(events, &mut take);
    Ok(window_ns)
}

impl KeptMoments {
    fn add(&mut self, moment: Moment, weight_ns: u64) {
        self.bytes += moment.bytes();
        match self.bytes <= MOST_BYTES {
            true => self.moments.push((moment, weight_ns)),
            false => self.lost += 1,
        }
    }

    fn stacks(self, window_ns: u64, programs: &mut Programs) -> Stacks {
        let moments = self.moments.iter();
        let seen = moments.map(|(moment, weight_ns)| (programs.stack(moment), *weight_ns));
        let mut stacks = Stacks::of(window_ns, seen);
        stacks.lost += self.lost;
        stacks
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use model::stacks::{CUT, Stack};

    use super::*;

    #[inline(never)]
    fn spins_for(cpu_ns: u64) {
        let begun_ns = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun_ns < cpu_ns {
            (0..1000).for_each(|number| _ = black_box(number));
        }
    }

    #[test]
    fn a_function_of_ours_that_spins_is_seen_from_the_outermost_frame_on() {
        let own = [std::process::id()];
        let spinner = std::thread::spawn(|| spins_for(600_000_000));
        let found = on_cpu(&own, Duration::from_millis(500), 199);
        spinner.join().unwrap();
        let stacks = match found {
            Err(refused) if !sys::user::is_root() => {
                assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
                return;
            }
            found => found.unwrap(),
        };
        let ends = ["::__rust_begin_short_backtrace", "::spins_for"];
        let leads_there = |stack: &Stack| {
            let place = |end| {
                stack
                    .frames
                    .iter()
                    .position(|frame| frame.name.ends_with(end))
            };
            let [Some(caller), Some(spins)] = ends.map(place) else {
                return false;
            };
            caller < spins && stack.frames.iter().all(|frame| frame.name != CUT)
        };
        assert!(stacks.stacks.iter().any(leads_there), "{}", stacks.folded());
    }

    #[test]
    fn nothing_is_told_of_a_process_that_is_not_there() {
        let refused = on_cpu(&[u32::MAX], Duration::ZERO, 99).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(3));
    }
}
