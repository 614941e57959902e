//! Requests by HTTP/2, and what comes of what a server says to them.

use std::collections::VecDeque;

use http2::{Connection, Part, Request, Stream, Woken};

use crate::pieces;

/// What the connection has to say leaves in such pieces, as into a socket that has little room.
const SENT_BYTES: usize = 40;

/// What came for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: Option<u16>,
    pub body: Vec<u8>,
    /// Its end came, in good order.
    pub is_whole: bool,
}

/// A server says this to so many requests: first its preface, then the rest in pieces. Then it is gone.
///
/// # Panics
/// When something is left of the connection, or somebody is not told of what came.
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

/// Requests under way, and what came for those before.
struct Requests {
    request: Request,
    /// Still to be sent.
    left: u8,
    /// By their numbers; `None` where nothing more will come.
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

    /// As many as the server takes.
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

    /// What came for those that were woken, as the load asks for it.
    fn receive(&mut self) {
        self.woken.swap(&mut self.noticed);
        while let Some(number) = self.noticed.pop_front() {
            self.receive_of(number);
        }
    }

    /// Takes all that came for one, and tells whether there was any.
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

    /// Nothing has come for a stream that was not woken.
    fn assert_asleep(&mut self) {
        for number in 0..self.streams.len() {
            assert!(!self.receive_of(number), "nobody was told of {number}");
        }
    }
}
