//! Levers tried on a server that runs, under the traffic that it has.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{as_nobody, assert_says, errors};
use crate::levers::try_out::{AS_A_RIG, Bench, verdict};

/// The load on a server that levers are tried on; it knows nothing of the trial.
struct Clients(Child);

/// Segments that were sent in the namespace, by both ends.
const SEGMENTS: [&str; 3] = ["awk", "/^Tcp: [0-9]/ { print $12 }", "/proc/net/snmp"];

/// Requests per second that are enough for a figure in each block.
const STEADY_RPS: &str = "2000";

/// Runs the load again and again, each time for a second with new connections.
const OPEN_NEW_ONES: &str = "while \"$@\" --duration 1s; do :; done";

impl Clients {
    /// Clients that together send `rate` requests a second, which leaves CPU time for other tests.
    fn at(rate: &str, bench: &Bench, words: &[&str]) -> Self {
        let steady = ["--duration", "1h", "--rate", rate];
        Self::run(bench, &[], &[&steady, words].concat())
    }

    /// Clients of `linerate load`, run by the command `launcher` if there is one.
    fn run(bench: &Bench, launcher: &[&str], words: &[&str]) -> Self {
        let around = [crate::common::program(), "load", &bench.url, "--quiet"];
        let words = [launcher, &around, &["-c", "4"], words].concat();
        let mut command = bench.sandbox.command(&words);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let clients = Self(command.spawn().unwrap());
        let sent = || -> u64 { bench.sandbox.prints(&SEGMENTS).trim().parse().unwrap() };
        let before = sent();
        let flows = || sent() > before + 400;
        assert!(sys::clock::wait_until(Duration::from_secs(60), flows));
        clients
    }

