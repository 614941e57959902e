//! What becomes of streams whose connection ends or is to end.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::load_program::{failed, number};
use crate::common::load_server::serve;
use crate::load_http2::frames::{HEADERS, INTERNAL_ERROR, NO_ERROR, STATUS_200, greet, serve_with};
use crate::load_http2::{Booked, assert_fails_as, measure_briefly};

/// Requests that are answered on a connection before it ends.
const BEFORE_THE_END: u32 = 10;

#[test]
fn a_connection_that_ends_in_good_order_loses_no_request() {
    let answered = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&answered);
    let address = serve_with(&[], move |wire| {
        let mut last = 0;
        for count in 0.. {
            let Some(stream) = wire.next_request() else {
                return;
            };
            // Requests that come after the farewell are ignored, as servers do.
            if count < BEFORE_THE_END {
                last = stream;
                counted.fetch_add(1, Ordering::Relaxed);
                wire.answer(stream);
            }
            if count + 1 == BEFORE_THE_END {
                wire.go_away(last, NO_ERROR);
            }
        }
    });
    let report = measure_briefly(address, &[]);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert!(number(&report["connections_reopened"]) > 0, "{report:#}");
    let mut booked = Booked::default();
    booked.add(&report);
    booked.assert_agrees_with(answered.load(Ordering::Relaxed));
}

#[test]
fn streams_that_were_begun_before_a_farewell_are_still_answered() {
    let address = serve_with(&[], |wire| {
        while let Some(first) = wire.next_request() {
            if wire.index < 2 {
                wire.answer(first);
                continue;
            }
            let Some(second) = wire.next_request() else {
                return;
            };
            wire.go_away(second, NO_ERROR);
            wire.answer(second);
            wire.answer(first);
        }
    });
    let report = measure_briefly(address, &["--streams", "2"]);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert!(number(&report["connections_reopened"]) > 1, "{report:#}");
}

#[test]
fn a_server_that_always_says_farewell_first_is_not_asked_without_end() {
    let address = serve_with(&[], |wire| {
        while let Some(stream) = wire.next_request() {
            match wire.index < 2 {
                true => wire.answer(stream),
                false => wire.go_away(0, NO_ERROR),
            }
        }
    });
    let report = measure_briefly(address, &[]);
    assert_fails_as(&report, "closed");
    assert_eq!(report["answered"], 0);
}

#[test]
fn a_connection_that_ends_for_an_error_or_without_a_word_has_closed_for_each_of_its_streams() {
    for says_why in [true, false] {
        let address = serve_with(&[], move |wire| {
            let streams = if wire.index < 2 { 1 } else { 4 };
            let mut last = 0;
            for _ in 0..streams {
                let Some(stream) = wire.next_request() else {
                    return;
                };
                last = stream;
            }
            if streams == 1 {
                wire.answer(last);
                return;
            }
            // Half of an answer, and then nothing more for anybody.
            wire.head(last, &[STATUS_200], true);
            wire.data(last, b"half", true);
            if says_why {
                wire.go_away(0, INTERNAL_ERROR);
            }
        });
        let report = measure_briefly(address, &[]);
        assert_fails_as(&report, "closed");
        let opened =
            number(&report["connections_opened"]) + number(&report["connections_reopened"]);
        assert!(
            number(&report["errors"]["closed"]) + 4 >= 4 * (opened - 1),
            "{report:#}"
        );
        assert_eq!(report["answered"], 0, "{report:#}");
    }
}

#[test]
fn a_server_that_breaks_the_rules_is_in_the_bin_malformed() {
    let address = serve_with(&[], |wire| {
        while let Some(stream) = wire.next_request() {
            match wire.index < 2 {
                true => wire.answer(stream),
                // An index of no table (RFC 7541 §2.3.3).
                false => wire.say(HEADERS, 4, stream, &[0xff, 0x7f]),
            }
        }
    });
    let report = measure_briefly(address, &[]);
    assert_fails_as(&report, "malformed");
    assert!(number(&report["connections_reopened"]) > 0, "{report:#}");
}

#[test]
fn a_connection_on_which_all_times_out_is_given_up_for_a_new_one() {
    let address = serve_with(&[], |wire| {
        while let Some(stream) = wire.next_request() {
            // The first connection after those of the first look is never answered.
            if wire.index != 2 {
                wire.answer(stream);
            }
        }
    });
    let report = measure_briefly(address, &["--timeout", "500ms", "-d", "1500ms"]);
    assert_fails_as(&report, "timeout");
    assert!(number(&report["errors"]["timeout"]) >= 4, "{report:#}");
    assert!(number(&report["answered"]) > 0, "{report:#}");
    assert!(number(&report["connections_reopened"]) >= 1, "{report:#}");
}

#[test]
fn a_connection_that_never_opens_has_failed_and_one_that_is_opening_at_the_end_has_not() {
    // An attempt is given up after two seconds; when this load ends, the next is a second old.
    let address = serve(|mut stream, index| {
        if index > 2 {
            let _ = stream.read_to_end(&mut Vec::new());
        } else if let Some(mut wire) = greet(stream, index, &[]) {
            while let Some(stream) = wire.next_request() {
                wire.answer(stream);
            }
        }
    });
    let flags = ["-c", "2", "--timeout", "5s", "-d", "1s"];
    let report = measure_briefly(address, &flags);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert_eq!(report["connections_opened"], 1, "{report:#}");
    assert_eq!(report["connections_failed"], 1, "{report:#}");
}
