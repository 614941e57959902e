//! `linerate load -n`: a load of exactly as many requests as were asked for.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::common::assert_says;
use crate::common::load_program::{failed, load, load_json, number};
use crate::common::load_server::{OK, answer_each, answer_with, read_request, serve};

/// Requests sent beforehand, to see that the target answers and that its body stays the same.
const LOOKS: u64 = 2;

/// Loads a server that counts its requests; returns its count and the report of the load.
fn counted(answer: &'static [u8], arguments: &[&str]) -> (u64, Value) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let address = answer_each(move |stream| {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(answer);
    });
    let report = load_json(address, arguments);
    (asked.load(Ordering::SeqCst), report)
}

#[test]
fn as_many_requests_as_asked_for_are_sent_over_all_connections_and_threads_and_no_more() {
    for arguments in [
        &["-n", "1000"][..],
        &["-n", "1k", "-c", "7", "-t", "3"],
        &["-n", "1000", "-c", "5", "-t", "2", "--rate", "20000"],
        &["-n", "1000", "-c", "4", "--throughput"],
        &["-n", "1000", "-c", "4", "--engine", "epoll", "--throughput"],
        &["-n", "1", "-m", "PUT"],
    ] {
        let (asked, report) = counted(OK, arguments);
        let wanted = number(&report["requests_asked"]);
        assert_eq!(asked, wanted + LOOKS, "{arguments:?}: {report:#}");
        for key in ["sent", "answered", "answered_in_window"] {
            assert_eq!(number(&report[key]), wanted, "{key} {arguments:?}");
        }
        let latency = &report["latency_us"]["service"]["count"];
        assert!(latency.is_null() || number(latency) == wanted, "{report:#}");
        assert_eq!(report["settle_seconds"], 0.0);
    }
}

#[test]
fn a_warm_up_that_is_asked_for_eats_none_of_them() {
    let (asked, report) = counted(OK, &["-n", "20", "-c", "2", "--settle", "50ms"]);
    assert_eq!(number(&report["sent"]), 20);
    assert!(asked > 20 + LOOKS, "{asked}");
    assert_eq!(report["settle_seconds"], 0.05);
}

#[test]
fn a_request_that_fails_is_one_of_them() {
    let wrong = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (asked, report) = counted(wrong, &["-n", "30", "-c", "3"]);
    assert_eq!((number(&report["sent"]), failed(&report)), (30, 30));
    assert_eq!(asked, 30 + LOOKS);
}

#[test]
fn the_time_ends_it_where_that_comes_first_and_the_report_says_so() {
    let url = format!("http://{}/", answer_with(OK));
    let output = load(&url, &["-n", "4000m", "-z", "100ms"]);
    assert_eq!(output.status.code(), Some(2), "no such count: {output:?}");
    let output = load(&url, &["-n", "4000k", "-z", "100ms"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_says(
        &text,
        " of the 4,000,000 requests of -n ended: -d 100 ms was over first",
    );
}

#[test]
fn a_server_that_goes_away_ends_it_after_the_timeout_with_what_was_asked() {
    // Each of the looks has a connection, and so has the load; then nobody listens any more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for answers in [1, 1, 3] {
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..answers {
                read_request(&mut stream).unwrap();
                stream.write_all(OK).unwrap();
            }
        }
    });
    let url = format!("http://{address}/");
    let output = load(&url, &["-n", "9", "-c", "1", "--timeout", "200ms"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_says(
        &text,
        " of the 9 requests of -n ended: for 200 ms no connection could be opened",
    );
    assert_says(&text, ", 3 answered, ");
}

#[test]
fn a_server_that_hangs_up_on_each_request_is_asked_as_often_as_was_said() {
    // Connections are opened again after pauses, longer than each is open and shorter than the timeout.
    let address = serve(|mut stream, index| {
        let _ = read_request(&mut stream);
        if (index as u64) < LOOKS {
            let _ = stream.write_all(OK);
        }
    });
    let report = load_json(address, &["-n", "14", "-c", "1", "--timeout", "400ms"]);
    assert_eq!((number(&report["sent"]), failed(&report)), (14, 14));
}

#[test]
fn the_page_says_how_long_it_took() {
    let url = format!("http://{}/", answer_with(OK));
    let output = load(&url, &["-n", "50", "-c", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_says(&text, " from 5 connections for ");
    assert_says(
        &text,
        ", from the first of 50 requests to the end of the last",
    );
    let output = load(&url, &["-n", "20", "-c", "5", "--rate", "2000"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("20 of 20 requests due at 2,000 requests/s were answered, "),
        "{text}"
    );
}

#[test]
fn counts_that_make_no_sense_are_refused_with_what_to_say() {
    let url = format!("http://{}/", answer_with(OK));
    for (arguments, reason) in [
        (&["-n", "0"][..], "-n 0 asks for nothing"),
        (&["-n", "10", "-c", "20"], "some would never carry one"),
        (&["-n", "-5"], "'-5'"),
        (&["-n", "many"], "is not a whole number"),
        (&["-n", "5", "--slo", "p99<5ms"], "cannot be used with"),
        (&["-n", "5", "--download"], "cannot be used with"),
    ] {
        let output = load(&url, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
}
