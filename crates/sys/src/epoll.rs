//! Readiness: one epoll instance, with waits in nanoseconds.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::check;
use crate::listener::BusyPoll;

/// The conditions to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(EventFlags);

impl Interest {
    /// Bytes to read, or a peer that hung up; reported for as long as that is so.
    pub const READ: Self = Self(EventFlags::IN.union(EventFlags::RDHUP));
    /// As [`Self::READ`], and room to write.
    pub const READ_WRITE: Self = Self(Self::READ.0.union(EventFlags::OUT));
    /// Room to write.
    pub const WRITE: Self = Self(EventFlags::OUT);

    /// Reports when something new has happened, not for as long as it is so: the kernel need not
    /// check again what it has reported. The owner must use up what is there, or set this again.
    #[must_use]
    pub const fn edge(self) -> Self {
        Self(self.0.union(EventFlags::ET))
    }

    /// Reports once, and then nothing until it is set again.
    #[must_use]
    pub const fn once(self) -> Self {
        Self(self.0.union(EventFlags::ONESHOT))
    }
}

/// One thing that happened: the token given at registration and what it is ready for.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub token: u64,
    pub readable: bool,
    /// The peer is gone or the socket failed; a read shows which.
    pub hung_up: bool,
}

impl Event {
    #[inline]
    fn from_raw(event: &epoll::Event) -> Self {
        let (flags, data) = (event.flags, event.data);
        let gone = EventFlags::HUP.union(EventFlags::RDHUP);
        Self {
            token: data.u64(),
            readable: flags.contains(EventFlags::IN),
            hung_up: flags.intersects(gone.union(EventFlags::ERR)),
        }
    }
}

/// Room for the events of one wait; made once and reused.
pub struct Events {
    raw: Vec<epoll::Event>,
    filled: usize,
}

impl Events {
    /// Makes room for so many events per wait.
    pub fn with_capacity(capacity: usize) -> Self {
        let none = epoll::Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        Self {
            raw: vec![none; capacity.max(1)],
            filled: 0,
        }
    }

    /// The events that the last wait found.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.raw[..self.filled].iter().map(Event::from_raw)
    }

    /// One event that the last wait found, by its index; `None` after the last one.
    #[inline]
    pub fn at(&self, index: usize) -> Option<Event> {
        self.raw[..self.filled].get(index).map(Event::from_raw)
    }
}

/// `_IOW(0x8A, 0x01, struct epoll_params)` of linux/eventpoll.h.
const EPIOCSPARAMS: libc::c_ulong = 0x4008_8a01;

/// `struct epoll_params`.
#[repr(C)]
struct BusyPollParams {
    time_us: u32,
    budget: u16,
    is_preferred: u8,
    padding: u8,
}

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// Makes an empty instance.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn new() -> io::Result<Self> {
        let fd = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { fd })
    }

    /// Starts to watch a descriptor. Closing it ends the watch.
    ///
    /// # Errors
    /// `EEXIST` when it is watched already.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(
            &self.fd,
            fd,
            EventData::new_u64(token),
            interest.0,
        )?)
    }

    /// Changes what a watched descriptor is watched for.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn modify(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(
            &self.fd,
            fd,
            EventData::new_u64(token),
            interest.0,
        )?)
    }

    /// Stops to watch a descriptor.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.fd, fd)?)
    }

    /// Has waits poll the device first, for sockets whose packets come through one (`EPIOCSPARAMS`,
    /// Linux 6.9).
    ///
    /// # Errors
    /// `ENOTTY` before that, `EOPNOTSUPP` on a kernel without busy polling, `EPERM` for more than
    /// 64 packets in one go without `CAP_NET_ADMIN`.
    pub fn poll_busily(&self, wish: BusyPoll) -> io::Result<()> {
        let params = BusyPollParams {
            time_us: wish.time_us,
            budget: wish.preferred_budget.unwrap_or(0),
            is_preferred: wish.preferred_budget.is_some().into(),
            padding: 0,
        };
        // SAFETY: `params` is readable for the size that is part of the request's number.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), EPIOCSPARAMS, &raw const params) })?;
        Ok(())
    }

    /// Waits until something happens or the time is over; `None` waits for ever. A signal ends
    /// the wait early with no events.
    ///
    /// # Errors
    /// `ENOSYS` before Linux 5.11, which has no `epoll_pwait2`.
    pub fn wait(&self, events: &mut Events, timeout_ns: Option<u64>) -> io::Result<()> {
        let timeout = timeout_ns.map(timespec);
        match epoll::wait(&self.fd, &mut events.raw[..], timeout.as_ref()) {
            Ok(found) => events.filled = found,
            Err(Errno::INTR) => events.filled = 0,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_wrap,
    reason = "of 64 bits of nanoseconds the seconds take far fewer"
)]
fn timespec(duration_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (duration_ns / 1_000_000_000) as i64,
        tv_nsec: (duration_ns % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_edge_is_told_once_until_more_comes_or_it_is_set_again() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let epoll = Epoll::new().unwrap();
        let edge = Interest::READ.edge();
        epoll.add(far.as_fd(), 1, edge).unwrap();
        let told = || {
            let mut events = Events::with_capacity(4);
            epoll.wait(&mut events, Some(0)).unwrap();
            events.iter().count()
        };
        assert_eq!(told(), 0);
        near.write_all(b"some").unwrap();
        assert_eq!((told(), told()), (1, 0));
        near.write_all(b"more").unwrap();
        assert_eq!((told(), told()), (1, 0));
        epoll.modify(far.as_fd(), 1, edge).unwrap();
        assert_eq!((told(), told()), (1, 0));
    }
}
