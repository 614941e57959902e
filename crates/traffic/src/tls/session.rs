//! One connection under TLS: records in, the service's bytes out, and the other way.

use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use rustls::server::UnbufferedServerConnection;
use sys::{ktls, send_buffer};

use super::config::Config;
use super::end::{End, PIECE_BYTES, room_for_piece};
use super::kernel::{self, Handover, InKernel};
use crate::engine::FilePart;
use crate::engine::channel::{Channel, Clear, Received};
use crate::engine::transfer::Transfer;

/// Room for records received and not yet read; a client's first message must fit.
const INCOMING_BYTES: usize = 64 * 1024;
/// Most bytes of a file that the kernel holds for a client on this machine: about two pieces. Such
/// a client reads them from the caches of our CPU. More would grow cold before it is read, and
/// would leave only when the client acknowledges. Two segments must fit, because a receiver may
/// wait for the second before it acknowledges (RFC 5681 §4.2).
const NEAR_SEND_BYTES: usize = 192 * 1024;
/// Estimated memory of a session, with its keys and what is left of its handshake.
const SESSION_BYTES: usize = 16 * 1024;
/// The answer to a client that speaks HTTP without TLS.
const NOT_TLS: &str = "HTTP/1.1 400 Bad Request\r\nServer: linerate\r\nContent-Type: text/plain\r\n\
                       Content-Length: 40\r\nConnection: close\r\n\r\n\
                       This port speaks TLS: ask for https://.\n";

/// What the connections of a worker share: how TLS is spoken, and room that none needs for long.
pub struct Common {
    config: Config,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    piece: Vec<u8>,
}

impl Common {
    pub fn new(config: Config) -> Self {
        Self {
            incoming: vec![0; INCOMING_BYTES],
            outgoing: room_for_piece(config.content_bytes()),
            piece: vec![0; PIECE_BYTES],
            config,
        }
    }
}

/// TLS over a socket.
pub struct Secured {
    clear: Clear,
    end: End<UnbufferedServerConnection>,
    /// When the kernel gets the session; `kernel` has its state once that is done.
    handover: Handover,
    kernel: Option<InKernel>,
    /// Nothing was received so far.
    is_new: bool,
    /// A file was sent through our own memory.
    sends_files: bool,
}

impl Channel for Secured {
    type Common = Common;

    fn new(socket: TcpStream, common: &Common) -> io::Result<Self> {
        let session = UnbufferedServerConnection::new(common.config.server.clone());
        Ok(Self {
            clear: Clear::new(socket, &())?,
            end: End::new(session.map_err(io::Error::other)?),
            handover: common.config.handover,
            kernel: None,
            is_new: true,
            sends_files: false,
        })
    }

    fn socket(&self) -> &TcpStream {
        self.clear.socket()
    }

    fn receive<T: Transfer>(
        &mut self,
        common: &mut Common,
        transfer: &mut T,
        room: &mut [u8],
    ) -> io::Result<Received> {
        if let Some(kernel) = &mut self.kernel {
            return kernel.receive(self.clear.socket(), room);
        }
        // What is decrypted is shorter than what was received, so the room for it suffices.
        let most = INCOMING_BYTES.min(room.len());
        let incoming = &mut common.incoming[..most];
        let socket = self.clear.socket().as_fd();
        let Some(arrived) = self.end.receive(transfer, socket, incoming)? else {
            return Ok(Received::Nothing);
        };
        if arrived.is_last {
            return Ok(Received::End);
        }
        Ok(match self.read(&mut incoming[..arrived.bytes], room) {
            None => Received::Refused,
            Some(0) if self.end.has_ended() => Received::End,
            Some(count) => Received::Bytes {
                count,
                perhaps_more: arrived.perhaps_more,
            },
        })
    }

    fn send<T: Transfer>(
        &mut self,
        common: &mut Common,
        transfer: &mut T,
        bytes: &[u8],
        more: bool,
    ) -> io::Result<usize> {
        if let Some(kernel) = &mut self.kernel {
            kernel.take_leave(self.clear.socket())?;
            return match bytes {
                [] => Ok(0),
                bytes => self.clear.send(&mut (), transfer, bytes, more),
            };
        }
        let socket = self.clear.socket().as_fd();
        let outgoing = &mut common.outgoing;
        let taken = self.end.send(transfer, socket, outgoing, bytes, more)?;
        if self.handover == Handover::AtOnce && taken > 0 {
            self.hand_over::<T>(common)?;
        }
        Ok(taken)
    }

