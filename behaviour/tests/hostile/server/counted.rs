//! Clients that misbehave are counted by what they did.

use std::io::{Read as _, Write as _};

use super::ENGINES;
use super::running::{Running, wait_until};
use crate::common::Folder;

const REQUEST: &[u8] = b"GET /json HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn refused_timed_out_and_reset_connections_are_told_by_sigusr1_and_at_the_end() {
    let folder = Folder::new("server-counted");
    for engine in ENGINES {
        for workers in ["1", "2"] {
            let limits = ["--request-timeout", "1s", "--idle-timeout", "60s", "--json"];
            let flags = ["--engine", engine, "--workers", workers];
            let mut server = Running::start(&folder, &[&limits[..], &flags].concat());
            assert!(server.get("/json").contains("Hello"));
            // Answered well, and then closed: one is HTTP/1.0, the other has a body that is not
            // read.
            let mut answer = String::new();
            for request in [
                "GET /json HTTP/1.0\r\nContent-Length: 5\r\n\r\nabcde",
                "GET /json HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ] {
                let mut last = server.connect();
                last.write_all(request.as_bytes()).unwrap();
                answer.clear();
                last.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
            // It is no request.
            let mut garbage = server.connect();
            garbage
                .write_all(b"\x16\x03\x01 no request\r\n\r\n")
                .unwrap();
            answer.clear();
            garbage.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
            // It never ends.
            let mut half = server.connect();
            half.write_all(b"GET /json HT").unwrap();
            assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
            // Closed with an answer unread, a socket sends a reset (RFC 2525 §2.17).
            let mut unread = server.connect();
            unread.write_all(REQUEST).unwrap();
            unread.peek(&mut [0; 1]).unwrap();
            drop(unread);
            let mut connections = serde_json::Value::Null;
            let is_counted = || {
                connections = server.asked()["connections"].take();
                connections["reset"] == 1
            };
            assert!(wait_until(is_counted));
            let expected = serde_json::json!({
                "accepted": 6, "refused": 1, "timed_out": 1, "slow_readers": 0, "reset": 1, "shed": 0,
            });
            assert_eq!(connections, expected, "{engine} {workers}");
            server.signal("TERM");
            let end = server.record();
            assert_eq!(end["connections"], expected, "{engine} {workers}");
        }
    }
}

#[test]
fn a_person_is_told_the_same_in_words() {
    let folder = Folder::new("server-words");
    for workers in ["1", "2"] {
        let mut server = Running::start(&folder, &["--engine", "epoll", "--workers", workers]);
        assert!(server.get("/json").contains("Hello"));
        server.signal("USR1");
        let said = server.line();
        assert!(
            said.starts_with("connections: 1 accepted, 0 refused"),
            "{said}"
        );
        assert_eq!(server.stop(), "");
    }
}
