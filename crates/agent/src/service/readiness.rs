//! Asks whether a service is ready, again and again until it is.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use machine::targets;
use model::service::{Exchange, Readiness};
use traffic::load::http::HttpProtocol;
use traffic::tls::Client;

use super::commands::{Commands, GivenUp, Trouble};
use super::logs::Logs;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two questions that start a program; the others cost next to nothing.
const PAUSE: Duration = Duration::from_millis(50);
/// Larger than any greeting that we look for, bytes.
const MOST_ANSWER_BYTES: usize = 4096;

/// The question of one service.
pub(super) struct Question<'a> {
    pub(super) commands: &'a Commands<'a>,
    pub(super) logs: &'a Logs,
    /// The process that was started.
    pub(super) leader: u32,
    /// Its address; `None` where it listens on its socket alone.
    pub(super) address: Option<SocketAddr>,
    /// The TLS client that speaks to it, where it speaks TLS.
    pub(super) tls: Option<Client>,
    pub(super) given_up: GivenUp<'a>,
    /// How the program of a question failed last, and when it may be started again.
    pub(super) last_run: Option<(String, Instant)>,
}

impl Question<'_> {
    /// Asks once. Where the answer is no, the error says what was seen instead.
    pub(super) fn ask(&mut self) -> Result<(), String> {
        match &self.commands.service.ready.when {
            Readiness::Http(path) => self.get(path),
            Readiness::Exchange(bytes) => self.exchange(bytes),
            Readiness::Line(text) if self.logs.have(text) => Ok(()),
            Readiness::Line(text) => Err(format!("none of its logs says `{text}`")),
            Readiness::Command(words) => self.run(words),
        }
    }

    fn get(&self, path: &str) -> Result<(), String> {
        let nowhere = "it is asked over HTTP, and listens on no address";
        let address = self.address.ok_or(nowhere)?;
        let host = address.to_string();
        let request = HttpProtocol::new("GET", &host, path, &[], &[]);
        let request = request.map_err(|error| error.to_string())?;
        let patience_ns = u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
        match traffic::load::probe(address, self.tls.as_ref(), &request, patience_ns) {
            Ok(answer) if answer.status == 200 => Ok(()),
            Ok(answer) => Err(format!("`GET {path}` has status {}", answer.status)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn exchange(&self, bytes: &Exchange) -> Result<(), String> {
        match (self.address, &self.commands.service.socket) {
            (Some(address), _) => self.over_network(address, bytes),
            (None, Some(socket)) => over_socket(socket, bytes),
            (None, None) => Err("it listens on no address and no socket".to_owned()),
        }
    }

    /// Exchanges bytes only where the service itself listens: what is sent may contain the
    /// password, and another process may have taken the port, which was free before.
    fn over_network(&self, address: SocketAddr, bytes: &Exchange) -> Result<(), String> {
        let listeners = targets::addresses_of(self.leader);
        if listeners
            .iter()
            .any(|there| targets::takes(*there, address))
        {
            over_network(address, bytes)
        } else {
            Err(format!("it does not listen on {address}"))
        }
    }

    fn run(&mut self, words: &[String]) -> Result<(), String> {
        let now = sys::clock::now();
        if let Some((seen, not_before)) = &self.last_run
            && now < *not_before
        {
            return Err(seen.clone());
        }
        let outcome = self.commands.run(words, PATIENCE, self.given_up);
        let name = words.first().map_or("", String::as_str);
        outcome.map_err(|trouble| {
            let seen = match trouble {
                Trouble::Absent(failure) => failure.what,
                Trouble::Failed(what) => format!("`{name}` {what}"),
            };
            self.last_run = Some((seen.clone(), now + PAUSE));
            seen
        })
    }
}

fn over_network(address: SocketAddr, bytes: &Exchange) -> Result<(), String> {
    let connected = TcpStream::connect_timeout(&address, PATIENCE);
    let answer = connected.and_then(|stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        answer(stream, bytes)
    });
    judged(&address.to_string(), answer, bytes)
}

fn over_socket(socket: &str, bytes: &Exchange) -> Result<(), String> {
    let answer = UnixStream::connect(socket).and_then(|stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        answer(stream, bytes)
    });
    judged(socket, answer, bytes)
}

/// Checks an answer. An error does not quote what was sent, which may contain a password.
fn judged(place: &str, answer: io::Result<Vec<u8>>, bytes: &Exchange) -> Result<(), String> {
    let answer = answer.map_err(|error| format!("{place} gives no answer: {error}"))?;
    if answer.starts_with(bytes.expect.as_bytes()) {
        return Ok(());
    }
    let (expected, answer) = (bytes.expect.escape_debug(), answer.escape_ascii());
    Err(format!(
        "{place} answers with `{answer}` and not with `{expected}`"
    ))
}

/// Sends bytes, and reads as many bytes of the answer as are expected, or up to the first
/// difference.
fn answer(mut stream: impl Read + Write, bytes: &Exchange) -> io::Result<Vec<u8>> {
    stream.write_all(bytes.send.as_bytes())?;
    let mut answer = vec![0; bytes.expect.len().min(MOST_ANSWER_BYTES)];
    let mut read = 0;
    while read < answer.len() && answer[..read] == bytes.expect.as_bytes()[..read] {
        match stream.read(&mut answer[read..])? {
            0 => break,
            more => read += more,
        }
    }
    answer.truncate(read);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What is seen of a server that greets so, and whether it was as expected.
    fn seen(greeting: &'static [u8], expect: &str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(greeting).unwrap();
        });
        let (send, expect) = (String::new(), expect.to_owned());
        let seen = over_network(address, &Exchange { send, expect });
        server.join().unwrap();
        seen
    }

    #[test]
    fn an_answer_is_right_when_it_begins_as_expected() {
        assert_eq!(seen(b"+PONG\r\n", "+PONG"), Ok(()));
        assert_eq!(seen(b"", ""), Ok(()));
        let other = seen(b"-LOADING", "+PONG").unwrap_err();
        assert!(other.contains("`-LOAD"), "{other}");
        let short = seen(b"+PO", "+PONG").unwrap_err();
        assert!(short.contains("`+PO`"), "{short}");
    }
}
