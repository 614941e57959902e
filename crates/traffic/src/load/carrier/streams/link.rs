//! One connection of HTTP/2: its socket, the layer above it, and h2.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::task::Waker;

use http2::{Connection, Failure, Request, Stream};
use sys::epoll::{Epoll, Interest};
use sys::socket;

use crate::load::carrier::layer::{Layer, Opening};

/// Most bytes received from one connection before others have their turn.
const TURN_BYTES: usize = 256 << 10;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The server has not sent its settings yet.
    Opening,
    Open,
    /// It accepts no more requests, but may answer those that it has.
    Leaving,
    Over,
}

/// A socket and the streams over it.
pub(super) struct Link<L> {
    socket: OwnedFd,
    layer: L,
    /// `None` until the first bytes of HTTP/2 can be sent.
    connection: Option<Connection>,
    pub(super) standing: Standing,
    /// Why the connection is over.
    end: Option<io::Error>,
    pub(super) group: usize,
    /// Distinguishes an event of this socket from one of an earlier socket.
    pub(super) generation: u32,
    /// How many slots use it.
    pub(super) attached: usize,
    /// Something may wait to be sent.
    pub(super) is_touched: bool,
    /// Answers that have ended on it.
    pub(super) answered: u64,
    /// It answered nothing any more, and gets no more requests.
    is_given_up: bool,
    /// Bytes received that have not been counted yet.
    pub(super) heard_bytes: usize,
    /// There may be more to receive, which the kernel will not report again.
    may_go_on: bool,
    /// The peer has closed, after what is still to be received.
    is_ending: bool,
    /// Whether it is on the list of links to be heard again.
    pub(super) is_noted: bool,
    is_connected: bool,
    wants_room: bool,
    /// Whether the kernel watches it for room to write; `None` before it was told.
    is_watched_for_room: Option<bool>,
}

impl<L: Layer> Link<L> {
    /// Makes the link of a socket that is connecting.
    pub(super) fn new(socket: OwnedFd, group: usize, generation: u32) -> Self {
        Self {
            socket,
            layer: L::default(),
            connection: None,
            standing: Standing::Opening,
            end: None,
            group,
            generation,
            attached: 0,
            is_touched: false,
            answered: 0,
            is_given_up: false,
            heard_bytes: 0,
            may_go_on: false,
            is_ending: false,
            is_noted: false,
            is_connected: false,
            wants_room: false,
            is_watched_for_room: None,
        }
    }

    /// Goes on with whatever is next: the handshake, the server's bytes, and ours.
    pub(super) fn hear(&mut self, common: &mut L::Common, is_last: bool) {
        self.may_go_on = true;
        self.is_ending |= is_last;
        let heard = self.open(common).and_then(|is_open| match is_open {
            true => self.receive(common),
            false => Ok(()),
        });
        self.settle(heard);
        self.flush(common);
    }

    /// Sends what waits, as far as there is room.
    pub(super) fn flush(&mut self, common: &mut L::Common) {
        let sent = self.send(common);
        self.settle(sent);
    }

    pub(super) fn begin(&mut self, request: &Request, waker: &Waker) -> Result<Stream, Failure> {
        match &mut self.connection {
            Some(connection) => connection.begin(request, waker),
            None => Err(Failure::Closed),
        }
    }

    /// Sends no more requests on it.
    pub(super) fn give_up(&mut self) {
        self.is_given_up = true;
        self.standing = Standing::Leaving;
    }

    /// How many streams the server accepts at once.
    pub(super) fn streams_at_once(&self) -> usize {
        let connection = self.connection.as_ref();
        connection.map_or(0, Connection::streams_at_once)
    }

    /// Why nothing can be sent on it.
    pub(super) fn refusal(&self) -> io::Error {
        match &self.end {
            Some(end) => io::Error::new(end.kind(), end.to_string()),
            None => error(Failure::Unprocessed),
        }
    }

    /// Why a stream of it failed: the error that ended the connection says more than that it has
    /// ended.
    pub(super) fn reason(&self, failure: Failure) -> io::Error {
        match (failure, &self.end) {
            (Failure::Closed | Failure::Unprocessed, Some(_)) => self.refusal(),
            _ => error(failure),
        }
    }

