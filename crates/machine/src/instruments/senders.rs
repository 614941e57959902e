//! Why a server's connections sent no faster, by the kernel's own account of each connection.

use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use sys::tcp_info::TcpInfo;

/// The port of the other end, and the kernel's counters of the connection to it.
type SendingEnd = (u16, TcpInfo);

/// Reads the sending side of the connections to a local port at both ends of a window.
#[derive(Debug)]
pub struct SenderWatch {
    port: u16,
    opened: io::Result<Vec<SendingEnd>>,
    closed: io::Result<Vec<SendingEnd>>,
}

/// Increase of the counters within the window, added up over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderReading {
    /// Connections that existed at the end of the window.
    pub connections: u64,
    /// Connections that were opened or closed within the window; what the closed ones carried is
    /// unknown.
    pub changes: u64,
    /// Bytes that the other ends acknowledged.
    pub acked_bytes: u64,
    /// Time in which there was data to send or to be acknowledged, µs.
    pub busy_us: u64,
    /// Part of the busy time in which the receiver's window allowed no more to be sent, µs.
    pub rwnd_limited_us: u64,
    /// Part of the busy time in which the sender's own buffer had no room for more, µs.
    pub sndbuf_limited_us: u64,
}

/// Begins a window for the servers that listen on these addresses, one watch for each port.
#[must_use]
pub fn open_for(listens: &[SocketAddr]) -> Vec<SenderWatch> {
    let mut ports: Vec<u16> = listens.iter().map(SocketAddr::port).collect();
    ports.sort_unstable();
    ports.dedup();
    let mut watches: Vec<SenderWatch> = ports.into_iter().map(SenderWatch::new).collect();
    watches.iter_mut().for_each(SenderWatch::open);
    watches
}

impl SenderWatch {
    /// Watches the server on this port of this machine, in our network namespace.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self {
            port,
            opened: Ok(Vec::new()),
            closed: Ok(Vec::new()),
        }
    }

    /// Begins the window.
    pub fn open(&mut self) {
        self.opened = TcpInfo::of_port(self.port);
    }

    /// Ends the window.
    pub fn close(&mut self) {
        self.closed = TcpInfo::of_port(self.port);
    }

    /// What the counters rose by within the window; `None` where the kernel does not report them,
    /// or no connection was left.
    #[must_use]
    pub fn reading(&self) -> Option<SenderReading> {
        let opened = self.opened.as_ref().ok()?;
        let closed = self.closed.as_ref().ok().filter(|all| !all.is_empty())?;
        Some(between(opened, closed))
    }
}

/// Adds up the increases of all connections. One that was opened within the window counts from its
/// start.
fn between(opened: &[SendingEnd], closed: &[SendingEnd]) -> SenderReading {
    let mut sum = SenderReading::default();
    let mut stayed = 0;
    for (port, end) in closed {
        let same = |(of, begin): &&SendingEnd| of == port && begin.busy_us <= end.busy_us;
        let found = opened.iter().find(same);
        stayed += usize::from(found.is_some());
        let (_, begin) = found.copied().unwrap_or_default();
        sum.connections += 1;
        sum.acked_bytes += end.acked_bytes.saturating_sub(begin.acked_bytes);
        sum.busy_us += end.busy_us.saturating_sub(begin.busy_us);
        sum.rwnd_limited_us += end.rwnd_limited_us.saturating_sub(begin.rwnd_limited_us);
        sum.sndbuf_limited_us += end
            .sndbuf_limited_us
            .saturating_sub(begin.sndbuf_limited_us);
    }
    sum.changes = (opened.len() + closed.len() - 2 * stayed) as u64;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_within_the_window_counts_and_a_port_used_again_is_another_connection() {
        let sending = |peer_port, busy_us, rwnd_limited_us| {
            let info = TcpInfo {
                acked_bytes: 10 * busy_us,
                busy_us,
                rwnd_limited_us,
                sndbuf_limited_us: 1,
                ..TcpInfo::default()
            };
            (peer_port, info)
        };
        let opened = [sending(1, 100, 40), sending(2, 900, 800), sending(3, 5, 5)];
        let closed = [sending(1, 300, 90), sending(2, 50, 30)];
        let expected = SenderReading {
            connections: 2,
            // The third was closed; so was the second, and another was opened.
            changes: 3,
            acked_bytes: 10 * (200 + 50),
            busy_us: 200 + 50,
            rwnd_limited_us: 50 + 30,
            sndbuf_limited_us: 1,
        };
        assert_eq!(between(&opened, &closed), expected);
    }
}
