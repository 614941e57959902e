//! The other end is an attacker: whatever it says, each end has a clean error, and a listener goes on.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::Listener;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz2345672345\0";
const PARAMETERS: &str = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,
    "client_version":"3.12"}"#;

fn message(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap();
    [&length.to_be_bytes()[..], json].concat()
}

/// Says something to a listener, and hears all that it says.
fn say(listener: &Listener, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(&listener.address).unwrap();
    // It may have heard enough before the end.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    said
}

#[test]
fn a_listener_has_a_clean_error_for_each_lie_and_serves_the_next_client() {
    let mut listener = Listener::start(&["--iperf3"]);
    let of = |json: &[u8]| [&COOKIE[..], &message(json)].concat();
    let many = PARAMETERS.replace("\"parallel\":1", "\"parallel\":100000");
    let deep = [&b"{\"tcp\":"[..], &[b'['; 8000]].concat();
    for (bytes, why) in [
        (COOKIE.to_vec(), "has closed the line"),
        (
            [&COOKIE[..], &[0xff; 4]].concat(),
            "a message of 4294967295 bytes",
        ),
        ([&COOKIE[..], &[0; 4]].concat(), "a message of 0 bytes"),
        (of(b"nonsense"), "no JSON of the kind that is due"),
        (of(b"{}"), "neither TCP nor UDP"),
        (of(&deep), "no JSON of the kind that is due"),
        (
            of(many.as_bytes()),
            "`parallel` is 100000, and at most 128 can be",
        ),
        (
            [&COOKIE[..], &message(b"{\"tcp\":true")[..9]].concat(),
            "has closed the line",
        ),
    ] {
        let said = say(&listener, &bytes);
        assert_eq!(said[0], 9, "{why}");
        assert_says(&listener.line(), why);
    }
    // Said in full, and then a word that is none, and one out of turn.
    for (word, why) in [
        (77, "the byte 77"),
        (9, "ParameterExchange while the test runs"),
    ] {
        let mut control = TcpStream::connect(&listener.address).unwrap();
        control.write_all(&of(PARAMETERS.as_bytes())).unwrap();
        let mut states = [0; 2];
        control.read_exact(&mut states).unwrap();
        let mut stream = TcpStream::connect(&listener.address).unwrap();
        stream.write_all(&COOKIE).unwrap();
        control.read_exact(&mut states).unwrap();
        assert_eq!(states, [1, 2]);
        control.write_all(&[word]).unwrap();
        assert_says(&listener.line(), why);
    }
    serves_on(&listener);
}

#[test]
fn who_floods_a_listener_or_says_nothing_keeps_nobody_else_out() {
    let listener = Listener::start(&[]);
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(&listener.address).unwrap())
        .collect();
    let wrong: Vec<TcpStream> = (0..50)
        .map(|at| {
            let mut stream = TcpStream::connect(&listener.address).unwrap();
            stream.write_all(&[at; 37]).unwrap();
            stream
        })
        .collect();
    serves_on(&listener);
    drop((silent, wrong));
}

#[test]
fn a_stream_too_many_with_the_right_cookie_is_shut_out() {
    let listener = Listener::start(&["--iperf3"]);
    let mut control = TcpStream::connect(&listener.address).unwrap();
    control.write_all(&COOKIE).unwrap();
    control.write_all(&message(PARAMETERS.as_bytes())).unwrap();
    let mut states = [0; 2];
    control.read_exact(&mut states).unwrap();
    let streams = [(); 3].map(|()| {
        let mut stream = TcpStream::connect(&listener.address).unwrap();
        stream.write_all(&COOKIE).unwrap();
        stream
    });
    control.read_exact(&mut states).unwrap();
    assert_eq!(states, [1, 2]);
    drop((control, streams));
    serves_on(&listener);
}

fn serves_on(listener: &Listener) {
    let folder = Folder::new("stream-next");
    let flags = ["stream", &listener.address, "-q", "-n", "1M"];
    assert_says(&answer(&mut linerate(&folder, &flags)), "Gbit/s up");
}

/// What a client says of a server that says some bytes at once, and others when the test is over.
fn client_of(at_once: &[u8], at_the_end: &[u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (at_once, at_the_end) = (at_once.to_vec(), at_the_end.to_vec());
    let server = std::thread::spawn(move || {
        // Its streams wait in the backlog, which takes them.
        let (mut control, _) = listener.accept().unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        let _ = control.write_all(&at_once);
        if !at_the_end.is_empty() {
            let mut length = [0; 4];
            control.read_exact(&mut length).unwrap();
            let parameters = usize::try_from(u32::from_be_bytes(length)).unwrap();
            control.read_exact(&mut vec![0; parameters]).unwrap();
            let mut state = [0];
            control.read_exact(&mut state).unwrap();
            assert_eq!(state, [4]);
            let _ = control.write_all(&at_the_end);
        }
        let _ = control.shutdown(Shutdown::Write);
        let _ = control.read_to_end(&mut Vec::new());
    });
    let folder = Folder::new("stream-liar");
    let flags = ["stream", &address, "-q", "--for", "100ms"];
    let said = refusal_of(&mut linerate(&folder, &flags));
    server.join().unwrap();
    said
}

#[test]
fn a_client_has_a_clean_error_for_each_lie_of_a_server() {
    let refused = [&[9, 254][..], &6_u32.to_be_bytes(), &[0; 4]].concat();
    for (bytes, why) in [
        (&[][..], "has closed the line"),
        (&[255], "at work for another client"),
        (&[77], "the byte 77"),
        (&[2], "TestRunning while the parameters are due"),
        (&[9, 11], "the other end has ended the test"),
        (&refused, "error 6 of iperf3's list (too many streams)"),
        (&[9, 254, 0], "has closed the line"),
        (&[9, 10, 1], "has closed the line"),
        (&[9, 10, 1, 2, 2], "TestRunning while the test runs"),
    ] {
        assert_says(&client_of(bytes, &[]), why);
    }
}

#[test]
fn a_client_believes_no_results_of_streams_that_it_has_not() {
    let results = |json: &str| [&[13][..], &message(json.as_bytes())].concat();
    let of_none = r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":0,
        "streams":[{"id":7,"bytes":1e15,"retransmits":-1,"jitter":0,"errors":0,"packets":0}]}"#;
    let deep = format!("{{\"streams\":{}", "[".repeat(9000));
    for (bytes, why) in [
        (results("{}"), "no JSON of the kind that is due"),
        (results(&deep), "no JSON of the kind that is due"),
        (results(of_none), "streams that there are not"),
        (
            [&[13][..], &[0xff; 4]].concat(),
            "a message of 4294967295 bytes",
        ),
        (vec![14], "DisplayResults while the results are exchanged"),
    ] {
        assert_says(&client_of(&[9, 10, 1, 2], &bytes), why);
    }
}
