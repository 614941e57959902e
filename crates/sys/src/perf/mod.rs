//! Perf events of the kernel (perf_event_open(2)): where a thread is when a clock ticks, when it leaves its CPU, when it
//! passes a tracepoint. No counter of the processor is needed for that.
//!
//! What is told lies in a ring that both sides share. Of what finds no room there the kernel counts how much was lost.

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

/// What makes a thread's state be told: the kernel's stack and, to be unwound by who knows how, the program's as bytes
/// with its registers; of a tracepoint its own fields instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A clock, so many times a second of running.
    Clock { hertz: u32 },
    /// Its leaving its CPU: each time or, where it does so more often, about so many times a second. That it comes back
    /// is told every time ([`PerfRecord::Back`]).
    Leaving { hertz: u32 },
    /// Each time that it passes the tracepoint with this number ([`crate::tracepoint`]).
    Tracepoint { number: u64 },
}

impl Trigger {
    const fn tells_stacks(self) -> bool {
        !matches!(self, Self::Tracepoint { .. })
    }
}

/// Whom it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One thread, by its number, wherever it runs.
    Thread(u32),
    /// Whatever runs on a CPU, but for its idle task.
    Cpu(u32),
}

/// An event that is watched, until it is dropped.
#[derive(Debug)]
pub struct PerfEvent {
    descriptor: OwnedFd,
    ring: EventRing,
}

impl PerfEvent {
    /// Opens it, not started yet, with a ring of so many pages, a power of two.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` for what `kernel.perf_event_paranoid` keeps from this user, `ESRCH` for a thread that is gone,
    /// `EMFILE`, `ENOMEM`, `ENOSYS` without perf events.
    pub fn open(trigger: Trigger, whose: Whose, pages: usize) -> io::Result<Self> {
        let descriptor = open_event(&Attributes::of(trigger), whose)?;
        let ring = EventRing::of(&descriptor, pages, trigger.tells_stacks())?;
        Ok(Self { descriptor, ring })
    }

    /// Has it watch from now on.
    ///
    /// # Errors
    /// None are known.
    pub fn start(&self) -> io::Result<()> {
        self.control(ENABLE)
    }

    /// Has it watch no more. What it has told stays.
    ///
    /// # Errors
    /// None are known.
    pub fn stop(&self) -> io::Result<()> {
        self.control(DISABLE)
    }

    /// Hands over what was told since, in the order of time.
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
    // SAFETY: the kernel reads the attributes, whose length stands in them, and keeps no pointer to them.
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
