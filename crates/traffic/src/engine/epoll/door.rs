//! Taking new connections, and ceasing to when there is no room for more.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use sys::epoll::{Epoll, Interest};
use sys::socket;

/// Connections taken at one go, so that a burst of them does not keep the others waiting.
const BURST: usize = 16;

/// A listener that is watched only while there is room: left in the epoll set it would be ready
/// all the time and keep the worker spinning. What waits, waits in the kernel's backlog.
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

    /// Takes what waits, up to a burst or the room there is.
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
                // Out of descriptors or memory, most likely: try again when a connection has
                // closed or a second has gone by.
                Err(_) => return self.shut(epoll),
            }
        }
        if room <= BURST {
            self.shut(epoll)
        } else {
            Ok(())
        }
    }

    /// Lets connections in again; nothing to do when it is open.
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
