//! One connection under TLS: records in, the service's bytes out, and the other way.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use rustls::server::UnbufferedServerConnection;

use super::config::Config;
use super::end::{End, PIECE_BYTES, room_for_piece};
use crate::engine::FilePart;
use crate::engine::channel::{Channel, Received};
use crate::engine::transfer::Transfer;

/// Records received and not yet understood; a client's first message must fit.
const INCOMING_BYTES: usize = 64 * 1024;
/// To a client that speaks HTTP without TLS.
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
    #[must_use]
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
    socket: TcpStream,
    end: End<UnbufferedServerConnection>,
    /// Nothing was received so far.
    is_new: bool,
}

impl Channel for Secured {
    type Common = Common;

    fn new(socket: TcpStream, common: &Common) -> io::Result<Self> {
        let session = UnbufferedServerConnection::new(common.config.0.clone());
        Ok(Self {
            socket,
            end: End::new(session.map_err(io::Error::other)?),
            is_new: true,
        })
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn receive<T: Transfer>(
        &mut self,
        common: &mut Common,
        transfer: &mut T,
        room: &mut [u8],
    ) -> io::Result<Received> {
        // What is decrypted is shorter than what was received, so the room for it suffices.
        let most = INCOMING_BYTES.min(room.len());
        let incoming = &mut common.incoming[..most];
        let Some(arrived) = self.end.receive(transfer, self.socket.as_fd(), incoming)? else {
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
        let socket = self.socket.as_fd();
        self.end
            .send(transfer, socket, &mut common.outgoing, bytes, more)
    }

    fn send_file<T: Transfer>(
        &mut self,
        common: &mut Common,
        transfer: &mut T,
        part: &FilePart,
        most_bytes: usize,
    ) -> io::Result<usize> {
        let socket = self.socket.as_fd();
        self.end.send_unsent(transfer, socket)?;
        let mut taken = 0;
        while taken < most_bytes && !self.has_output() {
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

    fn has_output(&self) -> bool {
        self.end.has_output()
    }

    fn is_mid_message(&self) -> bool {
        self.end.has_leftover() || !self.is_new && self.end.is_handshaking()
    }

    fn has_ended(&self) -> bool {
        self.end.has_ended()
    }

    fn say_goodbye<T: Transfer>(&mut self, common: &mut Common, transfer: &mut T) {
        let room = &mut common.outgoing;
        let told = self.end.write(|traffic| traffic.queue_close_notify(room));
        if let Ok(count) = told {
            // The connection ends in any case.
            let (socket, records) = (self.socket.as_fd(), &common.outgoing[..count]);
            let _ = self.end.send_records(transfer, socket, records, false);
        }
    }
}

impl Secured {
    /// Bytes of content in what was received; `None` when the peer broke the rules.
    fn read(&mut self, incoming: &mut [u8], room: &mut [u8]) -> Option<usize> {
        if std::mem::take(&mut self.is_new) && is_http(incoming) {
            self.end.say_in_clear(NOT_TLS);
            return None;
        }
        self.end.read(incoming, room).ok()
    }
}

/// Whether a client begins with the name of a method, where a record should be.
fn is_http(incoming: &[u8]) -> bool {
    incoming.first().is_some_and(u8::is_ascii_uppercase)
}
