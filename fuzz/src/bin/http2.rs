//! A client's side of HTTP/2: no bytes of a server bring it down, however they are cut, and it hands
//! out no more than came. The first byte says how they are cut, the second how many requests are out.
#![no_main]

use std::task::Waker;

use http2::{Connection, Part, Request, Stream};
use libfuzzer_sys::fuzz_target;

/// What the connection has to say leaves in such pieces, as into a socket that has little room.
const SENT_BYTES: usize = 40;

/// Requests under way, and what came for those before.
struct Requests {
    request: Request,
    /// Still to be sent.
    left: u8,
    streams: Vec<Stream>,
    body_bytes: usize,
}

impl Requests {
    fn new(count: u8) -> Self {
        let body: &[u8] = if count & 1 == 1 { b"a body" } else { b"" };
        let request = Request::new("http", "POST", ("a.test", "/"), &[], body);
        Self {
            request: request.expect("a plain request"),
            left: count,
            streams: Vec::new(),
            body_bytes: 0,
        }
    }

    /// As many as the server takes.
    fn send(&mut self, connection: &mut Connection) {
        while self.left > 0
            && self.streams.len() < connection.streams_at_once()
            && connection.refusal().is_none()
        {
            self.left -= 1;
            let begun = connection.begin(&self.request, Waker::noop());
            self.streams.extend(begun);
        }
    }

    fn receive(&mut self) {
        let body_bytes = &mut self.body_bytes;
        self.streams.retain_mut(|stream| {
            loop {
                match stream.poll() {
                    None => return true,
                    Some(Ok(Part::Head { status })) => assert!((100..1000).contains(&status)),
                    Some(Ok(Part::Data(bytes))) => *body_bytes += bytes.len(),
                    Some(Ok(Part::End) | Err(_)) => return false,
                }
            }
        });
    }
}

fn pass_on(connection: &mut Connection) {
    let sent = connection.pass_on(|bytes| Ok(bytes.len().min(SENT_BYTES)));
    assert!(sent.is_ok_and(|all| all), "there was room for all of it");
}

fuzz_target!(|input: &[u8]| {
    let [cut, count, rest @ ..] = input else {
        return;
    };
    let mut connection = Connection::new().expect("it is made in memory");
    let mut requests = Requests::new(*count);
    for piece in rest.chunks(usize::from(*cut).max(1)) {
        connection.take(piece);
        requests.send(&mut connection);
        pass_on(&mut connection);
        requests.receive();
    }
    connection.take_end();
    pass_on(&mut connection);
    requests.receive();
    assert!(requests.body_bytes <= rest.len());
    assert!(connection.is_over() && connection.refusal().is_some());
    assert!(
        requests.streams.is_empty(),
        "streams of a connection that is over"
    );
});
