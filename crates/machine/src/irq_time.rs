//! Finds out by experiment whether the kernel leaves the time of interrupts out of the CPU time of
//! processes.
//!
//! A thread sends itself datagrams over loopback. Each is received in a soft interrupt at the end
//! of the call that sends it, on the sender's CPU and in its context. With
//! `CONFIG_IRQ_TIME_ACCOUNTING` the kernel reads the clock on the way into an interrupt and out of
//! it (`irqtime_account_irq`), shows the sum in `/proc/stat`, and subtracts it from what the task
//! is charged (`update_rq_clock_task`). The thread's CPU clock then falls behind real time by that
//! much. Without this option the two clocks keep step, and `/proc/stat` counts whole ticks that
//! happened to hit an interrupt (`account_system_time`). All of this is in kernel/sched/cputime.c
//! and core.c.
//!
//! The kernel's configuration does not answer the question: it is not readable everywhere, and a
//! kernel with this option does not use it where the time-stamp counter is unstable, or with
//! `tsc=noirqtime`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::thread;

use model::facts::IrqTimeAccounting;
use sys::{clock, kernel_file};

use crate::cpu_ticks::{self, CpuTicks};
use crate::watch::median;

/// Short compared with the time slices of a scheduler or a hypervisor. A slice in which another
/// thread had the CPU, or that took twice as long, does not count.
const SLICE_NS: u64 = 1_000_000;
/// The most slices of a look. They span some ticks of every kernel, and soft interrupts take a
/// tenth of them or more.
const ENOUGH_SLICES: usize = 150;
/// The look is judged after every this many slices, and ends at once where the clock keeps step. To
/// find that the clock falls behind takes all slices, because a hypervisor steals time in bursts.
const JUDGED_EVERY: usize = 10;
/// The longest look, where others have the CPU.
const LONGEST_NS: u64 = 800_000_000;
/// From this share of the time on, the clock's lag is put down to interrupts.
const LACKS: f64 = 0.05;
/// A smaller lag counts as none: we read the two clocks one after the other.
const KEEPS_STEP: f64 = 0.01;
/// Interrupts must take at least this share of the thread's time by `/proc/stat`; below it the lag
/// proves nothing.
const SEEN: f64 = 0.02;
/// The lag may be at most this many times the interrupts in `/proc/stat`, which may have missed
/// some.
const EXPLAINED: f64 = 5.0;
/// A second look follows where the first one found nothing: its ticks may have missed every
/// interrupt.
const LOOKS: usize = 2;

/// The result of a look.
#[derive(Clone, Copy, Debug)]
struct IrqSample {
    /// The share of real time that was missing from the thread's CPU clock: the median over the
    /// slices.
    lacking: f64,
    /// Time of interrupts on the CPU by `/proc/stat`, as a share of the thread's CPU time.
    interrupted: f64,
}

/// Looks on one CPU and sends datagrams only to itself. A look takes a seventh of a second at most,
/// or longer where others have the CPU.
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
        // Time stolen by a hypervisor is missing too, but is no interrupt.
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
    // Uses write(2) and read(2): a tool that counts socket calls then counts only those of the
    // measured program.
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

/// Runs one slice of datagrams and returns the share of it that is missing from the thread's CPU
/// clock; `None` where others had the CPU in the meantime.
fn slice(socket: &mut File) -> io::Result<Option<f64>> {
    let begun_turns = turns();
    let (begun_ns, begun_cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut buffer = [0; 8];
    let mut passed_ns = 0;
    while passed_ns < SLICE_NS {
        unless_it_waits(socket.write(&buffer))?;
        // Received at once, so that none is dropped and counted as lost.
        unless_it_waits(socket.read(&mut buffer))?;
        passed_ns = clock::monotonic_ns() - begun_ns;
    }
    let cpu_ns = clock::thread_cpu_ns() - begun_cpu_ns;
    let lacking = 1.0 - cpu_ns as f64 / passed_ns as f64;
    let is_ours_alone = passed_ns < 2 * SLICE_NS && turns() == begun_turns;
    Ok(is_ours_alone.then_some(lacking))
}

/// How often this thread was put on a CPU: the third number of `/proc/PID/schedstat`
/// (Documentation/scheduler/sched-stats.rst); `None` where the kernel does not count it.
fn turns() -> Option<u64> {
    let text = kernel_file::text("/proc/thread-self/schedstat")?;
    text.split_whitespace().nth(2)?.parse().ok()
}

/// Ignores `WouldBlock`: a datagram that `ksoftirqd` still has to receive arrives with a later one.
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
