//! Requests over HTTP/2, and the answers that come of what a server says.

use std::collections::VecDeque;

use http2::{Connection, Part, Request, Stream, Woken};

use crate::pieces;

/// Output of the connection leaves in pieces of this size, as into a socket that has little room.
const SENT_BYTES: usize = 40;

/// What was received for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: Option<u16>,
    pub body: Vec<u8>,
    /// The answer ended without an error.
    pub is_whole: bool,
}

/// Lets a server say this to `count` requests, first its preface, then the rest in pieces. Then the
/// server is gone.
///
/// # Panics
/// When the connection does not end, or something came for a stream that was not woken.
pub fn hear(count: u8, preface: &[u8], rest: &[u8], piece_bytes: usize) -> Vec<Answer> {
    let mut connection = Connection::new().expect("it is made in memory");
    let mut requests = Requests::new(count);
    for piece in std::iter::once(preface).chain(pieces(rest, piece_bytes)) {
        connection.take(piece);
        requests.send(&mut connection);
        pass_on(&mut connection);
        requests.receive();
    }
    requests.assert_asleep();
    connection.take_end();
    pass_on(&mut connection);
    requests.receive();
    assert!(connection.is_over() && connection.refusal().is_some());
    assert_eq!(requests.open, 0, "streams of a connection that is over");
    requests.answers
}

fn pass_on(connection: &mut Connection) {
    let sent = connection.pass_on(|bytes| Ok(bytes.len().min(SENT_BYTES)));
    assert!(sent.is_ok_and(|all| all), "there was room for all of it");
}

/// Requests to send and under way, and the answers so far.
struct Requests {
    request: Request,
    /// Requests still to be sent.
    left: u8,
    /// Streams by the number of their request; `None` where nothing more will come.
    streams: Vec<Option<Stream>>,
    answers: Vec<Answer>,
    open: usize,
    woken: Woken,
    noticed: VecDeque<usize>,
}

impl Requests {
    fn new(count: u8) -> Self {
        let body: &[u8] = if count & 1 == 1 { b"a body" } else { b"" };
        let request = Request::new("http", "POST", ("a.test", "/"), &[], body);
        Self {
            request: request.expect("a plain request"),
            left: count,
            streams: Vec::new(),
            answers: Vec::new(),
            open: 0,
            woken: Woken::default(),
            noticed: VecDeque::new(),
        }
    }

    /// Sends as many requests as the server accepts.
    fn send(&mut self, connection: &mut Connection) {
        while self.left > 0
            && self.open < connection.streams_at_once()
            && connection.refusal().is_none()
        {
            self.left -= 1;
            let waker = self.woken.waker(self.streams.len());
            if let Ok(stream) = connection.begin(&self.request, &waker) {
                self.streams.push(Some(stream));
                self.answers.push(Answer::default());
                self.open += 1;
            }
        }
    }

    /// Receives for the streams that were woken, as the load does.
    fn receive(&mut self) {
        self.woken.swap(&mut self.noticed);
        while let Some(number) = self.noticed.pop_front() {
            self.receive_of(number);
        }
    }

    /// Takes all that came for one request, and returns whether there was anything.
    fn receive_of(&mut self, number: usize) -> bool {
        let mut has_news = false;
        while let Some(Some(stream)) = self.streams.get_mut(number) {
            let Some(part) = stream.poll() else {
                return has_news;
            };
            has_news = true;
            let answer = &mut self.answers[number];
            match part {
                Ok(Part::Head { status, .. }) => answer.status = Some(status),
                Ok(Part::Data(bytes)) => answer.body.extend_from_slice(&bytes),
                Ok(Part::End) | Err(_) => {
                    answer.is_whole = part.is_ok();
                    self.streams[number] = None;
                    self.open -= 1;
                }
            }
        }
        has_news
    }

    /// Asserts that nothing has come for a stream that was not woken.
    fn assert_asleep(&mut self) {
        for number in 0..self.streams.len() {
            assert!(!self.receive_of(number), "nobody was told of {number}");
        }
    }
}
