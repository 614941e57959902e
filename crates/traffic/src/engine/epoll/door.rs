//! Accepting new connections, and pausing when there is no room for more.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use sys::epoll::{Epoll, Interest};
use sys::socket;

/// Connections accepted at one go; limited so that a burst of them does not keep the others
/// waiting.
const BURST: usize = 16;

/// A listener that is watched only while there is room. Left in the epoll set it would be ready all
/// the time and keep the worker spinning. Further connections wait in the kernel's backlog.
pub(super) struct Door {
    listener: TcpListener,
    token: u64,
    open: bool,
}

impl Door {
    pub(super) fn new(listener: TcpListener, token: u64, epoll: &Epoll) -> io::Result<Self> {
        epoll.add(listener.as_fd(), token, Interest::READ)?;
        Ok(Self {
            listener,
            token,
            open: true,
        })
    }

    /// Accepts waiting connections, up to a burst or as many as there is room for.
    pub(super) fn admit(
        &mut self,
        epoll: &Epoll,
        room: usize,
        mut welcome: impl FnMut(TcpStream),
    ) -> io::Result<()> {
        for _ in 0..BURST.min(room) {
            match socket::accept(self.listener.as_fd()) {
                Ok(Some(socket)) => welcome(TcpStream::from(socket)),
                Ok(None) => return Ok(()),
                // Most likely out of descriptors or memory: try again when a connection has closed
                // or a second has passed.
                Err(_) => return self.shut(epoll),
            }
        }
        if room <= BURST {
            self.shut(epoll)
        } else {
            Ok(())
        }
    }

    /// Watches the listener again; does nothing when it is open.
    pub(super) fn reopen(&mut self, epoll: &Epoll) -> io::Result<()> {
        if !self.open {
            epoll.add(self.listener.as_fd(), self.token, Interest::READ)?;
            self.open = true;
        }
        Ok(())
    }

    fn shut(&mut self, epoll: &Epoll) -> io::Result<()> {
        if self.open {
            epoll.remove(self.listener.as_fd())?;
            self.open = false;
        }
        Ok(())
    }
}
