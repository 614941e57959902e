//! A stream at one end: its socket, and what has gone through it so far.

use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use wire::iperf3::StreamResult;

use super::{Carrier, Way};

#[derive(Debug)]
pub(super) enum FlowSocket {
    /// A connection of TCP, or of a Unix socket, of which the kernel reports less.
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl AsFd for FlowSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}

impl FlowSocket {
    /// Addresses of both ends, our own first.
    fn addresses(&self) -> Option<[SocketAddr; 2]> {
        let [local, remote] = match self {
            Self::Tcp(socket) => [socket.local_addr(), socket.peer_addr()],
            Self::Udp(socket) => [socket.local_addr(), socket.peer_addr()],
        };
        Some([local.ok()?, remote.ok()?])
    }
}

/// A stream at one end.
#[derive(Debug)]
pub(super) struct Flow {
    /// The number that iperf3 gives it.
    pub(super) id: u32,
    pub(super) way: Way,
    pub(super) sends: bool,
    pub(super) socket: FlowSocket,
    /// Addresses of both ends, read at the beginning: a connection that the other end has closed
    /// has none.
    pub(super) addresses: Option<[SocketAddr; 2]>,
    pub(super) count: FlowCount,
}

/// The counts of a flow. Only its worker writes them, and they have cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct FlowCount {
    /// Bytes sent or received.
    pub(super) bytes: AtomicU64,
    /// Datagrams sent, or the highest number received.
    pub(super) datagrams: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) late: AtomicU64,
    /// Jitter by RFC 1889, ns.
    pub(super) jitter_ns: AtomicU64,
    /// Sends in place that the kernel copied after all; `in_place` counts all sends in place.
    pub(super) copied: AtomicU64,
    pub(super) in_place: AtomicU64,
}

impl FlowCount {
    /// Adds bytes. Only the flow's worker may call it.
    pub(super) fn add(&self, bytes: usize) {
        let before = self.bytes.load(Ordering::Relaxed);
        self.bytes.store(before + bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Flow {
    pub(super) fn new(id: u32, way: Way, sends: bool, socket: FlowSocket) -> Self {
        let count = FlowCount::default();
        let addresses = socket.addresses();
        Self {
            id,
            way,
            sends,
            socket,
            addresses,
            count,
        }
    }

    /// Tells the other end that no more comes: a reader of whole blocks would wait for the rest of
    /// the last one.
    pub(super) fn finish(&self) {
        if let (true, FlowSocket::Tcp(socket)) = (self.sends, &self.socket) {
            // If this fails, the other end has gone and needs no word.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Wakes a worker that waits for more from a TCP connection. With a Unix socket the other end
    /// would notice.
    pub(super) fn take_no_more(&self, carrier: Carrier) {
        if let (false, Carrier::Tcp, FlowSocket::Tcp(socket)) = (self.sends, carrier, &self.socket)
        {
            let _ = socket.shutdown(Shutdown::Read);
        }
    }

    /// The result of the stream, as it is sent to the other end.
    pub(super) fn result(&self, seconds: f64, retransmits: Option<u32>) -> StreamResult {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StreamResult {
            id: self.id.into(),
            bytes: self.count.bytes(),
            retransmits: retransmits.map_or(-1.0, f64::from),
            jitter: of(&self.count.jitter_ns) as f64 / 1e9,
            errors: of(&self.count.lost) as f64,
            packets: of(&self.count.datagrams),
            start_time: 0.0,
            end_time: seconds,
        }
    }
}