    fn send_file<T: Transfer>(
        &mut self,
        common: &mut Common,
        transfer: &mut T,
        part: &FilePart,
        most_bytes: usize,
    ) -> io::Result<usize> {
        self.hand_over::<T>(common)?;
        if self.kernel.is_some() {
            return self.clear.send_file(&mut (), transfer, part, most_bytes);
        }
        if !std::mem::replace(&mut self.sends_files, true) {
            hold_little_for_the_near(self.clear.socket());
        }
        let socket = self.clear.socket().as_fd();
        self.end.send_unsent(transfer, socket)?;
        let mut taken = 0;
        while taken < most_bytes && !self.end.has_output() {
            let most = PIECE_BYTES.min(most_bytes - taken);
            let piece = &mut common.piece[..most];
            let count = part.file.read_at(piece, part.offset + taken as u64)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let piece = &common.piece[..count];
            taken += self
                .end
                .send(transfer, socket, &mut common.outgoing, piece, false)?;
        }
        Ok(taken)
    }

    fn discard<T: Transfer>(&mut self, transfer: &mut T, room: &mut [u8]) -> bool {
        match self.kernel {
            Some(_) => InKernel::discard(self.clear.socket(), room),
            None => self.clear.discard(transfer, room),
        }
    }

    fn has_output(&self) -> bool {
        self.end.has_output() || self.kernel.as_ref().is_some_and(InKernel::has_output)
    }

    fn held_bytes(&self) -> usize {
        let session = if self.kernel.is_some() {
            0
        } else {
            SESSION_BYTES
        };
        session + self.end.held_bytes()
    }

    fn is_mid_message(&self) -> bool {
        self.end.has_leftover() || !self.is_new && self.end.is_handshaking()
    }

    fn has_ended(&self) -> bool {
        self.end.has_ended()
    }

    fn say_goodbye<T: Transfer>(&mut self, common: &mut Common, transfer: &mut T) {
        if let Some(kernel) = &mut self.kernel {
            return kernel.say_goodbye(self.clear.socket());
        }
        let room = &mut common.outgoing;
        let queued = self.end.write(|traffic| traffic.queue_close_notify(room));
        if let Ok(count) = queued {
            // The connection ends in any case.
            let (socket, records) = (self.clear.socket().as_fd(), &common.outgoing[..count]);
            let _ = self.end.send_records(transfer, socket, records, false);
        }
    }
}

impl Secured {
    /// Reads records and returns the bytes of their content; `None` when the peer broke the rules.
    fn read(&mut self, incoming: &mut [u8], room: &mut [u8]) -> Option<usize> {
        if std::mem::take(&mut self.is_new) && is_http(incoming) {
            self.end.say_in_clear(NOT_TLS);
            return None;
        }
        self.end.read(incoming, room).ok()
    }

    /// Gives the kernel the session, if it is to have it and can, and if nothing of it is under way
    /// here. Something was written since the last read, so what the session had to say after that
    /// read has been sent.
    fn hand_over<T: Transfer>(&mut self, common: &Common) -> io::Result<()> {
        if self.handover == Handover::Never || !T::IS_AT_ONCE || !self.end.is_at_rest() {
            return Ok(());
        }
        let socket = self.clear.socket();
        let agreed = self.end.state();
        let suite = agreed.and_then(|agreed| common.config.offer().suite(agreed));
        // This fails if the peer has gone, for one; the session is as it was.
        let Some(suite) = suite.filter(|_| ktls::attach(socket.as_fd()).is_ok()) else {
            self.handover = Handover::Never;
            return Ok(());
        };
        if let Some(session) = self.end.take_session() {
            kernel::hand_over(socket, session, suite)?;
            self.kernel = Some(InKernel::default());
        }
        Ok(())
    }
}

/// Bounds what the kernel holds for a peer within the machine: such a path carries at once what is
/// sent, so that little suffices to fill it. If the kernel does not accept the bound, it holds as
/// much as it likes.
fn hold_little_for_the_near(socket: &TcpStream) {
    if let (Ok(here), Ok(there)) = (socket.local_addr(), socket.peer_addr())
        && are_of_one_machine(here.ip(), there.ip())
    {
        let _ = send_buffer::bound(socket.as_fd(), NEAR_SEND_BYTES);
    }
}

/// Whether both ends of a connection have an address of loopback, or the same address.
fn are_of_one_machine(here: IpAddr, there: IpAddr) -> bool {
    let [here, there] = [here, there].map(|end| end.to_canonical());
    here == there || here.is_loopback() && there.is_loopback()
}

/// Whether a client begins with the name of a method where a record should be.
fn is_http(incoming: &[u8]) -> bool {
    incoming.first().is_some_and(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_stays_on_the_machine_is_taken_for_a_short_one() {
        let are_near = |here: &str, there: &str| {
            are_of_one_machine(here.parse().unwrap(), there.parse().unwrap())
        };
        assert!(are_near("127.0.0.1", "127.0.0.3"));
        assert!(are_near("::ffff:127.0.0.1", "127.0.0.1"));
        assert!(are_near("::1", "::1"));
        assert!(are_near("192.0.2.1", "192.0.2.1"));
        assert!(!are_near("192.0.2.1", "192.0.2.2"));
        assert!(!are_near("127.0.0.1", "192.0.2.1"));
    }
}
