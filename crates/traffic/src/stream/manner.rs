//! How an end sends and receives: what both agreed on, and what each does by itself.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sys::address::Address;
use sys::{bulk, datagram, listener, socket};
use wire::iperf3::Parameters;

use super::{Carrier, ReceiveBy, SendBy, StreamError};

/// A worker sees that it is over within so much.
const TURN: Duration = Duration::from_millis(100);
/// For datagrams that have come and were not taken yet.
const DATAGRAM_ROOM_BYTES: i32 = 4 << 20;
/// iperf3's, where a client says none.
const USUAL_WRITE_BYTES: u32 = 128 * 1024;

/// The options by which buffers are asked for.
const BUFFERS: &str = "SO_SNDBUF and SO_RCVBUF";

/// Of every stream of a test.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) carrier: Carrier,
    pub(super) write_bytes: usize,
    pub(super) send: SendBy,
    pub(super) receive: ReceiveBy,
    pub(super) rate_bits: u64,
    /// Numbers of datagrams have 64 bits.
    pub(super) is_wide: bool,
    pace_bits: u64,
    congestion: Option<String>,
    segment_bytes: u32,
    type_of_service: u8,
    buffer_bytes: u32,
    no_delay: bool,
    /// It is between ends of ours, which have buffers as they were asked for or none.
    is_exact: bool,
}

impl Manner {
    /// As a client asked for it.
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

    /// What a socket among the files can do of it.
    pub(super) fn over(self, address: &Address) -> Self {
        match address {
            Address::Tcp(_) => self,
            // Nothing is thrown away within it, and nothing is sent in place.
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

    /// What must be said before a connection is there: the window's scale and the segments follow from it.
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
            // iperf3 counts what the kernel adds for itself.
            false => 2 * bytes >= wanted,
        };
        match held.iter().find(|bytes| !fits(bytes)) {
            None => Ok(()),
            Some(bytes) => Err(refused(BUFFERS)(io::Error::other(format!(
                "the kernel has {bytes} bytes for it in the place of {wanted}; ask for as many, or see \
                 net.core.wmem_max and net.core.rmem_max"
            )))),
        }
    }

    /// What holds from now on, of a connection that is there.
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

    /// The same of a socket of datagrams.
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