    fn end(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const THEIRS: &str = "--their-load";

fn has_doubt(judgement: &Value, kind: &str) -> bool {
    let mut doubts = judgement["doubts"].as_array().unwrap().iter();
    doubts.any(|doubt| doubt["doubt"] == kind)
}

/// Waits until a run has saved a block.
fn until_it_measures(bench: &Bench) {
    let blocks = bench.run_folder().join("blocks.jsonl");
    let begun = || std::fs::metadata(&blocks).is_ok_and(|file| file.len() > 0);
    assert!(sys::clock::wait_until(Duration::from_secs(60), begun));
}

/// Starts a run, and returns it when it has begun to measure.
fn begun(bench: &Bench, words: &[&str]) -> Child {
    let out = bench.run_folder();
    let words = bench.words(words, out.to_str().unwrap());
    let words = [&[crate::common::program(), "levers"], &words[..]].concat();
    let mut command = bench.sandbox.command(&words);
    let run = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    until_it_measures(bench);
    run.unwrap()
}

#[test]
fn a_lever_of_known_cost_comes_out_as_one_and_no_request_is_sent_for_it() {
    crate::common::needs_root!();
    let bench = Bench::new("their-cost", 10);
    bench.sandbox.prints(&["sh", "-c", AS_A_RIG]);
    let before = bench.sandbox.state();
    let clients = Clients::at(STEADY_RPS, &bench, &[]);
    let accepted = || bench.sandbox.prints(&PASSIVE_OPENS);
    let opened = accepted();
    let slower = "packet-tap=64";
    let judgement = bench.judgement(&[slower, THEIRS, "--rounds", "12"]);
    assert_eq!(verdict(&judgement, slower), "worse", "{judgement}");
    assert_eq!(accepted(), opened);
    clients.end();
    assert_eq!(judgement["outcome"], "server_cpu_per_kilobyte");
    let control = &judgement["control"]["verdict"];
    assert!(control != "better" && control != "worse", "{judgement}");
    assert_eq!(bench.sandbox.state(), before);
    assert!(bench.sandbox.journal().is_empty());
    let machine = &judgement["arms"][0]["machine"];
    let part = |of: &str| machine[format!("{of}_us_per_request")].as_f64().unwrap();
    let parts = part("user") + part("system") + part("irq") + part("softirq");
    let whole = machine["cpu_us_per_request"]["value"].as_f64().unwrap();
    assert!((0.3..3.0).contains(&(parts / whole)), "{machine}");
    let page = bench.folder.text("run/report.html");
    assert_says(&page, "more server CPU per kB carried");
    assert!(!page.contains("per request"), "{page}");
}

/// Connections that were accepted in the namespace, among which Linerate's own would be.
const PASSIVE_OPENS: [&str; 3] = ["awk", "/^Tcp: [0-9]/ { print $7 }", "/proc/net/snmp"];

#[test]
fn a_setting_for_new_connections_needs_load_of_our_own() {
    crate::common::needs_root!();
    let bench = Bench::new("their-new", 10);
    let _clients = Clients::at(STEADY_RPS, &bench, &[]);
    let lever = "tcp-send-buffer=4096,65536,4194304";
    let said = bench.refusal(&[lever, THEIRS]);
    assert_says(&said, "takes hold when a connection is opened");
    assert_says(&said, "4 of 4 connections were still those");
    assert_says(&said, "carried 100 % of the bytes");
    assert_says(&said, &format!("sudo linerate levers try {lever} --url"));
}

#[test]
fn a_setting_for_new_connections_is_tried_where_clients_open_new_ones() {
    crate::common::needs_root!();
    let bench = Bench::new("their-renewed", 100_000);
    let clients = Clients::run(
        &bench,
        &["sh", "-c", OPEN_NEW_ONES, "sh"],
        &["--rate", "400"],
    );
    let lever = "tcp-send-buffer=4096,16384,16384";
    // Too few rounds for a verdict: under a lever that slows this much, some blocks have too little
    // traffic for a figure.
    let judgement = bench.judgement(&[lever, THEIRS, "--rounds", "6"]);
    clients.end();
    let times = judgement["steps"][0]["effect"]["ratio"].as_f64();
    assert!(times.is_some_and(|times| times > 1.3), "{judgement}");
    let blocks = bench.folder.text("run/blocks.jsonl");
    let blocks: Vec<Value> = blocks
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(blocks.len(), 18);
    for block in &blocks {
        let carried = &block["reading"]["carried"];
        let bytes = |of: &Value| of["bytes"].as_u64().unwrap();
        assert!(bytes(&carried["older"]) * 20 <= bytes(carried), "{block}");
    }
}

#[test]
fn connections_that_come_and_go_are_told_to_be_uncountable() {
    crate::common::needs_root!();
    let bench = Bench::new("their-short", 10);
    let _clients = Clients::at(STEADY_RPS, &bench, &["-H", "Connection: close"]);
    let said = bench.refusal(&["tcp-autocorking=0", THEIRS]);
    assert_says(&said, "connections came and went");
    assert_says(&said, "Leave out --their-load");
}

#[test]
fn without_traffic_nothing_is_changed_and_it_is_said_what_to_do() {
    crate::common::needs_root!();
    let bench = Bench::new("their-silence", 10);
    let said = bench.refusal(&["tcp-autocorking=0", THEIRS]);
    assert_says(&said, "no TCP connection carried anything");
    assert_says(&said, "Leave out --their-load");
    // A few requests per second do not count as traffic either.
    let _clients = Clients::at("20", &bench, &[]);
    let said = bench.refusal(&["tcp-autocorking=0", THEIRS]);
    assert_says(&said, "segments with payload went");
}

#[test]
fn traffic_that_stops_leaves_blocks_without_a_figure_and_no_claim() {
    crate::common::needs_root!();
    let bench = Bench::new("their-stop", 10);
    let clients = Clients::at(STEADY_RPS, &bench, &[]);
    let run = begun(&bench, &["nothing", THEIRS, "--rounds", "10", "--json"]);
    clients.end();
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let judgement: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(has_doubt(&judgement, "not_scored"), "{judgement}");
    assert_eq!(verdict(&judgement, "nothing"), "invalid", "{judgement}");
}

#[test]
fn a_server_that_ends_ends_the_run_and_all_is_put_back() {
    crate::common::needs_root!();
    let mut bench = Bench::new("their-end", 10);
    let _clients = Clients::at(STEADY_RPS, &bench, &[]);
    let words = ["tcp-autocorking=0", THEIRS, "--rounds", "500"];
    let run = begun(&bench, &words);
    bench.server.kill().unwrap();
    bench.server.wait().unwrap();
    let output = run.wait_with_output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_says(&said, "see whether the server has ended");
    assert_says(&said, "linerate study report");
    assert_eq!(bench.corking(), "1");
    assert!(bench.sandbox.journal().is_empty());
}

#[test]
fn killed_in_the_middle_nothing_stays() {
    crate::common::needs_root!();
    let bench = Bench::new("their-killed", 10);
    let _clients = Clients::at(STEADY_RPS, &bench, &[]);
    bench.killed_in_the_middle(&["tcp-autocorking=0", THEIRS]);
}

#[test]
fn what_says_how_load_is_offered_is_refused_by_name() {
    crate::common::needs_root!();
    let bench = Bench::new("their-words", 10);
    for words in [
        &["--connections", "4"][..],
        &["--threads", "2"],
        &["--header", "Accept: */*"],
        &["--body", "x"],
        &["--method", "POST"],
        &["--http2"],
        &["--pipeline", "8"],
        &["--insecure"],
    ] {
        let said = bench.refusal(&[&["tcp-autocorking=0", THEIRS], words].concat());
        assert_says(&said, "'--their-load' cannot be used with");
        assert_says(&said, words[0]);
    }
}

#[test]
fn another_user_is_told_that_the_cpu_time_of_the_server_is_hidden() {
    crate::common::needs_root!();
    let bench = Bench::new("their-nobody", 10);
    let _clients = Clients::at(STEADY_RPS, &bench, &[]);
    let program = bench.folder.path().join("linerate");
    as_nobody::copy_program(&program);
    let out = bench.run_folder();
    let words = bench.words(&["tcp-autocorking=0", THEIRS], out.to_str().unwrap());
    let user = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let words = [&user[..], &[program.to_str().unwrap(), "levers"], &words].concat();
    let mut command: Command = bench.sandbox.command(&words);
    let output = command.output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_says(&said, "run this as root or as the server's user");
}
