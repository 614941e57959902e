//! A client that sends any bytes and reads answers one by one.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No test waits longer than this for one thing; one that passes takes far less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields
            .into_iter()
            .find(|field| field.0 == name)
            .map(|field| field.1)
    }

    /// Everything but the date, which differs from second to second.
    pub(crate) fn without_date(&self) -> (Vec<&str>, &str) {
        let lines = self.head.lines().filter(|line| !line.starts_with("Date: "));
        (lines.collect(), &self.body)
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            received: Vec::new(),
        }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(get(path));
        self.answer()
    }

    /// The next answer, with its body.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head_only();
        let length = answer.field("Content-Length").unwrap().parse().unwrap();
        answer.body = self.take(length);
        answer
    }

    /// The next answer, read as one without a body whatever its length says.
    pub(crate) fn head_only(&mut self) -> Answer {
        let end = loop {
            let found = self
                .received
                .windows(4)
                .position(|bytes| bytes == b"\r\n\r\n");
            match found {
                Some(end) => break end + 4,
                None => assert!(self.receive(), "closed amid {:?}", self.received),
            }
        };
        let head = self.take(end);
        Answer {
            status: head["HTTP/1.1 ".len()..][..3].parse().unwrap(),
            head,
            body: String::new(),
        }
    }

    /// Takes this many of the bytes that come.
    pub(crate) fn take(&mut self, bytes: usize) -> String {
        while self.received.len() < bytes {
            assert!(self.receive(), "closed before the end");
        }
        let rest = self.received.split_off(bytes);
        String::from_utf8(std::mem::replace(&mut self.received, rest)).unwrap()
    }

    /// Reads a head and discards it.
    pub(crate) fn skip_head(&mut self) {
        while !self.received.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            assert!(self.receive(), "closed amid a head");
        }
        let text = String::from_utf8_lossy(&self.received);
        let end = text.find("\r\n\r\n").unwrap() + 4;
        self.received.drain(..end);
    }

    /// Reads and discards this many bytes; returns how many came before the end.
    pub(crate) fn skip(&mut self, bytes: usize) -> usize {
        let mut skipped = 0;
        loop {
            let present = self.received.len().min(bytes - skipped);
            self.received.drain(..present);
            skipped += present;
            if skipped == bytes || !self.receive() {
                return skipped;
            }
        }
    }

    /// Reads until the server closes; returns how many bytes came.
    pub(crate) fn rest_bytes(&mut self) -> usize {
        while self.receive() {}
        self.received.len()
    }

    /// Waits until the server closes, and says whether it did so without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.received.is_empty() && !self.receive()
    }

    /// Sends the beginning of something and never its end: a byte now and then must not stop the
    /// server from closing.
    pub(crate) fn drip_until_closed(mut self, words: &[u8]) {
        let short = Some(Duration::from_millis(50));
        self.stream.set_read_timeout(short).unwrap();
        self.send(words);
        let begun = sys::clock::now();
        while begun.elapsed() < PATIENCE {
            let closed = match self.stream.read(&mut [0; 16]) {
                Ok(count) => count == 0,
                Err(error) => error.kind() == ErrorKind::ConnectionReset,
            };
            if closed || self.stream.write_all(b"x").is_err() {
                return;
            }
        }
        panic!("the connection is still open");
    }

    /// Receives more bytes; returns `false` at the end of the connection.
    fn receive(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing came: {error}"),
        }
    }
}

/// A request as most clients send it.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n")
}
