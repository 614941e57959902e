//! Servers that do what a test says, right or wrong, over plain sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A right answer with the body `ok`.
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Starts a server on a free port of loopback that lives as long as the test program. `behave`
/// serves each connection in a thread of its own; its second argument is the number of connections
/// before this one.
pub(crate) fn serve(behave: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behave = Arc::new(behave);
    thread::spawn(move || {
        for (index, stream) in listener.incoming().flatten().enumerate() {
            let behave = Arc::clone(&behave);
            thread::spawn(move || behave(stream, index));
        }
    });
    address
}

/// Starts a server that answers every request with what `answer` writes.
pub(crate) fn answer_each(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream, _| {
        stream.set_nodelay(true).unwrap();
        while read_request(&mut stream).is_some() {
            answer(&mut stream);
        }
    })
}

/// Starts a server that answers every request with these bytes.
pub(crate) fn answer_with(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = bytes.into();
    answer_each(move |stream| drop(stream.write_all(&bytes)))
}

/// Reads one request and returns its body; `None` when the client is gone.
pub(crate) fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 65_536];
    loop {
        if let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
            let mut body = request.split_off(end + 4);
            let have = body.len();
            body.resize(length, 0);
            stream.read_exact(&mut body[have..]).ok()?;
            return Some(body);
        }
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&piece[..count]);
    }
}
