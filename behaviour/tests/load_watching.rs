//! A load that is watched: what is drawn for a person, and what is written of each interval.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::common::load_program::{load, load_json, parse};
use crate::common::load_server::{OK, answer_with};
use crate::common::{Folder, assert_says, errors};

/// Five intervals and a half, of which a busy machine may skip some edges.
const SHORT: [&str; 8] = [
    "-c",
    "4",
    "-d",
    "2200ms",
    "--settle",
    "50ms",
    "--interval",
    "400ms",
];
/// Long enough to be shown: two seconds and a little.
const SHOWN: [&str; 6] = ["-c", "2", "-d", "2s", "--settle", "150ms"];

/// One histogram of a log.
struct Logged {
    start_seconds: f64,
    seconds: f64,
    histogram: Histogram<u64>,
}

/// The histograms of a log, by tag; each line starts so long after the start that the log states.
fn read_log(text: &str) -> BTreeMap<String, Vec<Logged>> {
    let mut found: BTreeMap<String, Vec<Logged>> = BTreeMap::new();
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let LogEntry::Interval(line) = entry.unwrap() else {
            continue;
        };
        let tag = line.tag().map_or("", |tag| tag.as_str()).to_owned();
        let bytes = BASE64_STANDARD.decode(line.encoded_histogram()).unwrap();
        found.entry(tag).or_default().push(Logged {
            start_seconds: line.start_timestamp().as_secs_f64(),
            seconds: line.duration().as_secs_f64(),
            histogram: deserializer.deserialize(&mut &bytes[..]).unwrap(),
        });
    }
    found
}

/// All of a tag's histograms added up.
fn whole(lines: &[Logged]) -> Histogram<u64> {
    let mut sum = Histogram::new(2).unwrap();
    for line in lines {
        sum.add(&line.histogram).unwrap();
    }
    sum
}

/// The log of a load, and its report.
fn logged(address: SocketAddr, arguments: &[&str]) -> (String, Value) {
    let folder = Folder::new(&format!("hlog-{}", address.port()));
    let file = folder.path().join("run.hlog");
    let flags = ["--hlog", file.to_str().unwrap()];
    let report = load_json(address, &[&SHORT[..], &flags, arguments].concat());
    (folder.text("run.hlog"), report)
}

fn assert_is_that_of_the_page(lines: &[Logged], page: &Value) {
    let sum = whole(lines);
    assert_eq!(page["count"], sum.len(), "{page}");
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9)] {
        let us = page[name].as_f64().unwrap();
        assert!((us - sum.value_at_quantile(quantile) as f64 / 1e3).abs() < 1e-6);
    }
}

#[test]
fn the_intervals_of_the_log_follow_one_another_and_add_up_to_the_page() {
    let before = sys::clock::wall();
    let (text, report) = logged(answer_with(OK), &["--rate", "400"]);
    let log = read_log(&text);
    assert_eq!(log.keys().collect::<Vec<_>>(), ["", "lateness", "service"]);
    let latency = &report["latency_us"];
    assert_is_that_of_the_page(&log[""], &latency["response"]);
    assert_is_that_of_the_page(&log["service"], &latency["service"]);
    assert_eq!(latency["lateness"]["count"], whole(&log["lateness"]).len());
    let mut end_seconds = 0.0;
    for line in &log[""] {
        assert!((line.start_seconds - end_seconds).abs() < 0.002, "{text}");
        end_seconds = line.start_seconds + line.seconds;
    }
    let window_seconds = report["window_seconds"].as_f64().unwrap();
    assert!((end_seconds - window_seconds).abs() < 0.05, "{end_seconds}");
    assert!((2..=6).contains(&log[""].len()), "{text}");
    let start = text.split("#[StartTime: ").nth(1).unwrap();
    let start: f64 = start.split(' ').next().unwrap().parse().unwrap();
    let began = before.duration_since(std::time::UNIX_EPOCH).unwrap();
    let until_start_seconds = start - began.as_secs_f64();
    assert!((0.0..60.0).contains(&until_start_seconds), "{start}");
}

#[test]
fn in_closed_loop_the_log_has_the_service_times_alone() {
    let (text, report) = logged(answer_with(OK), &[]);
    let log = read_log(&text);
    assert_eq!(log.keys().collect::<Vec<_>>(), [""]);
    assert_is_that_of_the_page(&log[""], &report["latency_us"]["service"]);
}

/// A line of figures, each cell by the name of its column.
type Row = BTreeMap<String, String>;

