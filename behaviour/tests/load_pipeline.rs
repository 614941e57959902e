//! `linerate load --pipeline N`: several requests of HTTP/1.1 at once on each connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::common::load_program::{load, load_json, parse};
use crate::common::load_server::{OK, serve};
use crate::common::server::Server;
use crate::common::{Folder, assert_says, refused, words};

const DEEP: [&str; 8] = [
    "--pipeline",
    "16",
    "-c",
    "3",
    "-d",
    "300ms",
    "--settle",
    "50ms",
];
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// Takes one request without a body from `received`, after reading more if need be; `None` when the
/// client is gone.
fn take_request(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<()> {
    loop {
        if let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            received.drain(..end + 4);
            return Some(());
        }
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        received.extend_from_slice(&piece[..count]);
    }
}

/// A server that reads `group` requests before it answers any of them; `answers` gets the number of
/// each request on its connection, and ends the connection by `None`. On the first two connections,
/// which look whether there is an answer at all, requests come one at a time.
fn answer_groups(
    group: usize,
    answers: impl Fn(usize) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> SocketAddr {
    serve(move |mut stream, index| {
        let group = if index < 2 { 1 } else { group };
        // What waits for an acknowledgement is lost when the connection is reset.
        stream.set_nodelay(true).unwrap();
        let (mut received, mut taken) = (Vec::new(), 0);
        while (0..group).all(|_| take_request(&mut stream, &mut received).is_some()) {
            let all: Option<Vec<_>> = (taken..taken + group).map(&answers).collect();
            taken += group;
            match all {
                Some(all) if stream.write_all(&all.concat()).is_ok() => {}
                _ => return,
            }
        }
    })
}

/// Requests that failed, by their bin, except for those that were under way at the end.
fn failed(report: &Value) -> Vec<(&str, u64)> {
    let bins = report["errors"].as_object().unwrap().iter();
    let bins = bins.map(|(bin, count)| (bin.as_str(), count.as_u64().unwrap()));
    bins.filter(|(bin, count)| *bin != "unfinished" && *count > 0)
        .collect()
}

fn count(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap()
}

#[test]
fn all_of_a_pipeline_are_under_way_before_the_first_is_answered() {
    for more in [&[][..], &["--throughput"], &["--rate", "1600"]] {
        let address = answer_groups(16, |_| Some(OK.to_vec()));
        let report = load_json(address, &[&DEEP[..], more].concat());
        assert_eq!(count(&report, "streams"), 16);
        if more != ["--rate", "1600"] {
            assert!(count(&report, "answered") > 100, "{report:#}");
        }
        let number = |name: &str| report[name].as_f64().unwrap();
        let answers = number("received_bytes") / OK.len() as f64;
        let answered = number("throughput_rps") * number("window_seconds");
        // Requests under way at either end of the window may be in only one of the two counts.
        assert!((answers - answered).abs() <= 2.0 * 48.0, "{report:#}");
        assert_eq!(failed(&report), [], "{report:#}");
    }
}

#[test]
fn each_answer_is_that_of_its_own_request_in_the_clear_and_under_tls() {
    let folder = Folder::new("pipeline-mix");
    let mix = folder.path().join("mix.toml");
    let kinds = "[[request]]\npath = \"/json\"\n[[request]]\npath = \"/absent\"\nweight = 2\n";
    std::fs::write(&mix, kinds).unwrap();
    for (scheme, flags) in [("http", &[][..]), ("https", &["--tls-self-signed"])] {
        let server = Server::start(flags);
        let url = format!("{scheme}://{}", server.address);
        let mix = ["--mix", mix.to_str().unwrap(), "--json"];
        let insecure = if flags.is_empty() {
            &[][..]
        } else {
            &["--insecure"]
        };
        let report = parse(&load(&url, &[&DEEP[..], &mix, insecure].concat()));
        let kinds = report["mix"]["kinds"].as_array().unwrap();
        let of = |kind: usize, bin: &str| kinds[kind]["errors"][bin].as_u64().unwrap();
        assert!(count(&kinds[0], "answered") > 50, "{report:#}");
        assert!(of(1, "status") > 50, "{report:#}");
        assert_eq!(
            (of(0, "status"), count(&kinds[1], "answered")),
            (0, 0),
            "{report:#}"
        );
    }
}

#[test]
fn what_lies_behind_the_last_answer_of_a_connection_is_asked_on_the_next() {
    let address = answer_groups(1, |number| {
        let answer = if number % 20 == 19 { LAST } else { OK };
        (number < 20).then(|| answer.to_vec())
    });
    let report = load_json(address, &DEEP);
    assert!(count(&report, "answered") > 100, "{report:#}");
    assert!(
        report["connections_reopened"].as_u64() > Some(5),
        "{report:#}"
    );
    assert_eq!(failed(&report), [], "{report:#}");
}

#[test]
fn a_connection_that_ends_without_a_word_loses_all_that_lay_behind() {
    let address = answer_groups(1, |number| (number < 20).then(|| OK.to_vec()));
    let report = load_json(address, &DEEP);
    let [("closed", closed)] = failed(&report)[..] else {
        panic!("{report:#}")
    };
    let connections = 3 + count(&report, "connections_reopened");
    assert!((1..=16 * connections).contains(&closed), "{report:#}");
    assert!(count(&report, "answered") >= 20, "{report:#}");
}

/// A server that answers the 16 requests of a connection by these bytes together with its end.
fn end_with(bytes: &'static [u8]) -> SocketAddr {
    serve(move |mut stream, index| {
        let mut received = Vec::new();
        let group = if index < 2 { 1 } else { 16 };
        if (0..group).all(|_| take_request(&mut stream, &mut received).is_some()) {
            let answer = if index < 2 { OK } else { bytes };
            drop(stream.write_all(answer));
        }
    })
}

#[test]
fn an_end_that_comes_with_the_last_bytes_is_not_overlooked() {
    let until_the_end = end_with(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
    let report = load_json(until_the_end, &DEEP);
    assert!(count(&report, "answered") > 3, "{report:#}");
    assert_eq!(failed(&report), [], "{report:#}");
    let cut = end_with(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
    let report = load_json(cut, &DEEP);
    let [("closed", closed)] = failed(&report)[..] else {
        panic!("{report:#}")
    };
    assert!(closed > 16, "{report:#}");
}

#[test]
fn a_connection_that_ends_while_nobody_waits_is_opened_again_beforehand() {
    let address = serve(|mut stream, _| {
        if take_request(&mut stream, &mut Vec::new()).is_some() {
            drop(stream.write_all(OK));
        }
    });
    let rare = ["--pipeline", "4", "-c", "3", "--rate", "100", "-d", "500ms"];
    let report = load_json(address, &rare);
    assert!(count(&report, "answered") >= 25, "{report:#}");
    assert!(
        report["connections_reopened"].as_u64() > Some(10),
        "{report:#}"
    );
}

#[test]
fn an_answer_that_nobody_asked_for_is_malformed() {
    let address = answer_groups(16, |number| match number % 16 {
        15 => Some([OK, OK].concat()),
        _ => Some(OK.to_vec()),
    });
    let report = load_json(address, &DEEP);
    assert!(failed(&report).contains(&("malformed", count(&report["errors"], "malformed"))));
    assert!(count(&report["errors"], "malformed") > 0, "{report:#}");
}

#[test]
fn a_request_that_is_given_up_takes_those_behind_it_along() {
    // Answers only the first two connections, which look whether there is an answer at all.
    let address = serve(|mut stream, index| {
        let mut received = Vec::new();
        while take_request(&mut stream, &mut received).is_some() {
            if index < 2 {
                stream.write_all(OK).unwrap();
            }
        }
    });
    // The timeouts of two requests lie further apart than two checks for timeouts.
    let slowly = words("--pipeline 16 -c 3 -d 3s --settle 0ms --timeout 1s --rate 30");
    let report = load_json(address, &slowly);
    assert_eq!(count(&report, "answered"), 0);
    let errors = &report["errors"];
    assert!(count(errors, "timeout") > 0, "{report:#}");
    assert!(count(errors, "closed") > 0, "{report:#}");
}

#[test]
fn a_pipeline_that_cannot_be_is_refused_by_name() {
    for (flags, why) in [
        (&["--pipeline", "0"][..], "--pipeline 0 carries nothing"),
        (
            &["--pipeline", "4", "-H", "Connection: close"],
            "exclude one another",
        ),
        (
            &["--pipeline", "4", "--engine", "uring"],
            "carries no pipeline",
        ),
        (&["--pipeline", "4", "--http2"], "cannot be used with"),
        (&["--pipeline", "4", "--download"], "cannot be used with"),
        (
            &["--pipeline", "1000000", "-c", "2"],
            "requests at once on each of 2 connections",
        ),
    ] {
        let output = load("http://127.0.0.1:9/", flags);
        assert_says(&refused(&output), why);
    }
}
