//! How a server stops.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::client::get;
use super::server::Server;

#[test]
fn a_stop_lets_the_answers_under_way_finish() {
    for workers in ["1", "3"] {
        let server = Server::start(&["--workers", workers]);
        let address = server.address;
        let (mut idle, mut under_way) = (server.connect(), server.connect());
        assert_eq!(idle.get("/json").status, 200);
        assert_eq!(under_way.get("/json").status, 200);
        let request = get("/json");
        under_way.send(&request[..20]);
        server.terminate();
        assert!(idle.is_closed());
        wait_until_nobody_listens(address);
        under_way.send(&request[20..]);
        let answer = under_way.answer();
        assert_eq!(
            (answer.status, answer.field("Connection")),
            (200, Some("close"))
        );
        assert!(under_way.is_closed());
        let (status, said) = server.wait();
        assert!(status.success() && said.is_empty(), "{said}");
    }
}

#[test]
fn a_stop_waits_for_an_unfinished_request_no_longer_than_the_drain_timeout() {
    let timeouts = ["--drain-timeout", "1s", "--request-timeout", "1h"];
    for workers in ["1", "2"] {
        let server = Server::start(&[&timeouts[..], &["--workers", workers]].concat());
        let mut client = server.connect();
        assert_eq!(client.get("/json").status, 200);
        client.send("GET /json");
        server.terminate();
        assert!(server.wait().0.success());
        assert!(client.is_closed());
    }
}

#[test]
fn a_stop_lets_those_be_answered_that_have_just_connected() {
    for workers in ["1", "3"] {
        let server = Server::start(&["--workers", workers, "--drain-timeout", "1m"]);
        let mut clients: Vec<_> = (0..9).map(|_| server.connect()).collect();
        server.terminate();
        wait_until_nobody_listens(server.address);
        for client in &mut clients {
            let answer = client.get("/json");
            assert_eq!(answer.field("Connection"), Some("close"));
            assert!(client.is_closed());
        }
        assert!(server.wait().0.success());
    }
}

#[test]
fn those_that_have_just_connected_and_say_nothing_are_waited_for_no_longer_than_for_a_request() {
    for limit in ["--request-timeout", "--drain-timeout"] {
        let others = ["--request-timeout", "1h", "--drain-timeout", "1h"];
        let others = others.chunks(2).filter(|flag| flag[0] != limit).flatten();
        let flags: Vec<_> = [limit, "1s"].iter().chain(others).copied().collect();
        let server = Server::start(&flags);
        let mut client = server.connect();
        server.terminate();
        assert!(server.wait().0.success());
        assert!(client.is_closed());
    }
}

/// Waits until nobody listens. Each worker learns of the stop in its own time, and one that is
/// about to close its listener may refuse while others still have theirs.
fn wait_until_nobody_listens(address: SocketAddr) {
    let begun = sys::clock::now();
    while (0..20).any(|_| TcpStream::connect(address).is_ok()) {
        assert!(begun.elapsed() < Duration::from_secs(4), "still listening");
    }
}
