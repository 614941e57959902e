//! Which answer each request gets.

use std::net::Shutdown;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::client::get;
use super::server::{Server, program};
use crate::common::{Folder, assert_says, words};

#[test]
fn one_connection_is_kept_for_any_number_of_requests() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    for _ in 0..3 {
        let json = client.get("/json?a=b");
        assert_eq!(
            (json.status, json.body.as_str()),
            (200, r#"{"message":"Hello, World!"}"#)
        );
        assert_eq!(json.field("Content-Type"), Some("application/json"));
        assert_eq!(json.field("Server"), Some("linerate"));
        assert_eq!(json.field("Connection"), None);
        let plaintext = client.get("/plaintext");
        assert_eq!(
            (plaintext.status, plaintext.body.as_str()),
            (200, "Hello, World!")
        );
    }
}

#[test]
fn the_message_is_what_the_server_was_told_at_its_start() {
    let message = "a \"quoted\" name\n".repeat(10);
    let server = Server::start(&["--workers", "1", "--message", &message]);
    let mut client = server.connect();
    let json = client.get("/json");
    let expected = serde_json::json!({ "message": message }).to_string();
    assert_eq!(json.body, expected);
    assert_eq!(
        json.field("Content-Length"),
        Some(expected.len().to_string().as_str())
    );
    assert_eq!(client.get("/plaintext").body, message);
}

#[test]
fn head_gives_the_head_of_get_and_no_body() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    for path in ["/json", "/plaintext", "/nowhere"] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.head_only();
        let full = client.get(path);
        assert_eq!(head.without_date().0, full.without_date().0, "{path}");
    }
}

#[test]
fn the_date_follows_the_clock() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    let begun = sys::clock::now();
    let (mut dates, mut was_fresh) = (Vec::new(), true);
    while dates.len() < 3 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the date stands still"
        );
        let before = sys::clock::wall();
        let answer = client.get("/json");
        let date = httpdate::parse_http_date(answer.field("Date").unwrap()).unwrap();
        assert!(date <= sys::clock::wall());
        // If the whole machine stood still, the first request after it may get the old date.
        let is_fresh = before.duration_since(date).unwrap_or_default() < Duration::from_secs(2);
        assert!(is_fresh || was_fresh, "{date:?} at {before:?}");
        was_fresh = is_fresh;
        if dates.last() != Some(&date) {
            dates.push(date);
        }
    }
}

#[test]
fn a_hundred_requests_at_once_are_answered_in_order() {
    for flags in [
        &["--workers", "1"][..],
        &["--split-send"],
        &["--rearm-oneshot"],
    ] {
        let server = Server::start(flags);
        let mut client = server.connect();
        client.send([get("/json"), get("/plaintext")].concat().repeat(50));
        for number in 0..100 {
            let body = client.answer().body;
            assert_eq!(body.starts_with('{'), number % 2 == 0, "{flags:?} {number}");
        }
    }
}

#[test]
fn the_slower_ways_to_answer_give_the_same_answers() {
    let [usual, split, oneshot] = [
        &["--workers", "1"][..],
        &["--split-send"],
        &["--rearm-oneshot"],
    ]
    .map(|flags| {
        let server = Server::start(flags);
        let mut client = server.connect();
        ["/json", "/plaintext", "/nowhere"].map(|path| client.get(path))
    });
    for other in [split, oneshot] {
        for (left, right) in usual.iter().zip(&other) {
            assert_eq!(left.without_date(), right.without_date());
        }
    }
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    for byte in get("/json").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_client_that_will_ask_no_more_is_answered_and_then_let_go() {
    let server = Server::start(&["--workers", "1"]);
    // The server may see the client's end with the request, or after it.
    for _ in 0..200 {
        let mut client = server.connect();
        client.send(get("/json"));
        client.stream().shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.answer().status, 200);
        assert!(client.is_closed());
    }
}

#[test]
fn the_client_decides_whether_the_connection_is_kept() {
    let server = Server::start(&["--workers", "1"]);
    let cases = [
        ("HTTP/1.1\r\nHost: a\r\nConnection: close", Some("close")),
        ("HTTP/1.0", Some("close")),
        ("HTTP/1.0\r\nConnection: keep-alive", Some("keep-alive")),
    ];
    for (request, connection) in cases {
        let mut client = server.connect();
        client.send(format!("GET /json {request}\r\n\r\n"));
        let answer = client.answer();
        assert_eq!(answer.field("Connection"), connection, "{request}");
        match connection {
            Some("close") => assert!(client.is_closed()),
            _ => assert_eq!(client.get("/json").status, 200),
        }
    }
}

#[test]
fn what_cannot_be_answered_is_told_by_status_and_the_connection_kept() {
    let server = Server::start(&["--workers", "1"]);
    let mut client = server.connect();
    assert_eq!(client.get("/nowhere").status, 404);
    client.send("POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    let refused = client.answer();
    assert_eq!(
        (refused.status, refused.field("Allow")),
        (405, Some("GET, HEAD"))
    );
    client.send("x".repeat(1_000_000));
    client.send("GET /json HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.answer().status, 200);
    assert_eq!(client.get("/json").status, 200);
}

#[test]
fn what_cannot_be_understood_is_told_by_status_and_the_connection_closed() {
    let server = Server::start(&["--workers", "1"]);
    let cases = [
        ("GET /json HTTP/1.1\r\n\r\n", 400),
        ("GET /json HTTP/1.1\nHost: a\n\n", 400),
        (
            "GET /json HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            400,
        ),
        (
            "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\nabc",
            413,
        ),
        ("GET /json HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
        ("BREW /json HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (
            "GET /json HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
            501,
        ),
        ("GET /json HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        (
            "POST /json HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            405,
        ),
        (
            "POST /json HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
            405,
        ),
    ];
    for (request, status) in cases {
        let mut client = server.connect();
        // What follows must not be taken for a separate request.
        client.send([request, &get("/json")].concat());
        let answer = client.answer();
        assert_eq!(
            (answer.status, answer.field("Connection")),
            (status, Some("close")),
            "{request}"
        );
        assert!(client.is_closed(), "{request}");
    }
}

#[test]
fn an_echo_answers_bytes_with_bytes() {
    let mut command = Command::new(program());
    command.args(words("echo --listen 0 --request-bytes 5 --answer-bytes 3"));
    let server = Server::spawn(command);
    let mut client = server.connect();
    client.send("helloworlda");
    assert_eq!(client.take(6), "xxxxxx");
    client.send("gain");
    assert_eq!(client.take(3), "xxx");
}

#[test]
fn an_echo_answers_with_a_file_and_refuses_one_that_is_no_answer() {
    let folder = Folder::new("echo");
    let file = folder.path().join("answer");
    let echo = |file: &Path| {
        let mut command = Command::new(program());
        command.args(["echo", "--listen", "0", "--request-bytes", "5"]);
        command.arg("--answer-file").arg(file);
        command
    };
    std::fs::write(&file, "HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    let server = Server::spawn(echo(&file));
    let mut client = server.connect();
    client.send("helloworld");
    let twice = "HTTP/1.1 204 No Content\r\n\r\n".repeat(2);
    assert_eq!(client.take(twice.len()), twice);
    std::fs::write(&file, "").unwrap();
    let refused = echo(&file).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_says(&said, "must have 1 to 1048576 bytes");
}
