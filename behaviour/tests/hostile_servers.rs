//! Servers that turn hostile once they have answered rightly: every command ends in time and says
//! what happened.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;

use crate::common::load_server::{OK, answer_with, read_request, serve};
use crate::common::{Folder, errors, linerate, refusal_of};

/// What a server does with a connection once it is hostile.
type Misdeed = fn(TcpStream);

const MISDEEDS: [(&str, Misdeed); 6] = [
    ("closes at once", drop),
    ("answers garbage", |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(b"220 smtp ready\r\n");
    }),
    (
        "stalls",
        |mut stream| while read_request(&mut stream).is_some() {},
    ),
    ("sends endless headers", |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"A: b\r\n").is_ok() {}
    }),
    ("cuts its body short", |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    }),
    ("resets", |mut stream| {
        read_request(&mut stream);
        let _ = sys::socket::reset_on_close(stream.as_fd());
    }),
];

/// A server that answers rightly on its first `connections`, and then commits the misdeed.
fn turns_after(connections: usize, misdeed: Misdeed) -> SocketAddr {
    serve(move |mut stream, index| {
        if index >= connections {
            return misdeed(stream);
        }
        while read_request(&mut stream).is_some() {
            let _ = stream.write_all(OK);
        }
    })
}

#[test]
fn a_load_on_it_ends_in_time_with_every_request_in_one_bin() {
    let folder = Folder::new("hostile-load");
    for (name, misdeed) in MISDEEDS {
        // Two requests go before the load.
        let url = format!("http://{}/", turns_after(2, misdeed));
        let arguments = [
            "load", &url, "-c", "2", "-d", "200ms", "--settle", "0ms", "--json",
        ];
        let output = linerate(&folder, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {}", errors(&output));
        let load: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let bins = load["errors"].as_object().unwrap();
        let failed: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(load["sent"].as_u64(), Some(failed), "{name}: {load}");
        assert_eq!(load["answered"], 0, "{name}");
    }
}

#[test]
fn a_load_on_one_that_is_hostile_from_the_start_is_refused_with_the_address() {
    let folder = Folder::new("hostile-probe");
    for (name, misdeed) in MISDEEDS {
        let address = turns_after(0, misdeed);
        let url = format!("http://{address}/");
        let arguments = ["load", &url, "--timeout", "200ms"];
        let said = refusal_of(&mut linerate(&folder, &arguments));
        assert!(said.contains(&address.to_string()), "{name}: {said}");
    }
}

#[test]
fn a_comparison_with_it_ends_and_gives_it_no_verdict() {
    let folder = Folder::new("hostile-versus");
    let good = format!("http://{}/", answer_with(OK));
    // A comparison takes seconds; the other misdeeds are counted in the same bins as these.
    for (name, misdeed) in &MISDEEDS[..3] {
        // Two requests go beforehand, to see what it answers.
        let bad = format!("http://{}/", turns_after(2, *misdeed));
        let out = name.replace(' ', "-");
        let arguments = [
            "versus", &good, &bad, "-c", "2", "--smoke", "--yes", "--json", "--out", &out,
        ];
        let output = linerate(&folder, &arguments).output().unwrap();
        let said = errors(&output);
        assert!(output.status.success(), "{name}: {said}");
        let judgement: model::Judgement = serde_json::from_slice(&output.stdout).unwrap();
        let step = judgement.steps.last().unwrap();
        assert!(
            !matches!(
                step.verdict,
                model::Verdict::Better | model::Verdict::NoDifferenceThatMatters
            ),
            "{name}: {step:?}"
        );
        let doubts = serde_json::to_string(&judgement.doubts).unwrap();
        assert!(doubts.contains("too_few_pairs"), "{name}: {doubts}");
    }
}
