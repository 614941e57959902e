//! `linerate load --http2`: what it measures, on servers of others and on some that misbehave.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../load_tls/certificates.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod certificates;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod common;
mod connections;
mod flags;
mod floods;
mod frames;
mod go;
#[path = "../load_program/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod load_program;
#[path = "../load_server/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod load_server;
mod nginx;
mod refused;
#[path = "../load_tls/relay.rs"]
mod relay;
#[path = "../common/schema.rs"]
mod schema;
#[path = "../common/server.rs"]
mod server;
mod streams;

use std::net::SocketAddr;

use serde_json::Value;

use load_program::{load, parse};

/// Three streams on each of two connections, for a moment.
const THREE_ON_TWO: [&str; 9] = [
    "--http2",
    "--streams",
    "3",
    "-c",
    "2",
    "-d",
    "100ms",
    "--settle",
    "0ms",
];

/// Runs `linerate load --http2` on a target with more arguments; every request is in one bin.
fn measure(url: &str, arguments: &[&str]) -> Value {
    let output = load(url, &[&["--http2", "--json"], arguments].concat());
    let report = parse(&output);
    schema::holds("load", &report);
    let bins = report["errors"].as_object().unwrap();
    let lost: u64 = bins.values().map(number).sum();
    let booked = number(&report["answered"]) + lost;
    assert_eq!(number(&report["sent"]), booked, "{report:#}");
    assert_eq!(report["http"], "2");
    report
}

/// The same in the clear, for a moment, with four streams on one connection unless told otherwise.
fn measure_briefly(address: SocketAddr, arguments: &[&str]) -> Value {
    let briefly = [
        ["-c", "1"],
        ["--streams", "4"],
        ["-d", "300ms"],
        ["--settle", "0ms"],
        ["--timeout", "2s"],
    ];
    let unsaid = briefly.iter().filter(|[flag, _]| !arguments.contains(flag));
    let flags: Vec<&str> = unsaid.flatten().chain(arguments).copied().collect();
    measure(&format!("http://{address}/"), &flags)
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// Requests that ended in a bin, those out at the end left aside.
fn failed(report: &Value) -> u64 {
    let errors = report["errors"].as_object().unwrap();
    let failed = errors.iter().filter(|(bin, _)| *bin != "unfinished");
    failed.map(|(_, count)| number(count)).sum()
}

/// All that failed did so in this way, and some did.
fn assert_fails_as(report: &Value, bin: &str) {
    let count = number(&report["errors"][bin]);
    assert!(count > 0, "{report:#}");
    assert_eq!(failed(report), count, "{report:#}");
}

/// What loads of one server came to, to be held against what it counted itself.
#[derive(Default)]
struct Booked {
    answered: u64,
    /// Out at the end: the server may have answered, and nobody waited for it.
    unfinished: u64,
}

impl Booked {
    fn add(&mut self, report: &Value) {
        // The first look asks twice.
        self.answered += number(&report["answered"]) + 2;
        self.unfinished += number(&report["errors"]["unfinished"]);
    }

    fn assert_agrees_with(&self, counted: u64) {
        let most = self.answered + self.unfinished;
        assert!(
            (self.answered..=most).contains(&counted),
            "{counted} of {} to {most}",
            self.answered
        );
    }
}
