//! The control line, on which the two ends agree: states of one byte, and JSON behind its length.
//! Whatever is on the other side, no wait is endless and no message is longer than its kind may be.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sys::address::Address;
use sys::clock;
use wire::iperf3::{BadMessage, Cookie, State, framed, length};

use super::StreamError;
use super::error::words;

/// Time limit of each phase that both ends go through together, which takes a few round trips at
/// most.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// One end of the control line.
#[derive(Debug)]
pub(super) struct Control {
    stream: TcpStream,
    /// The phase under way, and until when it may last, however many messages and pieces it takes.
    phase: (&'static str, Instant),
}

impl Control {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        if stream.peer_addr().is_ok() {
            stream.set_nodelay(true)?;
        }
        let phase = ("the test was set up", clock::now() + PATIENCE);
        Ok(Self { stream, phase })
    }

    /// The time left for the phase `during`; a new phase has all of [`PATIENCE`]. `None` when no
    /// time is left.
    fn left(&mut self, during: &'static str) -> Option<Duration> {
        if self.phase.0 != during {
            self.phase = (during, clock::now() + PATIENCE);
        }
        let left = self.phase.1.saturating_duration_since(clock::now());
        Some(left).filter(|left| !left.is_zero())
    }

    /// Connects to the address of a server and sends the cookie.
    pub(super) fn connect(address: &Address, cookie: &Cookie) -> Result<Self, StreamError> {
        let connected = match address {
            Address::Tcp(address) => TcpStream::connect_timeout(address, PATIENCE),
            Address::Unix(_) => by_path(address),
        };
        let mut control = connected
            .and_then(Self::new)
            .map_err(|source| StreamError::Connect {
                address: address.clone(),
                source,
            })?;
        control.write(cookie, "the cookie was sent")?;
        Ok(control)
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn say(&mut self, state: State, during: &'static str) -> Result<(), StreamError> {
        self.write(&[state.byte()], during)
    }

    pub(super) fn write(&mut self, bytes: &[u8], during: &'static str) -> Result<(), StreamError> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        let mut rest = bytes;
        while !rest.is_empty() {
            let left = self.left(during).ok_or_else(|| silent(during))?;
            let patience = self.stream.set_write_timeout(Some(left));
            match patience.and_then(|()| self.stream.write(rest)) {
                Ok(count) => rest = &rest[count..],
                Err(error) if [Interrupted, TimedOut, WouldBlock].contains(&error.kind()) => {}
                Err(source) => return Err(StreamError::Line { during, source }),
            }
        }
        Ok(())
    }

    pub(super) fn say_json(
        &mut self,
        message: &impl serde::Serialize,
        during: &'static str,
    ) -> Result<(), StreamError> {
        self.write(&framed(message), during)
    }

    /// Reads the next state; `None` if none comes in time.
    pub(super) fn next(
        &mut self,
        patience: Duration,
        during: &'static str,
    ) -> Result<Option<State>, StreamError> {
        let mut byte = [0];
        match self.read_once(&mut byte, patience, during)? {
            None => Ok(None),
            Some(0) => Err(StreamError::Closed { during }),
            Some(_) => {
                let [byte] = byte;
                let state = State::read(byte).ok_or(StreamError::NoState { byte, during })?;
                self.refuse_end(state, during)?;
                Ok(Some(state))
            }
        }
    }

    /// Turns a state by which the other end ends the test into an error.
    fn refuse_end(&mut self, state: State, during: &'static str) -> Result<(), StreamError> {
        match state {
            State::AccessDenied => Err(StreamError::Busy),
            State::ServerTerminate | State::ClientTerminate => Err(StreamError::Ended),
            State::ServerError => {
                let mut numbers = [0; 8];
                self.read(&mut numbers, during)?;
                let [a, b, c, d, ..] = numbers;
                let code = u32::from_be_bytes([a, b, c, d]);
                let words = words(code);
                Err(StreamError::Refused { code, words })
            }
            _ => Ok(()),
        }
    }

    /// Waits for one state and no other.
    pub(super) fn expect(
        &mut self,
        wanted: State,
        during: &'static str,
    ) -> Result<(), StreamError> {
        let left = self.left(during).ok_or_else(|| silent(during))?;
        match self.next(left, during)? {
            Some(state) if state == wanted => Ok(()),
            Some(state) => Err(StreamError::OutOfTurn { state, during }),
            None => Err(silent(during)),
        }
    }

    /// Reads the JSON that is due, of at most `most` bytes.
    pub(super) fn json(&mut self, most: u32, during: &'static str) -> Result<Vec<u8>, StreamError> {
        let mut head = [0; 4];
        self.read(&mut head, during)?;
        let bytes = length(head, most).map_err(not_taken(during))?;
        let mut json = vec![0; bytes];
        self.read(&mut json, during)?;
        Ok(json)
    }

    /// Fills the whole buffer, within the time left for the phase.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        during: &'static str,
    ) -> Result<(), StreamError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let left = self.left(during).ok_or_else(|| silent(during))?;
            match self.read_once(&mut buffer[filled..], left, during)? {
                None => {}
                Some(0) => return Err(StreamError::Closed { during }),
                Some(count) => filled += count,
            }
        }
        Ok(())
    }

    /// Reads what comes within `patience`; `None` if nothing does.
    fn read_once(
        &mut self,
        buffer: &mut [u8],
        patience: Duration,
        during: &'static str,
    ) -> Result<Option<usize>, StreamError> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        // A timeout of zero would mean to wait for ever.
        let patience = patience.max(Duration::from_millis(1));
        let read = self.stream.set_read_timeout(Some(patience));
        match read.and_then(|()| self.stream.read(buffer)) {
            Ok(count) => Ok(Some(count)),
            Err(error) if [Interrupted, TimedOut, WouldBlock].contains(&error.kind()) => Ok(None),
            Err(source) => Err(StreamError::Line { during, source }),
        }
    }
}

/// Connects to a Unix socket; the connection is used like one of TCP.
pub(super) fn by_path(address: &Address) -> io::Result<TcpStream> {
    let connection = TcpStream::from(address.connect()?);
    connection.set_nonblocking(false)?;
    Ok(connection)
}

/// Wraps the reason why a message is refused.
pub(super) fn not_taken(during: &'static str) -> impl FnOnce(BadMessage) -> StreamError {
    move |source| StreamError::Message { during, source }
}

fn silent(during: &'static str) -> StreamError {
    let seconds = PATIENCE.as_secs();
    StreamError::Silent { during, seconds }
}
