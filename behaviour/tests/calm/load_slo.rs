//! `linerate load --slo`, tested against servers whose capacity is known by construction.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use crate::common::assert_says;
use crate::common::load_program::{load, parse};
use crate::common::load_server::{OK, answer_each, read_request, serve};

/// A server that answers one request after the other and takes the same time for each by the clock,
/// whatever the machine does meanwhile: its capacity is exactly `capacity_rps`.
#[expect(clippy::disallowed_methods, reason = "the server is to take its time")]
fn queueing_server(capacity_rps: f64) -> SocketAddr {
    let service = Duration::from_secs_f64(1.0 / capacity_rps);
    let free_at = Mutex::new(sys::clock::now());
    answer_each(move |stream| {
        let done_at = {
            let mut free_at = free_at.lock().unwrap();
            *free_at = (*free_at).max(sys::clock::now()) + service;
            *free_at
        };
        std::thread::sleep(done_at.saturating_duration_since(sys::clock::now()));
        let _ = stream.write_all(OK);
    })
}

/// A server that takes `service` for each request, and serves any number of them at once.
#[expect(clippy::disallowed_methods, reason = "the server is to take its time")]
fn parallel_server(service: Duration) -> SocketAddr {
    answer_each(move |stream| {
        std::thread::sleep(service);
        let _ = stream.write_all(OK);
    })
}

/// Blocks as short as the objective lets them be.
const SHORT: [&str; 6] = ["-d", "150ms", "--settle", "30ms", "-c", "128"];

/// The first of up to three searches that finds both a rate that holds and one that fails: what it
/// finds must be right. A search whose first look at the server, in closed loop, fell into a stop
/// of the machine may look in the wrong place or give up.
fn search(server: SocketAddr, arguments: &[&str]) -> (Value, Output) {
    let target = format!("http://{server}/");
    let mut said = Vec::new();
    for _ in 0..3 {
        let output = load(&target, &[arguments, &["--json"]].concat());
        let found: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let knows = |found: &Value| found["fails"].is_object() && found["holds"].is_object();
        match found.filter(knows) {
            Some(found) => return (found, output),
            None => said.push(output),
        }
    }
    panic!("three times it did not know: {said:?}");
}

/// A server that answers `per_block` requests of each block rightly and refuses the rest: by
/// count, and therefore the same on any machine. Each block of a search uses connections of its
/// own. All requests of the two closed-loop blocks before the search are answered rightly.
fn allowance(per_block: usize) -> SocketAddr {
    let blocks = Mutex::new(HashMap::<usize, usize>::new());
    serve(move |mut stream, connection| {
        stream.set_nodelay(true).unwrap();
        let in_the_search = connection.checked_sub(BY_COUNT_CONNECTIONS * (1 + SECOND_LOOK_FACTOR));
        let block = in_the_search.map(|connection| connection / BY_COUNT_CONNECTIONS);
        while read_request(&mut stream).is_some() {
            let is_right = block.is_none_or(|block| {
                let mut blocks = blocks.lock().unwrap();
                let asked = blocks.entry(block).or_default();
                *asked += 1;
                *asked <= per_block
            });
            let answer = if is_right { OK } else { REFUSED };
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

const REFUSED: &[u8] = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
const BY_COUNT_CONNECTIONS: usize = 16;
/// The second closed-loop block has this many times the connections of the first.
const SECOND_LOOK_FACTOR: usize = 4;

#[test]
fn a_server_of_known_capacity_holds_below_it_and_fails_above() {
    // A block of 20 + 400 ms at r requests/s has r × 0.42 − 800 requests refused, all of them
    // within the 400 ms. At this rate they are a twentieth of the r × 0.4 requests in those 400 ms.
    let (allowed, capacity_rps) = (800, 800.0 / (0.42 - 0.05 * 0.4));
    let arguments = [
        "-d",
        "400ms",
        "--settle",
        "20ms",
        "-c",
        "16",
        "--slo",
        "p50<40ms and errors<5%",
    ];
    let (found, _) = search(allowance(allowed), &arguments);
    let rate = |side: &str| found[side]["rate_rps"].as_f64().unwrap();
    // Arrivals are random: about 840 in a block, ± 29. A step of the search is 3 %, and the failing
    // rate is confirmed a tenth above the one that holds.
    assert!(rate("holds") > 0.80 * capacity_rps, "{found:#}");
    assert!(rate("holds") < 1.06 * capacity_rps, "{found:#}");
    assert!(rate("fails") > 0.92 * capacity_rps, "{found:#}");
    assert!(rate("fails") < 1.25 * capacity_rps, "{found:#}");
    assert_eq!(found["is_over"], true);
    assert!(found["holds"]["held"].as_u64().unwrap() >= 7);
}

#[test]
fn connections_that_are_too_few_are_no_fault_of_the_server() {
    let arguments = [
        "-d", "300ms", "--settle", "20ms", "-c", "4", "--slo", "p50<30ms",
    ];
    let (found, output) = search(parallel_server(Duration::from_millis(5)), &arguments);
    assert_eq!(found["fails"]["agreed"], "not_offered", "{found:#}");
    let notes = found["notes"].to_string();
    assert_says(&notes, "with more of them (-c)");
    assert!(output.status.success());
}

#[test]
fn a_server_that_fails_at_the_lowest_rate_exits_with_one() {
    let target = format!("http://{}/", parallel_server(Duration::from_millis(20)));
    let arguments = [
        "-d", "400ms", "--settle", "30ms", "-c", "16", "--slo", "p50<2ms",
    ];
    let output = load(&target, &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Fails even at "), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("of 8 blocks"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_says(&said, "blocks of 400 ms");
    assert_says(&said, "at most");
}

#[test]
fn a_search_that_is_stopped_says_what_is_known_so_far() {
    let url = format!("http://{}/", queueing_server(3000.0));
    let child = Command::new(crate::common::program())
        .args(["load", &url, "--json", "--slo", "p90<15ms"])
        .args(SHORT)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // On a busy machine the search may be past narrowing at the first line.
    let phases = ["bracketing: ", "narrowing: ", "confirming: "];
    while !phases.iter().any(|phase| line.contains(phase)) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it never began");
    }
    let kill = format!("kill -INT {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let found = parse(&output);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(found["is_over"], false);
    assert!(
        found["notes"].to_string().contains("stopped by Ctrl-C"),
        "{found:#}"
    );
    assert!(found["likely_rps"]["high"].as_f64().unwrap() > 1000.0);
}
