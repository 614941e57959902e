//! `linerate load --http2`: what it measures on servers of others and on servers that misbehave.

mod connections;
mod flags;
mod floods;
pub(crate) mod frames;
mod go;
mod nginx;
mod refused;
mod streams;

use std::net::SocketAddr;

use serde_json::Value;

use crate::common::load_program::{failed, load, number, parse};

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

/// Runs `linerate load --http2` on a target with more arguments; every request must be in one bin.
fn measure(url: &str, arguments: &[&str]) -> Value {
    let output = load(url, &[&["--http2", "--json"], arguments].concat());
    let report = parse(&output);
    let bins = report["errors"].as_object().unwrap();
    let lost: u64 = bins.values().map(number).sum();
    let booked = number(&report["answered"]) + lost;
    assert_eq!(number(&report["sent"]), booked, "{report:#}");
    assert_eq!(report["http"], "2");
    report
}

/// A load in the clear, for a moment, with four streams on one connection unless told otherwise.
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

/// Checks that some requests failed, and all of them in this way.
fn assert_fails_as(report: &Value, bin: &str) {
    let count = number(&report["errors"][bin]);
    assert!(count > 0, "{report:#}");
    assert_eq!(failed(report), count, "{report:#}");
}

/// Sums over several loads of one server, to be compared with what the server counted itself.
#[derive(Default)]
struct Booked {
    answered: u64,
    /// Requests under way at the end: the server may have answered, and nobody waited for it.
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
