//! A load on a server that stops answering, or answers too late, does not pass for a good one.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::assert_says;
use crate::common::load_program::{doubts, load, load_json, number};
use crate::common::load_server::{OK, answer_each, read_request};

/// A server that answers the two looks and `answers` requests of one connection, and is then gone.
fn gone_after(answers: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for answers in [1, 1, answers] {
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..answers {
                read_request(&mut stream).unwrap();
                stream.write_all(OK).unwrap();
            }
        }
    });
    address
}

/// A server that gives this many answers, two of them to the looks, and then falls silent.
fn silent_after(answers: u64) -> SocketAddr {
    let asked = AtomicU64::new(0);
    answer_each(move |stream| {
        if asked.fetch_add(1, Ordering::Relaxed) < answers {
            let _ = stream.write_all(OK);
        }
    })
}

#[test]
fn a_server_that_goes_away_is_a_doubt_and_a_longer_load_is_not_advised() {
    for rate in [&[][..], &["--rate", "1000"]] {
        let arguments = [&["-c", "1", "-d", "2s", "--settle", "0ms"][..], rate].concat();
        let load = load_json(gone_after(500), &arguments);
        assert!(doubts(&load).contains(&"stopped_answering"), "{load:#}");
        let said = load["doubts"].to_string();
        assert_says(&said, " attempts to connect failed");
        let notes = load["notes"].to_string();
        assert!(!notes.contains("throughput"), "{notes}");
        assert!(number(&load["connections_failed"]) > 1, "{load:#}");
    }
}

/// A load with 250 requests due, of which one hundred or fewer are answered: the median is not
/// among these.
const BEYOND: [&str; 8] = ["-c", "1", "--rate", "500", "-d", "500ms", "--settle", "0ms"];

#[test]
fn requests_that_were_due_and_never_sent_are_counted() {
    let load = load_json(silent_after(102), &BEYOND);
    let [unsent, unanswered] = ["due_unsent", "due_unanswered"].map(|key| number(&load[key]));
    assert!(unsent > 100 && unanswered >= unsent, "{load:#}");
    let response = number(&load["latency_us"]["response"]["count"]);
    assert!(unanswered < response, "{load:#}");
    assert!(doubts(&load).contains(&"rate_not_reached"), "{load:#}");
}

#[test]
fn a_median_that_falls_on_unanswered_requests_is_reported_as_a_lower_bound() {
    let url = format!("http://{}/", silent_after(102));
    let page = String::from_utf8(load(&url, &BEYOND).stdout).unwrap();
    let text = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert_says(&text, ", and half of those due took at least ");
    assert_says(&text, " due and never sent");
    assert_says(
        &text,
        " due requests had no answer: their reported times are too low",
    );
    assert!(!text.contains("half of them within"), "{page}");
}