fn rows(text: &str) -> Vec<Row> {
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = text.lines().map(cells);
    let names = lines.next().unwrap();
    lines
        .map(|line| names.iter().cloned().zip(line).collect())
        .collect()
}

fn sum(rows: &[Row], name: &str) -> f64 {
    let number = |row: &Row| row[name].parse::<f64>().unwrap();
    rows.iter().map(number).sum()
}

#[test]
fn the_rows_of_the_figures_add_up_to_the_page() {
    let folder = Folder::new("csv");
    let file = folder.path().join("run.csv");
    let flags = ["--csv", file.to_str().unwrap(), "--rate", "400"];
    let report = load_json(answer_with(OK), &[&SHORT[..], &flags].concat());
    let text = folder.text("run.csv");
    let rows = rows(&text);
    assert!((2..=6).contains(&rows.len()), "{text}");
    assert_eq!(report["answered_in_window"], sum(&rows, "answered"));
    assert_eq!(report["received_bytes"], sum(&rows, "received_bytes"));
    // What was asked before the window may be answered within it.
    let asked_before = report["connections"].as_f64().unwrap();
    assert!(
        sum(&rows, "sent") + asked_before >= sum(&rows, "answered"),
        "{text}"
    );
    let window_seconds = report["window_seconds"].as_f64().unwrap();
    assert!((sum(&rows, "length_seconds") - window_seconds).abs() < 0.05);
    for row in &rows {
        assert_eq!(row["offered_rps"], "400");
        assert_eq!(row["failed_status"], "0");
        assert_eq!(row["response_us_p99"], "", "too few to tell: {text}");
        // Twenty requests are enough for a median.
        let answered: u64 = row["answered"].parse().unwrap();
        assert!(
            answered < 25 || !row["response_us_p50"].is_empty(),
            "{text}"
        );
    }
}

