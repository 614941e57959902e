//! Whether the kernel keeps the time of interrupts off the clocks of processes, found by a look.
//!
//! A thread sends itself datagrams over loopback. Each is received in a soft interrupt at the end of the
//! call that sends it, on the sender's CPU and in its context. With `CONFIG_IRQ_TIME_ACCOUNTING` the
//! kernel notes the clock on the way into an interrupt and out of it (`irqtime_account_irq`), shows the sum
//! in `/proc/stat`, and takes it off what the task is charged (`update_rq_clock_task`): the thread's
//! clock falls behind the time by as much. Without it the clock keeps step, and `/proc/stat` has at
//! each tick what that came upon (`account_system_time`); all in kernel/sched/cputime.c and core.c.
//!
//! The configuration would not tell: it is not everywhere to be read, and what is built in is off where the
//! time-stamp counter is not steady, or by `tsc=noirqtime`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::thread;

use model::facts::IrqTimeAccounting;
use sys::{clock, kernel_file};

use crate::cpu_ticks::{self, CpuTicks};
use crate::watch::median;

/// Short beside the turns of a scheduler and of a hypervisor: a slice in which another had the CPU, or
/// that took twice as long, does not count.
const SLICE_NS: u64 = 1_000_000;
/// So many slices a look takes at most: some ticks of every kernel lie in them, and softirqs are a tenth of them
/// or more.
const ENOUGH_SLICES: usize = 150;
/// After each so many it is judged, and ends where the clock keeps step. That it lacks something takes all of them: what
/// a hypervisor steals comes in bursts.
const JUDGED_EVERY: usize = 10;
/// Where others have the CPU, it ends after so long.
const LONGEST_NS: u64 = 800_000_000;
/// From this share of the time on, a clock that lacks it lacks interrupts.
const LACKS: f64 = 0.05;
/// A clock that lacks less than this lacks nothing: ours reads two clocks one after the other.
const KEEPS_STEP: f64 = 0.01;
/// Interrupts of this share of the thread's time must be in `/proc/stat` to be missed.
const SEEN: f64 = 0.02;
/// What is lacking may be so many times what `/proc/stat` has, which may have missed some of it.
const EXPLAINED: f64 = 5.0;
/// Of one look the ticks may have missed every interrupt.
const LOOKS: usize = 2;

/// What a look saw.
#[derive(Clone, Copy, Debug)]
struct IrqSample {
    /// The share of its time that the thread's clock lacked: the median over the slices.
    lacking: f64,
    /// What interrupts had of the CPU by `/proc/stat`, as a share of what the thread had.
    interrupted: f64,
}

/// Looks, on one CPU, for a seventh of a second at most, or longer where others have it; sends nothing but to itself.
pub(crate) fn probe() -> IrqTimeAccounting {
    let looks = (0..LOOKS).map(|_| {
        let look = thread::spawn(look).join();
        let found = look.ok().and_then(Result::ok);
        found.unwrap_or(IrqTimeAccounting::Unknown)
    });
    let mut looks = looks.skip_while(|found| *found == IrqTimeAccounting::Unknown);
    looks.next().unwrap_or(IrqTimeAccounting::Unknown)
}

fn judge(look: IrqSample) -> IrqTimeAccounting {
    if look.interrupted < SEEN {
        return IrqTimeAccounting::Unknown;
    }
    match look.lacking {
        // What is stolen by a hypervisor is lacking too, and no interrupt.
        lacking if lacking >= LACKS && lacking <= EXPLAINED * look.interrupted => {
            IrqTimeAccounting::On
        }
        lacking if lacking < KEEPS_STEP => IrqTimeAccounting::Off,
        _ => IrqTimeAccounting::Unknown,
    }
}

