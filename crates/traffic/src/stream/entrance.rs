//! Accepts connections that have not sent a cookie yet. They have no thread, because a client need
//! not say a word. Each has limited time to send its cookie; where they are too many, the one that
//! has been silent for longest is closed.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use sys::address::Address;
use sys::epoll::{Epoll, Events, Interest};
use sys::{clock, socket};
use wire::iperf3::{COOKIE_BYTES, Cookie};

use super::control::PATIENCE;
use super::door::Arrival;

/// Most connections that may be silent at once.
const MOST_SILENT: usize = 256;
/// Most connections accepted in a row before those that are silent are read again.
const MOST_IN_A_ROW: usize = 64;
/// Longest wait before the server checks whether it is to stop, ns.
const LOOK_NS: u64 = 50_000_000;
/// Pause before the next try if the machine has no descriptor or no memory for a connection, ns.
const LATER_NS: u64 = 50_000_000;
/// Token of the listener. The token of a connection is its place in the order of arrival, from 1.
const LISTENER: u64 = 0;

#[derive(Debug)]
struct Silent {
    stream: TcpStream,
    client: Address,
    cookie: Cookie,
    filled: usize,
    until_ns: u64,
}

pub(super) struct Entrance<'a> {
    listener: &'a TcpListener,
    address: &'a Address,
    epoll: Epoll,
    events: Events,
    /// Silent connections in the order of arrival, which is also that of their deadlines.
    silent: BTreeMap<u64, Silent>,
    order: u64,
}

impl<'a> Entrance<'a> {
    pub(super) fn open(listener: &'a TcpListener, address: &'a Address) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_fd(), LISTENER, Interest::READ)?;
        Ok(Self {
            listener,
            address,
            epoll,
            events: Events::with_capacity(MOST_SILENT),
            silent: BTreeMap::new(),
            order: LISTENER,
        })
    }

    /// Waits a moment, and returns the connections that have sent their cookie.
    pub(super) fn wait(&mut self) -> io::Result<Vec<Arrival>> {
        self.epoll.wait(&mut self.events, Some(LOOK_NS))?;
        let mut tokens: Vec<u64> = self.events.iter().map(|event| event.token).collect();
        tokens.sort_unstable();
        let shown = tokens
            .iter()
            .filter_map(|token| self.hear(*token))
            .collect();
        let now_ns = clock::monotonic_ns();
        while let Some(oldest) = self.silent.first_entry() {
            if oldest.get().until_ns > now_ns {
                break;
            }
            oldest.remove();
        }
        if tokens.contains(&LISTENER) {
            self.let_in();
        }
        Ok(shown)
    }

    fn let_in(&mut self) {
        for _ in 0..MOST_IN_A_ROW {
            match socket::accept(self.listener.as_fd()) {
                Ok(Some(accepted)) => self.add(TcpStream::from(accepted)),
                // A connection closed before it was accepted counts as none: those behind it are
                // reported again.
                Ok(None) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.silent.pop_first();
                    return clock::sleep_until_ns(clock::monotonic_ns() + LATER_NS);
                }
            }
        }
    }

    fn add(&mut self, stream: TcpStream) {
        // A client of a Unix socket has no address of its own.
        let client = stream
            .peer_addr()
            .map_or_else(|_| self.address.clone(), Address::Tcp);
        if self.silent.len() >= MOST_SILENT {
            self.silent.pop_first();
        }
        self.order += 1;
        let watched = self.epoll.add(stream.as_fd(), self.order, Interest::READ);
        // A connection that cannot be watched is closed.
        if watched.is_ok() {
            let patience_ns = u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
            let silent = Silent {
                stream,
                client,
                cookie: [0; COOKIE_BYTES],
                filled: 0,
                until_ns: clock::monotonic_ns() + patience_ns,
            };
            self.silent.insert(self.order, silent);
        }
    }

    /// Reads from a silent connection; returns it once its cookie is whole.
    fn hear(&mut self, order: u64) -> Option<Arrival> {
        use io::ErrorKind::{Interrupted, WouldBlock};
        let silent = self.silent.get_mut(&order)?;
        match silent.stream.read(&mut silent.cookie[silent.filled..]) {
            Err(error) if [Interrupted, WouldBlock].contains(&error.kind()) => return None,
            Ok(count) if count > 0 => {
                silent.filled += count;
                if silent.filled < COOKIE_BYTES {
                    return None;
                }
            }
            // A client that goes without a word has no test that could fail.
            _ => {
                self.silent.remove(&order);
                return None;
            }
        }
        let Silent {
            stream,
            client,
            cookie,
            ..
        } = self.silent.remove(&order)?;
        let is_ready = self.epoll.remove(stream.as_fd());
        is_ready.and_then(|()| stream.set_nonblocking(false)).ok()?;
        Some(Arrival {
            order,
            stream,
            client,
            cookie,
        })
    }
}
