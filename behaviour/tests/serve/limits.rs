//! What a client can demand of the server, and what it cannot.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use super::ENGINE;
use super::client::get;
use super::server::{Server, program, sockets};

#[test]
fn a_large_head_is_refused_and_the_refusal_arrives() {
    let server = Server::start(&["--workers", "1"]);
    let request_of = |target: usize, field: usize| {
        let (target, field) = ("a".repeat(target), "b".repeat(field));
        format!("GET /{target} HTTP/1.1\r\nHost: a\r\nX: {field}\r\n\r\n")
    };
    let cases = [
        (request_of(1, 65_536), 431),
        (request_of(65_536, 1), 414),
        // More than is read at once: closing with the rest unread would reset the connection.
        (request_of(1, 4 << 20), 431),
    ];
    for (request, status) in cases {
        let mut client = server.connect();
        client.send(request);
        assert_eq!(client.answer().status, status);
        assert!(client.is_closed());
    }
    let mut client = server.connect();
    client.send(request_of(4_000, 10_000));
    assert_eq!(client.answer().status, 404);
}

#[test]
fn a_client_that_takes_too_long_over_its_request_is_cut_off() {
    let server = Server::start(&["--workers", "1", "--request-timeout", "1s"]);
    let mut client = server.connect();
    assert_eq!(client.get("/json").status, 200);
    // The idle timeout is a minute away.
    client.drip_until_closed(b"GET /json HTTP/1.1\r\nHost: a\r\nX: ");
}

#[test]
fn a_client_that_asks_for_nothing_is_cut_off() {
    let server = Server::start(&["--workers", "1", "--idle-timeout", "3s"]);
    let mut client = server.connect();
    assert_eq!(client.get("/json").status, 200);
    assert!(client.is_closed());
    assert!(server.connect().is_closed());
}

#[test]
fn a_client_that_does_not_read_is_not_listened_to_until_it_does() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    // The memory that serving takes at all is in use after the first answer.
    assert_eq!(client.get("/json").status, 200);
    let before = resident_bytes(server.pid());
    let request = get("/json");
    let batch = request.repeat(1_000);
    let mut sent_bytes = 0;
    client
        .stream()
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    while let Ok(count) = client
        .stream()
        .write(&batch.as_bytes()[sent_bytes % request.len()..])
    {
        sent_bytes += count;
        let grown = resident_bytes(server.pid()).saturating_sub(before);
        assert!(
            grown < 4 << 20,
            "{grown} bytes are kept for a client that does not read"
        );
    }
    // Once it reads again, it gets all that it asked for.
    for number in 0..sent_bytes / request.len() {
        assert_eq!(client.answer().status, 200, "{number}");
    }
    client.send(&request[sent_bytes % request.len()..]);
    assert_eq!(client.answer().status, 200);
}

#[test]
fn connections_beyond_the_limit_wait_until_others_close() {
    let server = Server::start(&["--workers", "1", "--max-connections", "2"]);
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!(first.get("/json").status, 200);
    assert_eq!(second.get("/json").status, 200);
    let mut third = server.connect();
    third.send(get("/json"));
    // One listener and two connections: the third was not accepted.
    assert_eq!(first.get("/json").status, 200);
    assert_eq!(sockets(server.pid()), 3);
    drop(first);
    assert_eq!(third.answer().status, 200);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the second that passes is what is looked at, not waited through"
)]
fn out_of_descriptors_it_serves_those_it_has_and_sleeps() {
    let mut command = Command::new("sh");
    let serve = "ulimit -n 32 && exec \"$@\" --listen 0 --workers 1 --max-connections 1000";
    command.args(["-c", serve, "sh", program(), "serve", "--engine", ENGINE]);
    let server = Server::spawn(command);
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    assert_eq!(clients[0].get("/json").status, 200);
    let cpu_before_ns = sys::clock::process_cpu_ns(server.pid()).unwrap();
    let begun = sys::clock::now();
    // The listener is ready all the while; a server that watched it would spin.
    std::thread::sleep(Duration::from_secs(1));
    let cpu_ns = sys::clock::process_cpu_ns(server.pid()).unwrap() - cpu_before_ns;
    assert!(
        u128::from(cpu_ns) < begun.elapsed().as_nanos() / 4,
        "{cpu_ns} ns"
    );
    let mut last = clients.pop().unwrap();
    last.send(get("/json"));
    drop(clients);
    assert_eq!(last.answer().status, 200);
}

pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}