fn look() -> io::Result<IrqTimeAccounting> {
    let cpu = *sys::cpu::allowed()?.last().ok_or(io::ErrorKind::NotFound)?;
    sys::cpu::pin(&[cpu])?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    // By write(2) and read(2): whoever counts the calls of sockets counts those of what is measured.
    let mut socket = File::from(OwnedFd::from(socket));
    let ticks = || ticks_of(cpu).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    let (opened, opened_ns) = (ticks()?, clock::monotonic_ns());
    let (mut lacking, begun_cpu_ns) = (Vec::new(), clock::thread_cpu_ns());
    let mut found = IrqTimeAccounting::Unknown;
    let is_late = || clock::monotonic_ns() - opened_ns >= LONGEST_NS;
    while found != IrqTimeAccounting::Off && lacking.len() < ENOUGH_SLICES && !is_late() {
        lacking.extend(slice(&mut socket)?);
        if !lacking.is_empty() && lacking.len().is_multiple_of(JUDGED_EVERY) {
            let interrupts = ticks()?.since(opened).machine;
            let interrupts_ns = interrupts.irq_ns + interrupts.softirq_ns;
            let had_ns = clock::thread_cpu_ns() - begun_cpu_ns;
            found = judge(IrqSample {
                lacking: median(&mut lacking),
                interrupted: interrupts_ns as f64 / had_ns.max(1) as f64,
            });
        }
    }
    Ok(found)
}

/// One slice of datagrams, and the share of it that the thread's clock lacks; `None` where others had
/// the CPU meanwhile.
fn slice(socket: &mut File) -> io::Result<Option<f64>> {
    let begun_turns = turns();
    let (begun_ns, begun_cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut buffer = [0; 8];
    let mut passed_ns = 0;
    while passed_ns < SLICE_NS {
        unless_it_waits(socket.write(&buffer))?;
        // Taken at once, so that none is dropped and counted as lost.
        unless_it_waits(socket.read(&mut buffer))?;
        passed_ns = clock::monotonic_ns() - begun_ns;
    }
    let cpu_ns = clock::thread_cpu_ns() - begun_cpu_ns;
    let lacking = 1.0 - cpu_ns as f64 / passed_ns as f64;
    let is_ours_alone = passed_ns < 2 * SLICE_NS && turns() == begun_turns;
    Ok(is_ours_alone.then_some(lacking))
}

/// The turns that this thread has had on a CPU: the third number of `/proc/PID/schedstat`
/// (Documentation/scheduler/sched-stats.rst); `None` where the kernel does not count them.
fn turns() -> Option<u64> {
    let text = kernel_file::text("/proc/thread-self/schedstat")?;
    text.split_whitespace().nth(2)?.parse().ok()
}

/// A datagram that `ksoftirqd` has yet to receive comes with one of the next.
fn unless_it_waits(called: io::Result<usize>) -> io::Result<()> {
    match called {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other.map(drop),
    }
}

fn ticks_of(cpu: usize) -> Option<CpuTicks> {
    cpu_ticks::parse_one(&kernel_file::text("/proc/stat")?, cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lacking: f64, interrupted: f64) -> IrqTimeAccounting {
        judge(IrqSample {
            lacking,
            interrupted,
        })
    }

    #[test]
    fn a_clock_that_keeps_step_while_interrupts_are_seen_is_of_a_kernel_without_it() {
        // Linux 6.18 on two CPUs at a load of 12, Debian's 6.1 and 6.12 under emulation.
        for (lacking, interrupted) in [(-0.00002, 0.24), (-0.0014, 0.155), (-0.0010, 0.154)] {
            assert_eq!(judged(lacking, interrupted), IrqTimeAccounting::Off);
        }
    }

    #[test]
    fn a_clock_that_lacks_what_interrupts_had_is_of_a_kernel_with_it() {
        // Linux 6.1.192 built with CONFIG_IRQ_TIME_ACCOUNTING, under emulation, at rest and beside others.
        for (lacking, interrupted) in [
            (0.2369, 0.297),
            (0.3529, 0.54),
            (0.1575, 0.178),
            (0.2203, 0.358),
        ] {
            assert_eq!(judged(lacking, interrupted), IrqTimeAccounting::On);
        }
    }

    #[test]
    fn what_fits_neither_is_unknown() {
        // Stolen time that no interrupts explain, a clock in between, no interrupts to be missed.
        for (lacking, interrupted) in [(0.30, 0.03), (0.03, 0.10), (0.20, 0.01), (0.0, 0.0)] {
            assert_eq!(judged(lacking, interrupted), IrqTimeAccounting::Unknown);
        }
    }

    #[test]
    fn a_few_slices_that_others_interrupted_shortly_do_not_move_the_median() {
        assert_eq!(median(&mut [0.4, 0.0, 0.001, 0.3, 0.001]), 0.001);
        assert_eq!(median(&mut []), 0.0);
    }
}
