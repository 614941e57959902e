//! The other end is an attacker: whatever it says, our end reports a clean error, and a listener
//! goes on serving.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::IntoRawFd as _;
use std::process::Output;

use serde_json::Value;

use super::number;
use crate::common::listener::Listener;
use crate::common::{Folder, answer, assert_says, errors, linerate, refused, words};

pub(super) const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz2345672345\0";
pub(super) const PARAMETERS: &str = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,
    "client_version":"3.12"}"#;

pub(super) fn message(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap();
    [&length.to_be_bytes()[..], json].concat()
}

/// Sends bytes to a listener and returns all that it answers.
fn say(listener: &Listener, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(&listener.address).unwrap();
    // The listener may close the connection before it has read everything.
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
    let long = format!("{{\"tcp\":\"{}\"}}", "A".repeat(8000));
    let line = PARAMETERS.replace("\"omit\":0", "\"congestion\":\"no\\nlistening\"");
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
        (of(long.as_bytes()), "no JSON of the kind that is due"),
        (of(line.as_bytes()), "no name of a congestion control"),
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
        let line = listener.line();
        assert_says(&line, why);
        assert!(line.len() < 400, "{line}");
    }
    // A test that is begun properly, and then an unknown byte or a state that is out of turn.
    for (word, why) in [
        (77, "the byte 77"),
        (9, "ParameterExchange while the test ran"),
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
    assert_still_serves(&listener);
}

#[test]
fn who_floods_a_listener_or_says_nothing_keeps_nobody_else_out() {
    let listener = Listener::start(&[]);
    let silent: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(&listener.address).unwrap())
        .collect();
    let wrong: Vec<TcpStream> = (0..50)
        .map(|at| {
            let mut stream = TcpStream::connect(&listener.address).unwrap();
            stream.write_all(&[at; 37]).unwrap();
            stream
        })
        .collect();
    assert_still_serves(&listener);
    drop((silent, wrong));
}

/// Begins `count` tests with these parameters. Returns the connection of each with the first two
/// bytes of the answer.
fn begin_tests(listener: &Listener, count: u8, parameters: &str) -> Vec<(TcpStream, [u8; 2])> {
    let begin = |at| {
        let mut control = TcpStream::connect(&listener.address).unwrap();
        control.write_all(&[at; 37]).unwrap();
        control.write_all(&message(parameters.as_bytes())).unwrap();
        let mut said = [0; 2];
        control.read_exact(&mut said).unwrap();
        (control, said)
    };
    (0..count).map(begin).collect()
}

#[test]
fn whoever_comes_when_there_is_no_room_for_tests_streams_or_memory_is_told_to_come_later() {
    let of = |streams: &str, more: &str| {
        let asked = PARAMETERS.replace("\"parallel\":1", &format!("\"parallel\":{streams}"));
        asked.replace("131072", &format!("1048576{more}"))
    };
    // The limits: 1,024 streams where none takes memory, and 512 MiB where each stream takes 1 MiB.
    for (parameters, most) in [(of("128", ""), 8), (of("128", ",\"reverse\":true"), 4)] {
        let listener = Listener::start(&["--iperf3"]);
        let there = begin_tests(&listener, most, &parameters);
        assert!(there.iter().all(|(_, said)| *said == [9, 10]));
        let said = say(
            &listener,
            &[&COOKIE[..], &message(parameters.as_bytes())].concat(),
        );
        assert_eq!(said, [9, 255], "after {most}");
        drop(there);
    }
    let listener = Listener::start(&["--iperf3"]);
    let there: Vec<TcpStream> = (0..64)
        .map(|at| {
            let mut control = TcpStream::connect(&listener.address).unwrap();
            control.write_all(&[at; 37]).unwrap();
            control.read_exact(&mut [0]).unwrap();
            control
        })
        .collect();
    assert_eq!(say(&listener, &COOKIE), [255]);
    drop(there);
}

#[test]
fn a_stream_too_many_with_the_right_cookie_is_shut_out() {
    let listener = Listener::start(&["--iperf3"]);
    let stream = || {
        let mut stream = TcpStream::connect(&listener.address).unwrap();
        stream.write_all(&COOKIE).unwrap();
        stream
    };
    let mut control = stream();
    let mut early = stream();
    let is_closed = |stream: &mut TcpStream| !matches!(stream.read(&mut [0]), Ok(1));
    assert!(is_closed(&mut early), "before streams are due");
    control.write_all(&message(PARAMETERS.as_bytes())).unwrap();
    let mut states = [0; 2];
    control.read_exact(&mut states).unwrap();
    assert_eq!(states, [9, 10]);
    let first = stream();
    control.read_exact(&mut states).unwrap();
    assert_eq!(states, [1, 2]);
    assert!(is_closed(&mut stream()), "when all are there");
    drop((control, first));
    assert_still_serves(&listener);
}

