//! What `linerate load` prints and refuses.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::load_program::{load, load_json};
use crate::common::load_server::{OK, answer_each, answer_with};
use crate::common::processes::signal;
use crate::common::{assert_says, refusal_of, refused, words};

fn refusal(url: &str, arguments: &[&str]) -> String {
    refused(&load(url, arguments))
}

#[test]
fn the_answer_comes_first_in_one_sentence() {
    let url = format!("http://{}/json?token=secret", answer_with(OK));
    let output = load(
        &url,
        &["-d", "300ms", "--settle", "0ms", "-c", "4", "-t", "2"],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(" requests/s from 4 connections, at a client CPU cost of "),
        "{text}"
    );
    assert_says(&text, "/json (");
    assert_says(&text, "leaves out the waiting");
    assert!(!text.contains("secret"), "{text}");
    assert!(output.status.success());
}

#[test]
fn the_json_of_a_closed_loop_has_every_key_and_its_bins_add_up() {
    let load = load_json(
        answer_with(OK),
        &["-d", "300ms", "-c", "4", "--settle", "100ms"],
    );
    assert_eq!(load["format"], 1);
    let errors = load["errors"].as_object().unwrap();
    let failed: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
    let count = |key: &str| load[key].as_u64().unwrap();
    assert_eq!(count("sent"), count("answered") + failed);
    assert_eq!(errors.len(), 6);
    for key in [
        "throughput_rps",
        "client_cpu_us_per_request",
        "client_busy_share",
    ] {
        assert!(load[key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert!(load["latency_us"]["service"]["p50"].as_f64().unwrap() > 0.0);
    assert!(load["latency_us"]["response"].is_null());
    assert!(load["latency_us"]["service"]["p99_999"].is_null());
}

#[test]
fn an_open_loop_reports_three_distributions() {
    let arguments = words("--rate 400 --arrivals poisson --seed 9 -d 2s");
    let load = load_json(answer_with(OK), &arguments);
    for name in ["service", "response", "lateness"] {
        assert!(
            load["latency_us"][name]["count"].as_u64().unwrap() > 100,
            "{name}: {load:#}"
        );
    }
    assert_eq!(load["pace"]["arrivals"], "poisson");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let url = format!("http://{}/", answer_with(OK));
    for (arguments, reason) in [
        (&["-c", "0"][..], "at least one connection"),
        (&["-d", "0s"], "duration above zero"),
        (&["-c", "65536"], "there are ports for"),
        (&["-c", "4294967295", "-t", "4294967295"], "65535"),
        (&["-c", "-1"], "'-1'"),
        (&["-c", "5000000000"], "--connections"),
        (&["-c", "2000", "-t", "1025"], "more than the 1024"),
        (&["-d", "NaNs"], "is not a duration"),
        (&["-d", "-1s"], "'-1'"),
        (&["-d", "1e300s"], "at most a day"),
        (&["--settle", "25h"], "at most a day"),
        (&["--rate", "0"], "rate above zero"),
        (&["--rate=-5"], "rate above zero"),
        (&["--rate", "NaN"], "rate above zero"),
        (&["--rate", "inf"], "rate above zero"),
        (&["--rate", "1e308"], "rate above zero"),
        (&["--rate", "1e-300"], "rate above zero"),
        (&["--rate", "many"], "--rate"),
        (&["-c", "2", "-t", "3"], "no more threads than connections"),
        (&["-t", "0"], "at least one thread"),
        (&["--timeout", "0s"], "timeout above zero"),
        (&["--cpus", "4000"], "may not be used"),
        (&["-H", "no colon"], "Name: value"),
        (&["-H", "A b: c"], "Name: value"),
        (&["--body", "@/nowhere/at-all"], "reading the body"),
        (&["--seed", "3"], "--rate"),
    ] {
        let error = refusal(&url, arguments);
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
}

#[test]
fn more_connections_than_open_files_are_refused_with_the_limit_and_how_to_raise_it() {
    let url = format!("http://{}/", answer_with(OK));
    let limited = "ulimit -n 100; exec \"$0\" load \"$1\" -c 100 -d 100ms";
    let mut command = std::process::Command::new("sh");
    let error = refusal_of(command.args(["-c", limited, crate::common::program(), &url]));
    assert_says(&error, "may have 100");
    assert_says(&error, "ulimit -Hn");
    assert_says(&error, "LimitNOFILE=");
}

#[test]
fn a_url_that_is_none_is_refused_with_what_one_looks_like() {
    for (url, reason) in [
        ("", "must start with http://"),
        ("127.0.0.1:8080", "must start with http://"),
        ("http://", "names no host"),
        ("http://:80/", "names no host"),
        ("http://127.0.0.1:0/", "from 1 to 65535"),
        ("http://127.0.0.1:65536/", "from 1 to 65535"),
        ("http://127.0.0.1/a b", "a space or a control character"),
        (
            "http://127.0.0.1/\u{1b}[31m",
            "a space or a control character",
        ),
        ("http://[::1/", "from 1 to 65535"),
        ("http://no.such.host.invalid/", "looking up the host"),
    ] {
        let error = refusal(url, &["-d", "100ms"]);
        assert!(error.contains(reason), "{url}: {error}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_refused_in_words() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(70_000));
    let two_lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok";
    for (answer, reason) in [
        (long.as_str(), "a head, or trailers, longer than the 64 KiB"),
        ("HTTP/1.1 101 Other\r\n\r\n", "(101 is none)"),
        (two_lengths, "or two that differ"),
    ] {
        let error = refusal(&format!("http://{}/", answer_with(answer)), &[]);
        assert_says(&error, reason);
    }
}

#[test]
fn secrets_stay_out_of_errors() {
    let error = refusal("http://user:secret@127.0.0.1/", &[]);
    assert!(
        error.contains("credentials") && !error.contains("secret"),
        "{error}"
    );
}

#[test]
fn beyond_loopback_nothing_is_loaded_without_the_owners_word() {
    // 192.0.2.0/24 is reserved for documentation (RFC 5737): nobody is there to be loaded.
    let error = refusal("http://192.0.2.1/", &[]);
    assert_says(&error, "--mine 192.0.2.1");
    let error = refusal("http://192.0.2.1/", &["--mine", "192.0.2.2"]);
    assert_says(&error, "--mine 192.0.2.1");
}

#[test]
fn an_address_of_many_machines_is_not_loaded_by_anybodys_word() {
    for address in ["255.255.255.255", "224.0.0.1"] {
        let error = refusal(&format!("http://{address}/"), &["--mine", address]);
        assert_says(&error, address);
    }
}

#[test]
fn a_port_where_nobody_listens_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = refusal(&format!("http://{address}/"), &[]);
    assert!(error.contains(&address.to_string()) && error.contains("is the server running"));
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let address = answer_with(
        b"HTTP/1.1 301 Moved\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
            .as_slice(),
    );
    let load = load_json(address, &["-d", "200ms", "-c", "2", "--settle", "0ms"]);
    assert_eq!(load["first_status"], 301);
    assert_eq!(load["errors"]["status"], 0);
    let notes = load["notes"].to_string();
    assert_says(&notes, "not followed");
}

#[test]
fn a_target_that_only_fails_exits_with_one() {
    let address = answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".as_slice());
    let output = load(&format!("http://{address}/"), &["-d", "200ms", "-c", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.starts_with("No request to ") && text.contains("the target says 500"),
        "{text}"
    );
}

#[test]
fn a_load_that_is_stopped_while_it_settles_tells_no_rate_and_no_share() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let address = answer_each(move |stream| {
        count.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(OK);
    });
    let mut command = Command::new(crate::common::program());
    command.args(["load", &format!("http://{address}/"), "--settle", "600s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.unwrap();
    let is_loaded = || asked.load(Ordering::Relaxed) > 200;
    let was_loaded = sys::clock::wait_until(Duration::from_secs(60), is_loaded);
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    assert!(was_loaded && output.status.code() == Some(130), "{text}");
    assert_says(&text, " was answered within the scored window.");
    assert_says(&text, "scored nothing: the end came after ");
    assert_says(&text, "throughput not known");
    assert!(!text.contains("the client is the limit"), "{text}");
}

#[test]
fn two_hosts_are_refused_by_name() {
    let hosts = ["-H", "Host: one.test", "-H", "host: other.test"];
    for version in [&[][..], &["--http2"]] {
        let said = refusal("http://127.0.0.1:1/", &[&hosts[..], version].concat());
        assert_says(&said, "the header `Host` is given twice");
    }
}

/// Runs the bare client, `linerate ask`, on a server whose answers have this length.
fn ask(url: &str, answer_bytes: usize) -> Output {
    let answer_bytes = answer_bytes.to_string();
    let words = [
        "ask",
        "-c",
        "4",
        "-d",
        "1s",
        "--answer-bytes",
        &answer_bytes,
    ];
    let mut command = Command::new(crate::common::program());
    command.args(words).arg(url).output().unwrap()
}

#[test]
fn the_floor_under_a_load_counts_the_answers_that_came_whole() {
    let served = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&served);
    let address = answer_each(move |stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        let (head, body) = OK.split_at(OK.len() / 2);
        let _ = stream.write_all(head).and_then(|()| stream.write_all(body));
    });
    let output = ask(&format!("http://{address}/"), OK.len());
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: u64 = said.split(' ').next().unwrap().parse().unwrap();
    let served = served.load(Ordering::Relaxed);
    assert_says(&said, " answers in ");
    // On each connection one more request may be under way.
    assert!(
        (answers..=answers + 4).contains(&served) && answers > 0,
        "{answers}, {served}"
    );
}

#[test]
fn the_floor_under_a_load_ends_where_an_answer_is_not_as_was_said() {
    let url = format!("http://{}/", answer_with(OK));
    for (url, answer_bytes, reason) in [
        (url.as_str(), OK.len() - 1, "longer than the "),
        (&url, OK.len() + 1, "no whole answer came in 1."),
        (&url, 100_000, "from 1 to 65536"),
        ("http://192.0.2.1/", 9, "only a loopback address"),
        ("https://127.0.0.1/", 9, "no https is spoken here"),
        ("http://127.0.0.1:9/", 9, "asking 127.0.0.1:9"),
    ] {
        let output = ask(url, answer_bytes);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_says(&said, reason);
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}