#[test]
fn a_failure_is_in_the_row_of_its_interval_and_closed_loop_has_no_response() {
    let address = answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".as_slice());
    let output = load(
        &format!("http://{address}/"),
        &[&SHORT[..], &["--csv", "-", "--quiet"]].concat(),
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = rows(&text);
    assert!(sum(&rows, "failed_status") > 0.0, "{text}");
    assert!(
        rows.iter()
            .all(|row| row["response_us_p50"].is_empty() && row["offered_rps"].is_empty())
    );
    assert!(output.stderr.is_empty());
}

#[test]
fn figures_on_standard_output_put_the_page_on_standard_error() {
    let url = format!("http://{}/", answer_with(OK));
    let output = load(&url, &[&SHORT[..], &["--csv", "-"]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        text.starts_with("time_unix_seconds,start_seconds,"),
        "{text}"
    );
    assert!(!text.contains("requests/s"), "{text}");
    assert_says(&errors(&output), " requests/s from 4 connections");
    let output = load(&url, &["--csv", "-", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&errors(&output), "both want standard output");
}

#[test]
fn what_cannot_be_written_is_named_and_costs_nothing_that_was_measured() {
    let url = format!("http://{}/", answer_with(OK));
    for flag in ["--csv", "--hlog"] {
        let output = load(&url, &[flag, "/nowhere/at/all", "-d", "100ms"]);
        assert_eq!(output.status.code(), Some(2));
        assert_says(&errors(&output), "cannot write `/nowhere/at/all`");
        let output = load(&url, &[&SHORT[..], &[flag, "/dev/full"]].concat());
        assert_eq!(output.status.code(), Some(2));
        let told = errors(&output);
        assert_says(&told, "`/dev/full`: No space left");
        let page = String::from_utf8(output.stdout).unwrap();
        assert_says(&page, " requests/s from 4 connections");
    }
}

#[test]
fn flags_of_intervals_are_refused_where_they_do_not_fit() {
    for (arguments, reason) in [
        (&["--interval", "1s"][..], "--csv"),
        (&["--csv", "-", "--interval", "1ms"], "the shortest is 10ms"),
        (&["--hlog", "x", "--throughput"], "--throughput"),
        (&["--hlog", "x", "--download"], "--download"),
        (&["--csv", "x", "--slo", "p99<5ms"], "--slo"),
        (&["--csv", "x", "--hlog", "./x"], "both want `x`"),
    ] {
        let output = load("http://127.0.0.1:1/", arguments);
        assert_eq!(output.status.code(), Some(2));
        let told = errors(&output);
        assert!(told.contains(reason), "{arguments:?}: {told}");
    }
}

/// What a load shows on a terminal of its own.
fn on_a_terminal(address: SocketAddr, flags: &str) -> String {
    let program = crate::common::program();
    let arguments = SHOWN.join(" ");
    let line =
        format!("stty cols 100 rows 20; {program} load http://{address}/ {arguments} {flags}");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let output = script.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_terminal_shows_rate_latency_errors_and_time_left_and_then_the_page_alone() {
    let shown = on_a_terminal(answer_with(OK), "--rate 2000");
    let (drawn, page) = shown
        .split_once("of 2,000 requests/s were answered")
        .unwrap();
    let frames: Vec<&str> = drawn
        .split('\r')
        .filter(|frame| frame.contains(" s left"))
        .collect();
    assert!(!frames.is_empty(), "{shown}");
    // Eight a second for 2.15 s, and a few as the line begins and ends.
    assert!(frames.len() <= 20, "{} frames: {shown}", frames.len());
    // An interval in which a busy machine answered little has no p99.
    for what in [" requests/s", "p50 ", "p99 ", "0 failed", " s left"] {
        assert!(
            frames.iter().any(|frame| frame.contains(what)),
            "{what} in {shown}"
        );
    }
    assert!(!page.contains(" s left"), "{page}");
}

#[test]
fn nothing_is_drawn_for_programs_nor_for_who_wants_quiet() {
    let address = answer_with(OK);
    std::thread::scope(|scope| {
        for flags in ["--quiet", "--json", "--csv -"] {
            scope.spawn(move || {
                let shown = on_a_terminal(address, flags);
                assert!(!shown.contains(" s left"), "{flags}: {shown}");
            });
        }
    });
}

#[test]
fn where_there_is_no_terminal_plain_lines_tell_how_far_it_is() {
    let output = load(&format!("http://{}/", answer_with(OK)), &SHOWN);
    let told = errors(&output);
    assert!(output.status.success(), "{told}");
    let lines: Vec<&str> = told
        .lines()
        .filter(|line| line.contains(" s left"))
        .collect();
    assert!((1..=10).contains(&lines.len()), "{told}");
    assert!(
        lines.iter().all(|line| line.contains(" requests/s, ")),
        "{told}"
    );
    assert!(!told.contains('\u{1b}'), "{told}");
}

/// How many sockets each thread of a process has in its table of open files, fewest first.
fn sockets_by_thread(pid: u32) -> Vec<usize> {
    let is_socket = |file: &std::fs::DirEntry| {
        let leads_to = std::fs::read_link(file.path());
        leads_to.is_ok_and(|place| place.to_string_lossy().starts_with("socket:"))
    };
    let count = |thread: std::io::Result<std::fs::DirEntry>| {
        let files = std::fs::read_dir(thread.unwrap().path().join("fd")).unwrap();
        files.flatten().filter(is_socket).count()
    };
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut counts: Vec<usize> = threads.map(count).collect();
    counts.sort_unstable();
    counts
}

/// With a shared table of open files, each request would cost the load two counter updates.
#[test]
fn the_thread_that_watches_has_none_of_the_sockets_of_the_load() {
    let folder = Folder::new("watched");
    let file = folder.path().join("run.csv");
    let url = format!("http://{}/", answer_with(OK));
    let mut command = Command::new(crate::common::program());
    command.args(["load", &url, "--json", "-t", "1", "-c", "8", "-d", "60s"]);
    command.args(["--csv", file.to_str().unwrap(), "--interval", "10ms"]);
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut counts = Vec::new();
    sys::clock::wait_until(Duration::from_secs(30), || {
        counts = sockets_by_thread(child.id());
        counts == [0, 8] && folder.text("run.csv").lines().count() > 2
    });
    sys::process::terminate(&child).unwrap();
    child.wait_with_output().unwrap();
    assert_eq!(counts, [0, 8]);
}

#[test]
fn a_load_that_is_stopped_has_written_what_was_measured_until_then() {
    let folder = Folder::new("csv-stopped");
    let file = folder.path().join("run.csv");
    let address = answer_with(OK);
    let mut command = Command::new(crate::common::program());
    let url = format!("http://{address}/");
    command.args(["load", &url, "--json", "-d", "60s", "--interval", "100ms"]);
    command.args(["--csv", file.to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let has_rows = || folder.text("run.csv").lines().count() > 2;
    assert!(sys::clock::wait_until(Duration::from_secs(30), has_rows));
    sys::process::terminate(&child).unwrap();
    let output: Output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let text = folder.text("run.csv");
    assert_eq!(
        parse(&output)["answered_in_window"],
        sum(&rows(&text), "answered")
    );
}
