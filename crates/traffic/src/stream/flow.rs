//! A stream at one end: its socket, and what has gone through it so far.

use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use wire::iperf3::StreamResult;

use super::{Carrier, Way};

#[derive(Debug)]
pub(super) enum FlowSocket {
    /// Also one among the files, of which the kernel tells less.
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
    /// Both ends, the own one first.
    fn addresses(&self) -> Option<[SocketAddr; 2]> {
        let [local, remote] = match self {
            Self::Tcp(socket) => [socket.local_addr(), socket.peer_addr()],
            Self::Udp(socket) => [socket.local_addr(), socket.peer_addr()],
        };
        Some([local.ok()?, remote.ok()?])
    }
}

/// One of them.
#[derive(Debug)]
pub(super) struct Flow {
    /// As iperf3 numbers it.
    pub(super) id: u32,
    pub(super) way: Way,
    pub(super) sends: bool,
    pub(super) socket: FlowSocket,
    /// As they were at the begin: a connection that the other end has closed has none.
    pub(super) addresses: Option<[SocketAddr; 2]>,
    pub(super) count: FlowCount,
}

/// Written by the worker alone, and on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct FlowCount {
    /// Sent or received.
    pub(super) bytes: AtomicU64,
    /// Datagrams sent, or the highest number that came.
    pub(super) datagrams: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) late: AtomicU64,
    /// By RFC 1889, ns.
    pub(super) jitter_ns: AtomicU64,
    /// Of sends in place, those that the kernel copied after all, and all.
    pub(super) copied: AtomicU64,
    pub(super) in_place: AtomicU64,
}

impl FlowCount {
    /// Of a worker that is the only one to count.
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

    /// Says that no more comes: who reads whole blocks waits for the rest of the last one otherwise.
    pub(super) fn finish(&self) {
        if let (true, FlowSocket::Tcp(socket)) = (self.sends, &self.socket) {
            // Where the other end has gone, it knows.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Wakes a worker that waits for more of a connection; of a socket among the files the other end would be told.
    pub(super) fn take_no_more(&self, carrier: Carrier) {
        if let (false, Carrier::Tcp, FlowSocket::Tcp(socket)) = (self.sends, carrier, &self.socket)
        {
            let _ = socket.shutdown(Shutdown::Read);
        }
    }

    /// As it is told to the other end.
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