    /// Watches for bytes always, and for room where there was none.
    pub(super) fn watch(&mut self, epoll: &Epoll, token: u64) {
        let is_right = self.is_watched_for_room == Some(self.wants_room);
        if !self.is_connected || self.standing == Standing::Over || is_right {
            return;
        }
        self.is_watched_for_room = Some(self.wants_room);
        let interest = match self.wants_room {
            true => Interest::READ_WRITE.edge(),
            false => Interest::READ.edge(),
        };
        if let Err(error) = epoll.modify(self.socket.as_fd(), token, interest) {
            self.settle(Err(error));
        }
    }

    /// Opens the connection as far as possible. Returns whether HTTP/2 can be spoken.
    fn open(&mut self, common: &mut L::Common) -> io::Result<bool> {
        if self.connection.is_some() {
            return Ok(true);
        }
        if !self.is_connected {
            socket::connect_outcome(self.socket.as_fd())?;
            self.is_connected = true;
        }
        let opening = self.layer.open(common, self.socket.as_fd())?;
        self.wants_room = opening == Opening::NeedsRoom;
        if opening != Opening::Done {
            return Ok(false);
        }
        let mut connection = Connection::new()?;
        connection.take(&self.layer.early());
        self.connection = Some(connection);
        Ok(true)
    }

    /// Whether its turn was cut short, and it can be heard now.
    pub(super) fn can_be_heard(&self) -> bool {
        let connection = self.connection.as_ref();
        self.may_go_on && connection.is_some_and(|connection| !connection.is_held_back())
    }

    /// Receives one turn; the rest stays in the socket.
    fn receive(&mut self, common: &mut L::Common) -> io::Result<()> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let mut turn_bytes = 0;
        while self.may_go_on && turn_bytes < TURN_BYTES && !connection.is_held_back() {
            let Some(piece) = self.layer.receive(common, self.socket.as_fd())? else {
                self.may_go_on = false;
                break;
            };
            if piece.input.is_empty() {
                self.may_go_on = false;
                connection.take_end();
                break;
            }
            self.may_go_on = piece.may_go_on || self.is_ending;
            turn_bytes += piece.input.len();
            connection.take(piece.input);
        }
        self.heard_bytes += turn_bytes;
        Ok(())
    }

    fn send(&mut self, common: &mut L::Common) -> io::Result<()> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let (layer, socket) = (&mut self.layer, self.socket.as_fd());
        if layer.has_output() {
            layer.pass(common, socket, &[])?;
        }
        let has_left = connection.pass_on(|bytes| layer.pass(common, socket, bytes))?;
        self.wants_room = !has_left || layer.has_output();
        Ok(())
    }

    /// Updates the standing after an attempt. Streams of a connection that is over learn that from
    /// the end of h2's connection, and still receive what had come for them whole.
    fn settle(&mut self, tried: io::Result<()>) {
        let standing = tried.and_then(|()| self.look());
        self.standing = standing.unwrap_or_else(|error| {
            self.end.get_or_insert(error);
            self.connection = None;
            Standing::Over
        });
    }

    fn look(&mut self) -> io::Result<Standing> {
        let Some(connection) = &mut self.connection else {
            return Ok(self.standing);
        };
        match connection.refusal() {
            Some(failure) if connection.is_over() => Err(error(failure)),
            Some(_) => Ok(Standing::Leaving),
            None if connection.streams_at_once() == 0 => Ok(self.standing),
            None if self.is_given_up => Ok(Standing::Leaving),
            None => Ok(Standing::Open),
        }
    }
}

/// Resets the connection, so that no local port stays in use.
impl<L> Drop for Link<L> {
    fn drop(&mut self) {
        let _ = socket::reset_on_close(self.socket.as_fd());
    }
}

/// Converts a failure to the kind of error that the load counts: a breach of the protocol is
/// invalid data.
pub(super) fn error(failure: Failure) -> io::Error {
    let kind = match failure {
        Failure::Broken => io::ErrorKind::InvalidData,
        Failure::Closed | Failure::Unprocessed => io::ErrorKind::ConnectionAborted,
    };
    io::Error::new(kind, failure)
}
