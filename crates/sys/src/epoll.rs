//! Readiness: one epoll instance, waits in nanoseconds.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use crate::listener::BusyPoll;
use crate::{check, opened};

/// What to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(u32);

impl Interest {
    /// Bytes to read, or a peer that hung up; told for as long as that is so.
    pub const READ: Self = Self((libc::EPOLLIN | libc::EPOLLRDHUP) as u32);
    /// As [`Self::READ`], and room to write.
    pub const READ_WRITE: Self = Self((libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP) as u32);
    /// Room to write.
    pub const WRITE: Self = Self(libc::EPOLLOUT as u32);

    /// Told of each change, not for as long as a state lasts: whoever is told must read until a
    /// read comes up short. Saves the kernel a second look at every descriptor that it told of.
    #[must_use]
    pub const fn on_change(self) -> Self {
        Self(self.0 | libc::EPOLLET as u32)
    }

    /// Told when something new has happened, not for as long as it is so: the kernel need not
    /// look again at what was told. The owner must use up what is there, or set this again.
    #[must_use]
    pub const fn edge(self) -> Self {
        Self(self.0 | libc::EPOLLET as u32)
    }

    /// Told once, then silent until it is set again.
    #[must_use]
    pub const fn once(self) -> Self {
        Self(self.0 | libc::EPOLLONESHOT as u32)
    }
}

/// One thing that happened: the token given at registration and what it is ready for.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The peer is gone or the socket failed; a read tells which.
    pub hung_up: bool,
    /// The socket failed, or its error queue has something to tell.
    pub has_report: bool,
    /// The peer will send no more.
    pub has_ended: bool,
}

impl Event {
    #[inline]
    fn from_raw(event: &libc::epoll_event) -> Self {
        let flags = event.events;
        let any = |wanted: libc::c_int| flags & wanted as u32 != 0;
        Self {
            token: event.u64,
            readable: any(libc::EPOLLIN),
            writable: any(libc::EPOLLOUT),
            hung_up: any(libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP),
            has_report: any(libc::EPOLLERR),
            has_ended: any(libc::EPOLLHUP | libc::EPOLLRDHUP),
        }
    }
}

/// Room for the events of one wait; made once and used again.
pub struct Events {
    raw: Vec<libc::epoll_event>,
    filled: usize,
}

impl Events {
    /// Room for so many events a wait.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            raw: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)],
            filled: 0,
        }
    }

    /// What the last wait found.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.raw[..self.filled].iter().map(Event::from_raw)
    }

    /// One of the things that the last wait found, by its place; `None` after the last one.
    #[inline]
    #[must_use]
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
        // SAFETY: no pointers; the descriptor that comes back is ours alone.
        let fd = unsafe { opened(libc::epoll_create1(libc::EPOLL_CLOEXEC)) }?;
        Ok(Self { fd })
    }

    /// Starts to watch a descriptor. Closing it ends the watch.
    ///
    /// # Errors
    /// `EEXIST` when it is watched already.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what a watched descriptor is watched for.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn modify(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Stops to watch a descriptor.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest(0))
    }

    /// Has waits look at the device first, for sockets whose packets come by one
    /// (`EPIOCSPARAMS`, Linux 6.9).
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

    fn control(
        &self,
        operation: libc::c_int,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: interest.0,
            u64: token,
        };
        // SAFETY: both descriptors are open (one owned, one borrowed); `event` outlives the call.
        check(unsafe {
            libc::epoll_ctl(
                self.fd.as_raw_fd(),
                operation,
                fd.as_raw_fd(),
                &raw mut event,
            )
        })?;
        Ok(())
    }

    /// Waits until something happens or the time is over; `None` waits for ever. A signal ends
    /// the wait early with no events.
    ///
    /// # Errors
    /// `ENOSYS` before Linux 5.11, which has no `epoll_pwait2`.
    pub fn wait(&self, events: &mut Events, timeout_ns: Option<u64>) -> io::Result<()> {
        let timeout = timeout_ns.map(timespec);
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        let capacity = libc::c_long::try_from(events.raw.len()).unwrap_or(libc::c_long::MAX);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the buffer holds `capacity` events and `timeout` is null or a timespec that
        // lives to the end of this function; both outlive the call. A null mask needs no size.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                libc::c_long::from(self.fd.as_raw_fd()),
                events.raw.as_mut_ptr(),
                capacity,
                timeout,
                no_mask,
                0_usize,
            )
        };
        events.filled = usize::try_from(found).unwrap_or(0);
        if found >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            Ok(())
        } else {
            Err(error)
        }
    }
}

#[expect(
    clippy::cast_possible_wrap,
    reason = "a remainder below 1e9 fits every c_long"
)]
fn timespec(duration_ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (duration_ns % 1_000_000_000) as libc::c_long,
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