fn assert_still_serves(listener: &Listener) {
    let folder = Folder::new("stream-next");
    let flags = ["stream", &listener.address, "-q", "-n", "1M"];
    assert_says(&answer(&mut linerate(&folder, &flags)), "bit/s up");
}

/// Runs a client against a server that sends `at_once`, does `meanwhile`, and sends `at_the_end`
/// when the test is over.
pub(super) fn client(
    flags: &str,
    at_once: &[u8],
    meanwhile: impl FnOnce(&TcpListener, UdpSocket) + Send,
    at_the_end: &[u8],
) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let folder = Folder::new("stream-liar");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The client's streams wait in the backlog, which accepts them.
            let (mut control, _) = listener.accept().unwrap();
            control.read_exact(&mut [0; 37]).unwrap();
            // The socket exists before the client is told to send to it.
            let datagrams = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
            let _ = control.write_all(at_once);
            meanwhile(&listener, datagrams);
            if !at_the_end.is_empty() {
                let mut length = [0; 4];
                control.read_exact(&mut length).unwrap();
                let parameters = usize::try_from(u32::from_be_bytes(length)).unwrap();
                control.read_exact(&mut vec![0; parameters]).unwrap();
                let mut state = [0];
                control.read_exact(&mut state).unwrap();
                assert_eq!(state, [4]);
                let _ = control.write_all(at_the_end);
            }
            let _ = control.shutdown(Shutdown::Write);
            let _ = control.read_to_end(&mut Vec::new());
        });
        let words = [&["stream", &address, "-q"][..], &words(flags)].concat();
        linerate(&folder, &words).output().unwrap()
    })
}

fn client_refusal(at_once: &[u8], at_the_end: &[u8]) -> String {
    refused(&client("--for 100ms", at_once, |_, _| (), at_the_end))
}

/// The states that a server sends in a test of one stream: exchange of parameters, creation of
/// streams, start, running.
pub(super) const AGREED: [u8; 4] = [9, 10, 1, 2];

/// The states and the message with which a server sends its results and ends the test.
pub(super) fn results(json: &str) -> Vec<u8> {
    [&[13][..], &message(json.as_bytes()), &[14]].concat()
}

/// The results of a server of iperf3 as JSON, with those of its streams.
pub(super) fn report(streams: &str) -> String {
    let cpu = r#""cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0"#;
    format!(r#"{{{cpu},"sender_has_retransmits":0,"streams":[{streams}]}}"#)
}

/// The results of one stream as JSON: the bytes and datagrams received, and in how many seconds.
pub(super) fn received(id: u32, bytes: &str, packets: u32, seconds: f64) -> String {
    format!(
        r#"{{"id":{id},"bytes":{bytes},"retransmits":-1,"jitter":0,"errors":0,"packets":{packets},
        "start_time":0,"end_time":{seconds}}}"#
    )
}

#[test]
fn a_client_has_a_clean_error_for_each_lie_of_a_server() {
    let refused = [&[9, 254][..], &6_u32.to_be_bytes(), &[0; 4]].concat();
    for (bytes, why) in [
        (&[][..], "has closed the line"),
        (&[255], "busy with another client"),
        (&[77], "the byte 77"),
        (
            &[2],
            "TestRunning while the parameters were to be exchanged",
        ),
        (&[9, 11], "the other end has ended the test"),
        (&refused, "error 6 of iperf3's list (too many streams)"),
        (&[9, 254, 0], "has closed the line"),
        (&[9, 10, 1], "has closed the line"),
        (&[9, 10, 1, 2, 2], "TestRunning while the test ran"),
    ] {
        assert_says(&client_refusal(bytes, &[]), why);
    }
}

