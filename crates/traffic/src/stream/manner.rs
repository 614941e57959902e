//! How an end sends and receives: what both ends agreed on, and what each decides by itself.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sys::address::Address;
use sys::{bulk, datagram, listener, socket};
use wire::iperf3::Parameters;

use super::{Carrier, ReceiveBy, SendBy, StreamError};

/// Longest wait of a worker until it sees that the test is over.
const TURN: Duration = Duration::from_millis(100);
/// Receive buffer for datagrams that have come and were not read yet, bytes.
const DATAGRAM_ROOM_BYTES: i32 = 4 << 20;
/// Bytes of a write for a client that names none, as in iperf3.
const USUAL_WRITE_BYTES: u32 = 128 * 1024;

/// The socket options that set the sizes of buffers.
const BUFFERS: &str = "SO_SNDBUF and SO_RCVBUF";

/// How every stream of a test sends and receives.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) carrier: Carrier,
    pub(super) write_bytes: usize,
    pub(super) send: SendBy,
    pub(super) receive: ReceiveBy,
    pub(super) rate_bits: u64,
    /// The numbers of datagrams have 64 bits.
    pub(super) is_wide: bool,
    pace_bits: u64,
    congestion: Option<String>,
    segment_bytes: u32,
    type_of_service: u8,
    buffer_bytes: u32,
    no_delay: bool,
    /// Both ends are ours: buffers have exactly the size asked for, or the test is refused.
    is_exact: bool,
}

impl Manner {
    /// The manner that a client asked for.
    pub(super) fn of(asked: &Parameters, send: SendBy, receive: ReceiveBy) -> Self {
        let short = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let write_bytes = match short(asked.len) {
            0 => USUAL_WRITE_BYTES,
            bytes => bytes,
        };
        Self {
            carrier: if asked.udp {
                Carrier::Udp
            } else {
                Carrier::Tcp
            },
            write_bytes: write_bytes as usize,
            send,
            receive,
            rate_bits: asked.bandwidth,
            is_wide: asked.udp_counters_64bit != 0,
            pace_bits: asked.fqrate,
            congestion: asked.congestion.clone(),
            segment_bytes: short(asked.mss),
            type_of_service: u8::try_from(asked.tos).unwrap_or(0),
            buffer_bytes: short(asked.window),
            no_delay: asked.nodelay,
            is_exact: asked.linerate.is_some(),
        }
    }

    /// Adapts the manner to the address: a Unix socket can do less.
    pub(super) fn over(self, address: &Address) -> Self {
        match address {
            Address::Tcp(_) => self,
            // A Unix socket can neither discard within the kernel nor send in place.
            Address::Unix(_) => Self {
                carrier: Carrier::Unix,
                receive: ReceiveBy::Copy,
                send: match self.send {
                    SendBy::Zerocopy => SendBy::Copy,
                    send => send,
                },
                ..self
            },
        }
    }

    /// Sets what must be set before a connection exists: the window's scale and the segments follow
    /// from it.
    pub(super) fn prepare(&self, socket: BorrowedFd<'_>) -> Result<(), StreamError> {
        if self.segment_bytes > 0 {
            let set = bulk::set_segment_bytes(socket, self.segment_bytes);
            set.map_err(refused("TCP_MAXSEG"))?;
        }
        self.size(socket)
    }

    fn size(&self, socket: BorrowedFd<'_>) -> Result<(), StreamError> {
        if self.buffer_bytes == 0 {
            return Ok(());
        }
        let wanted = self.buffer_bytes as usize;
        let buffers = bulk::set_buffers(socket, self.buffer_bytes);
        let held = buffers.map_err(refused(BUFFERS))?;
        let fits = |bytes: &usize| match self.is_exact {
            true => *bytes == wanted,
            // iperf3 also counts what the kernel adds for itself.
            false => 2 * bytes >= wanted,
        };
        match held.iter().find(|bytes| !fits(bytes)) {
            None => Ok(()),
            Some(bytes) => Err(refused(BUFFERS)(io::Error::other(format!(
                "the kernel gives it {bytes} bytes instead of {wanted}; ask for that many, or see \
                 net.core.wmem_max and net.core.rmem_max"
            )))),
        }
    }

    /// Sets the options of an existing connection.
    pub(super) fn apply(&self, connection: &TcpStream) -> Result<(), StreamError> {
        let socket = connection.as_fd();
        self.size(socket)?;
        if self.carrier == Carrier::Unix {
            return bulk::set_patience(socket, TURN).map_err(refused("SO_SNDTIMEO"));
        }
        if let Some(name) = &self.congestion {
            let set = socket::set_congestion_control(socket, name);
            set.map_err(refused(&format!(
                "the congestion control `{name}` (net.ipv4.tcp_allowed_congestion_control has those that any user may set)"
            )))?;
        }
        if self.no_delay {
            connection
                .set_nodelay(true)
                .map_err(refused("TCP_NODELAY"))?;
        }
        if self.send == SendBy::Zerocopy {
            bulk::allow_in_place(socket).map_err(refused("SO_ZEROCOPY"))?;
        }
        self.mark(socket)
    }

    /// Sets the options of a UDP socket.
    pub(super) fn apply_to_datagrams(&self, socket: BorrowedFd<'_>) -> Result<(), StreamError> {
        self.size(socket)?;
        if self.buffer_bytes == 0 {
            let room = datagram::ask_for_room(socket, DATAGRAM_ROOM_BYTES);
            room.map_err(refused("SO_RCVBUF"))?;
        }
        self.mark(socket)
    }

    fn mark(&self, socket: BorrowedFd<'_>) -> Result<(), StreamError> {
        if self.type_of_service > 0 {
            let set = bulk::set_type_of_service(socket, self.type_of_service);
            set.map_err(refused("IP_TOS"))?;
        }
        if self.pace_bits > 0 {
            let set = listener::pace(socket, (self.pace_bits / 8).max(1));
            set.map_err(|held| refused(held.option)(held.source))?;
        }
        bulk::set_patience(socket, TURN).map_err(refused("SO_SNDTIMEO"))
    }
}

fn refused(option: &str) -> impl FnOnce(io::Error) -> StreamError {
    let option = option.to_owned();
    move |source| StreamError::Option { option, source }
}
