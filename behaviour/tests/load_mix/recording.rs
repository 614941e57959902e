//! A server that remembers what each connection asked for.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

type Asked = Arc<Mutex<Vec<String>>>;

/// One request as it came.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The line that it begins with, without the version.
    pub(crate) fn line(&self) -> &str {
        let line = self.head.lines().next().unwrap();
        line.strip_suffix(" HTTP/1.1").unwrap()
    }
}

/// A server of the test program's own.
pub(crate) struct Recording {
    pub(crate) url: String,
    connections: Arc<Mutex<Vec<Asked>>>,
}

impl Recording {
    /// Starts a server that answers by `answer`; it lives as long as the test program.
    pub(crate) fn start(answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (all, answer) = (Arc::clone(&connections), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answer) = (Asked::default(), Arc::clone(&answer));
                all.lock().unwrap().push(Arc::clone(&asked));
                thread::spawn(move || converse(stream, &asked, &*answer));
            }
        });
        Self { url, connections }
    }

    /// Starts a server that answers each request with its first line.
    pub(crate) fn echo() -> Self {
        Self::start(|request| ok(request.line()))
    }

    /// Returns what each connection asked for, in its order, and forgets it.
    pub(crate) fn take(&self) -> Vec<Vec<String>> {
        let connections = std::mem::take(&mut *self.connections.lock().unwrap());
        let asked = connections.iter();
        asked.map(|asked| asked.lock().unwrap().clone()).collect()
    }
}

/// A right answer with this body.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn converse(mut stream: TcpStream, asked: &Asked, answer: &dyn Fn(&Request) -> Vec<u8>) {
    stream.set_nodelay(true).unwrap();
    while let Some(request) = read(&mut stream) {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        asked
            .lock()
            .unwrap()
            .push(format!("{} {body}", request.line()));
        let mut answer = answer(&request);
        if request.head.starts_with("HEAD ") {
            let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            answer.truncate(end.unwrap() + 4);
        }
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

/// Reads one request; `None` when the client is gone.
fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    let mut piece = [0; 65_536];
    let end = loop {
        if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&piece[..count]);
    };
    let mut body = head.split_off(end + 4);
    let head = String::from_utf8(head).unwrap();
    let length = head.split("Content-Length: ").nth(1);
    let length = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let have = body.len();
    assert!(have <= length, "more than one request at once: {head}");
    body.resize(length, 0);
    stream.read_exact(&mut body[have..]).ok()?;
    Some(Request { head, body })
}