#[test]
fn a_client_believes_no_results_that_cannot_be() {
    let deep = format!("{{\"streams\":{}", "[".repeat(9000));
    let long = format!("{{\"streams\":\"{}\"}}", "A".repeat(3_000_000));
    let one = received(1, "9", 0, 0.1);
    let own = |own: &str| report(&one).replacen('{', &format!("{{\"linerate\":{own},"), 1);
    let cost = r#"{"cpu_ns":1,"user_ns":1,"system_ns":0,"busy_share":7.0,"waiting_share":0,"copied_share":null}"#;
    for (json, why) in [
        ("{}".to_owned(), "no JSON of the kind that is due"),
        (deep, "no JSON of the kind that is due"),
        (long, "no JSON of the kind that is due"),
        (
            report(&received(7, "9", 0, 0.1)),
            "streams that do not exist",
        ),
        (report(""), "it does not tell of each stream once"),
        (report(&format!("{one},{one}")), "streams that do not exist"),
        (
            report(&received(1, "9e15", 0, 0.1)),
            "it received more than was sent",
        ),
        (report(&received(1, "9", 0, 9000.0)), "an impossible time"),
        (
            report(&one).replace("total\":1", "total\":1e99"),
            "an impossible share of CPU time",
        ),
        (own("[]"), "no JSON of the kind that is due"),
        (
            own(&format!(
                r#"{{"cost":{cost},"intervals":[],"totals":[],"late":[]}}"#
            )),
            "an impossible CPU time",
        ),
    ] {
        let said = client_refusal(&AGREED, &results(&json));
        assert_says(&said, why);
        assert!(said.len() < 500, "{}", said.len());
    }
    for (bytes, why) in [
        (
            [&[13][..], &[0xff; 4]].concat(),
            "a message of 4294967295 bytes",
        ),
        (vec![14], "DisplayResults while the results were exchanged"),
    ] {
        assert_says(&client_refusal(&AGREED, &bytes), why);
    }
    let down = client(
        "-R --for 100ms",
        &AGREED,
        |listener, _| flooded(listener),
        &results(&report(&received(1, "0", 0, 0.1))),
    );
    assert_says(&refused(&down), "it sent less than arrived");
}

/// Sends a client several megabytes.
fn flooded(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 37]).unwrap();
    stream.write_all(&vec![7; 4 << 20]).unwrap();
    // The stream stays open.
    let _ = stream.into_raw_fd();
}

pub(super) fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", errors(output)))
}

#[test]
fn the_rate_that_a_server_received_is_over_the_time_in_which_it_received() {
    let flags = "--for 100ms --json";
    let output = client(
        flags,
        &AGREED,
        |_, _| (),
        &results(&report(&received(1, "1000", 0, 0.25))),
    );
    let said = json_of(&output);
    let way = &said["ways"][0];
    assert_eq!(number(&way["received_seconds"]), 0.25, "{said:#}");
    let rate = number(&way["throughput_gbit_per_second"]) * 1e9;
    assert!((rate - 32_000.0).abs() < 1.0, "{rate} of {said:#}");
}

#[test]
fn datagrams_of_which_a_server_received_none_are_all_lost() {
    let answer = |_: &TcpListener, socket: UdpSocket| {
        let mut hello = [0; 8];
        let (bytes, client) = socket.recv_from(&mut hello).unwrap();
        assert_eq!(&hello[..bytes], b"9876");
        socket.send_to(b"6789", client).unwrap();
        // The socket stays open and is not read.
        let _ = socket.into_raw_fd();
    };
    let flags = "-u --for 100ms --json";
    let said = json_of(&client(
        flags,
        &AGREED,
        answer,
        &results(&report(&received(1, "0", 0, 0.1))),
    ));
    assert_eq!(number(&said["ways"][0]["lost_share"]), 1.0, "{said:#}");
    let datagrams = &said["streams"][0]["datagrams"];
    assert!(number(&datagrams["lost"]) > 0.0, "{said:#}");
    assert_eq!(datagrams["lost"], datagrams["sent"], "{said:#}");
}

#[test]
fn a_stream_that_breaks_is_an_error_and_what_came_until_then_is_told() {
    let cuts: [(_, fn(&TcpListener)); 2] =
        [("--for 60s --json", cut), ("-R --for 60s --json", cut_down)];
    for (flags, meanwhile) in cuts {
        let output = client(
            flags,
            &AGREED,
            |listener, _| meanwhile(listener),
            &results(&report(&received(1, "5000", 0, 0.1))),
        );
        assert_eq!(
            output.status.code(),
            Some(2),
            "{flags}: {}",
            errors(&output)
        );
        assert_says(&errors(&output), "stream 1 broke");
        let said = json_of(&output);
        assert_says(said["broken"].as_str().unwrap(), "stream 1 broke");
        assert_eq!(
            number(&said["ways"][0]["received_bytes"]),
            5000.0,
            "{said:#}"
        );
        assert!(number(&said["window_seconds"]) < 30.0, "{said:#}");
    }
}

#[test]
fn a_server_that_goes_before_it_has_told_its_results_is_an_error_and_what_was_seen_here_is_told() {
    let output = client("--for 100ms --json", &AGREED, |_, _| (), &[13]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let said = json_of(&output);
    assert_says(said["broken"].as_str().unwrap(), "has closed the line");
    assert!(number(&said["window_seconds"]) > 0.0, "{said:#}");
}

/// Resets a stream to the server during the test, as a close does that leaves bytes unread.
fn cut(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 37 + 5000]).unwrap();
}

/// Ends a stream from the server during the test.
fn cut_down(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 37]).unwrap();
    stream.write_all(&[7; 5000]).unwrap();
}
