//! A server of HTTP/2 that does what a test says, frame by frame (RFC 9113 §6).

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::common::load_server::serve;

const PREFACE_BYTES: usize = 24;
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const ACK: u8 = 1;
/// The stream of a client's first request (§5.1.1).
pub(crate) const FIRST_STREAM: u32 = 1;
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Codes of errors (§7).
pub(crate) const NO_ERROR: u32 = 0;
pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED_STREAM: u32 = 7;

/// `:status: 200` and `:status: 500` of the static table (RFC 7541, appendix A).
pub(crate) const STATUS_200: &[u8] = &[0x88];
pub(crate) const STATUS_500: &[u8] = &[0x8e];
/// `content-length: 9` behind them, not to be indexed.
pub(crate) const LENGTH_9: &[u8] = &[0x0f, 0x0d, 1, b'9'];

/// The least that a flood writes at once.
const AT_ONCE_BYTES: usize = 1 << 16;

/// One connection of a client that has sent its preface.
pub(crate) struct Wire {
    stream: TcpStream,
    /// How many connections came before.
    pub(crate) index: usize,
    /// Streams that the client has reset.
    pub(crate) resets: u32,
}

/// Starts a server that calls `behave` for each request, with the stream of the request.
pub(crate) fn serve_requests(
    behave: impl Fn(&mut Wire, u32) + Send + Sync + 'static,
) -> SocketAddr {
    serve_with(&[], move |wire| {
        while let Some(stream) = wire.next_request() {
            behave(wire, stream);
        }
    })
}

/// Starts a server with these settings that calls `behave` for each connection.
pub(crate) fn serve_with(
    settings: &'static [u8],
    behave: impl Fn(&mut Wire) + Send + Sync + 'static,
) -> SocketAddr {
    serve(move |stream, index| {
        if let Some(mut wire) = greet(stream, index, settings) {
            behave(&mut wire);
        }
    })
}

/// Reads a client's preface and sends these settings; `None` when the client is gone.
pub(crate) fn greet(mut stream: TcpStream, index: usize, settings: &[u8]) -> Option<Wire> {
    stream.set_nodelay(true).unwrap();
    stream.read_exact(&mut [0; PREFACE_BYTES]).ok()?;
    let mut wire = Wire {
        stream,
        index,
        resets: 0,
    };
    wire.say(SETTINGS, 0, 0, settings);
    Some(wire)
}

impl Wire {
    /// Waits for the next request and returns its stream; `None` when the client is gone. Requests
    /// have no bodies.
    pub(crate) fn next_request(&mut self) -> Option<u32> {
        loop {
            let (kind, flags, stream) = self.hear()?;
            match (kind, flags & ACK) {
                (HEADERS, _) => return Some(stream),
                (SETTINGS, 0) => self.say(SETTINGS, ACK, 0, &[]),
                (RST_STREAM, _) => self.resets += 1,
                _ => {}
            }
        }
    }

    /// Reads the next frame: its kind, its flags and its stream.
    fn hear(&mut self) -> Option<(u8, u8, u32)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, s @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((kind, flags, u32::from_be_bytes(s)))
    }

    /// Sends a frame; it does not matter if the client is gone.
    pub(crate) fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let _ = self.stream.write_all(&frame(kind, flags, stream, payload));
    }

    /// Sends one frame over and over, many at once, until the client is gone or `most_bytes` are
    /// sent; reads nothing until then.
    pub(crate) fn flood(
        &mut self,
        (kind, flags, stream): (u8, u8, u32),
        payload: &[u8],
        most_bytes: usize,
    ) {
        let frame = frame(kind, flags, stream, payload);
        let frames = frame.repeat(AT_ONCE_BYTES / frame.len() + 1);
        let mut sent_bytes = 0;
        while sent_bytes < most_bytes && self.stream.write_all(&frames).is_ok() {
            sent_bytes += frames.len();
        }
    }

    /// Sends the head of an answer; `more` says that this is not the end of the answer.
    pub(crate) fn head(&mut self, stream: u32, block: &[&[u8]], more: bool) {
        let end = if more { 0 } else { END_STREAM };
        self.say(HEADERS, END_HEADERS | end, stream, &block.concat());
    }

    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8], more: bool) {
        self.say(DATA, if more { 0 } else { END_STREAM }, stream, bytes);
    }

    /// Sends a right answer with the body `ok`.
    pub(crate) fn answer(&mut self, stream: u32) {
        self.head(stream, &[STATUS_200], true);
        self.data(stream, b"ok", false);
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        self.say(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Announces the end of the connection; streams up to this one are still answered.
    pub(crate) fn go_away(&mut self, last_stream: u32, code: u32) {
        let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
        self.say(GOAWAY, 0, 0, &payload);
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}
