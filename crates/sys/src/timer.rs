//! A timer that follows the wall clock, for work that must be right to the second.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::UNIX_EPOCH;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Readable at each full second of the wall clock, and when somebody sets that clock.
#[derive(Debug)]
pub struct SecondTimer {
    fd: OwnedFd,
}

impl SecondTimer {
    /// Starts the timer.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Realtime, flags)?;
        let timer = Self { fd };
        timer.start_at_next_second()?;
        Ok(timer)
    }

    /// Acknowledges the last expiry, so that the timer is not readable until the next second.
    ///
    /// # Errors
    /// The kernel's error when the timer cannot be restarted after the clock was set.
    pub fn acknowledge(&self) -> io::Result<()> {
        match rustix::io::read(&self.fd, &mut [0_u8; 8][..]) {
            // timerfd_create(2): the clock was set while the timer was running.
            Err(Errno::CANCELED) => self.start_at_next_second(),
            _ => Ok(()),
        }
    }

    fn start_at_next_second(&self) -> io::Result<()> {
        let since_epoch = crate::clock::wall()
            .duration_since(UNIX_EPOCH)
            .map_err(io::Error::other)?;
        let second = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
        let now = i64::try_from(since_epoch.as_secs()).map_err(io::Error::other)?;
        let schedule = Itimerspec {
            it_interval: second(1),
            it_value: second(now + 1),
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&self.fd, flags, &schedule)?;
        Ok(())
    }
}

impl AsFd for SecondTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Events, Interest};

    #[test]
    fn it_is_readable_once_a_second_and_the_second_has_then_begun() {
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(1);
        let unix_second = || {
            let now = crate::clock::wall();
            now.duration_since(UNIX_EPOCH).unwrap().as_secs()
        };
        let before = unix_second();
        let timer = SecondTimer::new().unwrap();
        epoll.add(timer.as_fd(), 7, Interest::READ).unwrap();
        epoll.wait(&mut events, Some(5_000_000_000)).unwrap();
        assert_eq!(events.iter().count(), 1);
        assert!(unix_second() > before);
        let before = unix_second();
        timer.acknowledge().unwrap();
        epoll.wait(&mut events, Some(5_000_000_000)).unwrap();
        assert_eq!(events.iter().count(), 1);
        assert!(unix_second() > before);
    }
}
