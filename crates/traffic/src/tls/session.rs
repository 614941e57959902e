//! One connection under TLS: records in, the service's bytes out, and the other way.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::EncryptError;

use super::config::Config;
use super::records::{self, Traffic};
use crate::engine::FilePart;
use crate::engine::channel::{Channel, Received};
use crate::engine::transfer::Transfer;

/// Records received and not yet understood; a client's first message must fit.
const INCOMING_BYTES: usize = 64 * 1024;
/// What is encrypted at one go: four full records, which a CPU's cache holds twice over.
const PIECE_BYTES: usize = 64 * 1024;
/// More than any cipher suite adds to a record: header, explicit nonce, type and tag.
const RECORD_OVERHEAD_BYTES: usize = 64;
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
        // One more than the piece fills: new keys may be told of before it.
        let records = PIECE_BYTES.div_ceil(config.content_bytes()) + 1;
        Self {
            config,
            incoming: vec![0; INCOMING_BYTES],
            outgoing: vec![0; PIECE_BYTES + records * RECORD_OVERHEAD_BYTES],
            piece: vec![0; PIECE_BYTES],
        }
    }
}

/// TLS over a socket.
pub struct Secured {
    socket: TcpStream,
    /// `None` once the peer broke the rules: a session that has failed is not to be asked again.
    session: Option<Box<UnbufferedServerConnection>>,
    /// Received, but no whole record, or part of a message that spans several.
    leftover: Vec<u8>,
    /// Records for which there was no room yet.
    unsent: Vec<u8>,
    /// Nothing was received so far.
    is_new: bool,
    /// The peer said that nothing will follow.
    ended: bool,
}

impl Channel for Secured {
    type Common = Common;

    fn new(socket: TcpStream, common: &Common) -> io::Result<Self> {
        let session = UnbufferedServerConnection::new(common.config.0.clone());
        Ok(Self {
            socket,
            session: Some(Box::new(session.map_err(io::Error::other)?)),
            leftover: Vec::new(),
            unsent: Vec::new(),
            is_new: true,
            ended: false,
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
        let kept = self.leftover.len();
        // What is decrypted is shorter than what was received, so the room for it suffices.
        let end = INCOMING_BYTES.min(room.len());
        if kept >= end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        common.incoming[..kept].copy_from_slice(&self.leftover);
        let free = &mut common.incoming[kept..end];
        let count = match transfer.receive(self.socket.as_fd(), free)? {
            None => return Ok(Received::Nothing),
            Some(0) => return Ok(Received::End),
            Some(count) => count,
        };
        let perhaps_more = count == free.len();
        let incoming = &mut common.incoming[..kept + count];
        Ok(match self.read(incoming, room)? {
            None => {
                self.session = None;
                Received::Refused
            }
            Some(0) if self.ended => Received::End,
            Some(count) => Received::Bytes {
                count,
                perhaps_more,
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
        self.send_unsent(transfer)?;
        let mut taken = 0;
        for piece in bytes.chunks(PIECE_BYTES) {
            if self.has_output() {
                break;
            }
            taken += piece.len();
            let more = more || taken < bytes.len();
            self.send_piece(&mut common.outgoing, transfer, piece, more)?;
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
        self.send_unsent(transfer)?;
        let mut taken = 0;
        while taken < most_bytes && !self.has_output() {
            let most = PIECE_BYTES.min(most_bytes - taken);
            let piece = &mut common.piece[..most];
            let count = part.file.read_at(piece, part.offset + taken as u64)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let piece = &common.piece[..count];
            self.send_piece(&mut common.outgoing, transfer, piece, false)?;
            taken += count;
        }
        Ok(taken)
    }

    fn has_output(&self) -> bool {
        !self.unsent.is_empty()
    }

    fn is_mid_message(&self) -> bool {
        let session = self.session.as_ref().filter(|_| !self.is_new);
        !self.leftover.is_empty() || session.is_some_and(|session| session.is_handshaking())
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn say_goodbye<T: Transfer>(&mut self, common: &mut Common, transfer: &mut T) {
        let room = &mut common.outgoing;
        let told = self.write(|traffic| traffic.queue_close_notify(room));
        if let Ok(count) = told {
            // The connection ends in any case.
            let _ = self.dispatch(transfer, &common.outgoing[..count], false);
        }
    }
}

impl Secured {
    /// Bytes of content in what was received; `None` when the peer broke the rules.
    fn read(&mut self, incoming: &mut [u8], room: &mut [u8]) -> io::Result<Option<usize>> {
        if std::mem::take(&mut self.is_new) && is_http(incoming) {
            self.unsent.extend_from_slice(NOT_TLS.as_bytes());
            return Ok(None);
        }
        let session = self.session.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let Ok(read) = records::read(session, incoming, room, &mut self.unsent) else {
            return Ok(None);
        };
        self.ended = read.is_end;
        self.leftover.clear();
        if !self.ended {
            self.leftover.extend_from_slice(&incoming[read.used..]);
        }
        Ok(Some(read.content))
    }

    fn write(
        &mut self,
        act: impl FnOnce(&mut Traffic<'_>) -> Result<usize, EncryptError>,
    ) -> io::Result<usize> {
        let session = self.session.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        records::write(session, &mut self.leftover, &mut self.unsent, act)
    }

    /// Encrypts a piece and sends what there is room for; the rest is kept.
    fn send_piece<T: Transfer>(
        &mut self,
        room: &mut [u8],
        transfer: &mut T,
        piece: &[u8],
        more: bool,
    ) -> io::Result<()> {
        let count = self.write(|traffic| traffic.encrypt(piece, room))?;
        self.dispatch(transfer, &room[..count], more)
    }

    fn dispatch<T: Transfer>(
        &mut self,
        transfer: &mut T,
        records: &[u8],
        more: bool,
    ) -> io::Result<()> {
        self.send_unsent(transfer)?;
        let sent = match self.has_output() {
            true => 0,
            false => transfer.send(self.socket.as_fd(), records, more)?,
        };
        self.unsent.extend_from_slice(&records[sent..]);
        Ok(())
    }

    fn send_unsent<T: Transfer>(&mut self, transfer: &mut T) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let sent = transfer.send(self.socket.as_fd(), &self.unsent, false)?;
        self.unsent.drain(..sent);
        Ok(())
    }
}

/// Whether a client begins with the name of a method, where a record should be.
fn is_http(incoming: &[u8]) -> bool {
    incoming.first().is_some_and(u8::is_ascii_uppercase)
}
