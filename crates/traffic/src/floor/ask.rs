//! The bare client: what is left of a load generator that neither times nor reads answers.
//!
//! On every connection it sends a request, counts the bytes of the answer and sends the request
//! again. The cost of that is what this kernel charges any client that sends its requests one by
//! one.

use std::io::{self, Error, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use sys::epoll::{Epoll, Events, Interest};
use sys::{clock, socket};

/// The longest answer, bytes: one call receives it whole, so that no rest stays in the socket
/// without a further event.
pub const LONGEST_ANSWER_BYTES: usize = 64 * 1024;
/// Connections attended to at one go.
const BATCH: usize = 256;

/// What is requested, and from whom.
#[derive(Debug)]
pub struct Asking {
    pub address: SocketAddr,
    pub request: Vec<u8>,
    /// Length of each whole answer, at most [`LONGEST_ANSWER_BYTES`].
    pub answer_bytes: NonZeroUsize,
    pub connections: u32,
}

/// A connection with a request under way.
struct Asked {
    stream: TcpStream,
    left_bytes: usize,
}

impl Asking {
    /// Sends requests for the given time. Returns how many whole answers came.
    ///
    /// # Errors
    /// Those of connecting, and of a connection that fails; `UnexpectedEof` when one ends,
    /// `InvalidData` when more bytes come than an answer has.
    pub fn run(&self, duration: Duration) -> io::Result<u64> {
        let epoll = Epoll::new()?;
        let mut asked = self.begin(&epoll)?;
        let mut events = Events::with_capacity(BATCH);
        let mut room = vec![0; LONGEST_ANSWER_BYTES];
        let end = clock::now() + duration;
        let mut answers = 0;
        while let Some(left_ns) = left_ns(end) {
            epoll.wait(&mut events, Some(left_ns))?;
            for event in events.iter() {
                let place = usize::try_from(event.token).map_err(Error::other)?;
                answers += u64::from(self.attend(&mut asked[place], &mut room)?);
            }
        }
        Ok(answers)
    }

    fn begin(&self, epoll: &Epoll) -> io::Result<Vec<Asked>> {
        let connections = (0..self.connections).map(|place| {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll.add(stream.as_fd(), place.into(), Interest::READ.edge())?;
            self.ask(&stream)?;
            let left_bytes = self.answer_bytes.get();
            Ok(Asked { stream, left_bytes })
        });
        connections.collect()
    }

    /// Receives, and sends the next request if that completed an answer. Returns whether it did.
    #[inline]
    fn attend(&self, asked: &mut Asked, room: &mut [u8]) -> io::Result<bool> {
        let Some(bytes) = socket::receive(asked.stream.as_fd(), room)? else {
            return Ok(false);
        };
        if bytes == 0 {
            return Err(Error::new(
                ErrorKind::UnexpectedEof,
                "a connection was closed",
            ));
        }
        let left_bytes = asked.left_bytes.checked_sub(bytes);
        let too_long = || {
            let said = self.answer_bytes;
            let why = format!("an answer was longer than the {said} bytes that were announced");
            Error::new(ErrorKind::InvalidData, why)
        };
        asked.left_bytes = left_bytes.ok_or_else(too_long)?;
        if asked.left_bytes > 0 {
            return Ok(false);
        }
        asked.left_bytes = self.answer_bytes.get();
        self.ask(&asked.stream)?;
        Ok(true)
    }

    #[inline]
    fn ask(&self, stream: &TcpStream) -> io::Result<()> {
        let sent = socket::send(stream.as_fd(), &self.request)?;
        let is_whole = sent == Some(self.request.len());
        is_whole
            .then_some(())
            .ok_or_else(|| Error::other("the request is longer than what a socket takes at once"))
    }
}

/// Time left until `end`, ns; `None` when the time is over.
fn left_ns(end: Instant) -> Option<u64> {
    let left_ns = end.saturating_duration_since(clock::now()).as_nanos();
    u64::try_from(left_ns).ok().filter(|left_ns| *left_ns > 0)
}
