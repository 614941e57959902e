//! Perf events of the kernel (perf_event_open(2)): where a thread is when a clock ticks, when it
//! leaves its CPU, when it passes a tracepoint. They need no counter of the processor.
//!
//! The records lie in a ring that both sides share. The kernel counts those that found no room
//! there.

mod attributes;
mod counter;
mod record;
mod ring;

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::{check, opened};
use attributes::Attributes;
use ring::EventRing;

pub use counter::DeviceCounter;
pub use record::{Hit, PerfRecord, Registers, ThreadSwitch};

/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_DISABLE` of linux/perf_event.h.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// What makes the kernel record a thread's state: the kernel's stack and, to be unwound elsewhere,
/// the program's stack as bytes with its registers; for a tracepoint its own fields instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A clock that ticks `hertz` times per second of running.
    Clock { hertz: u32 },
    /// The thread leaves its CPU: recorded each time or, where it leaves more often, about `hertz`
    /// times a second. Its return is recorded every time ([`PerfRecord::Back`]).
    Leaving { hertz: u32 },
    /// The thread passes the tracepoint with this number, recorded each time
    /// ([`crate::tracepoint`]).
    Tracepoint { number: u64 },
}

impl Trigger {
    const fn tells_stacks(self) -> bool {
        !matches!(self, Self::Tracepoint { .. })
    }
}

/// What an event watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One thread, by its number, wherever it runs.
    Thread(u32),
    /// Whatever runs on a CPU, except its idle task.
    Cpu(u32),
}

/// A perf event, open until it is dropped.
#[derive(Debug)]
pub struct PerfEvent {
    descriptor: OwnedFd,
    ring: EventRing,
}

impl PerfEvent {
    /// Opens the event, not started yet, with a ring of so many pages, a power of two.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` for what `kernel.perf_event_paranoid` forbids this user, `ESRCH` for a
    /// thread that is gone, `EMFILE`, `ENOMEM`, `ENOSYS` without perf events.
    pub fn open(trigger: Trigger, whose: Whose, pages: usize) -> io::Result<Self> {
        let descriptor = open_event(&Attributes::of(trigger), whose)?;
        let ring = EventRing::of(&descriptor, pages, trigger.tells_stacks())?;
        Ok(Self { descriptor, ring })
    }

    /// Starts to watch.
    ///
    /// # Errors
    /// None are known.
    pub fn start(&self) -> io::Result<()> {
        self.control(ENABLE)
    }

    /// Stops watching. Records that are in the ring stay.
    ///
    /// # Errors
    /// None are known.
    pub fn stop(&self) -> io::Result<()> {
        self.control(DISABLE)
    }

    /// Passes on the records since the last call, in the order of time.
    pub fn drain(&mut self, take: impl FnMut(PerfRecord<'_>)) {
        self.ring.drain(take);
    }

    fn control(&self, request: libc::c_ulong) -> io::Result<()> {
        let alone: libc::c_int = 0;
        // SAFETY: no pointers.
        check(unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request, alone) })?;
        Ok(())
    }
}

fn open_event(attributes: &Attributes, whose: Whose) -> io::Result<OwnedFd> {
    let (thread, cpu) = match whose {
        Whose::Thread(thread) => (libc::pid_t::try_from(thread).map_err(io::Error::other)?, -1),
        Whose::Cpu(cpu) => (-1, libc::c_int::try_from(cpu).map_err(io::Error::other)?),
    };
    let no_group: libc::c_int = -1;
    // SAFETY: the kernel reads the attributes, which contain their length, and keeps no pointer to
    // them.
    let returned = unsafe {
        let attributes = std::ptr::from_ref(attributes);
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes,
            thread,
            cpu,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    // SAFETY: it was just opened, for us alone.
    unsafe { opened(returned) }
}
