//! What becomes of single streams: each request ends in exactly one bin, and the others go on.

use crate::common::load_program::{failed, number};
use crate::load_http2::frames::{
    FIRST_STREAM, INTERNAL_ERROR, LENGTH_9, REFUSED_STREAM, STATUS_200, STATUS_500, serve_requests,
    serve_with,
};
use crate::load_http2::{assert_fails_as, measure_briefly};

/// Whether a stream is one that goes wrong: every second, and not the first of a connection, which
/// is a first look.
fn is_odd_one(stream: u32) -> bool {
    stream % 4 == 3
}

#[test]
fn a_stream_that_is_reset_or_refused_is_in_the_bin_closed_and_costs_no_other() {
    for code in [INTERNAL_ERROR, REFUSED_STREAM] {
        let address = serve_requests(move |wire, stream| match is_odd_one(stream) {
            true => wire.reset(stream, code),
            false => wire.answer(stream),
        });
        let report = measure_briefly(address, &[]);
        assert_fails_as(&report, "closed");
        assert!(number(&report["answered"]) > 0, "{report:#}");
        assert_eq!(report["connections_reopened"], 0, "{report:#}");
    }
}

#[test]
fn a_stream_that_is_reset_in_the_midst_of_its_body_is_in_the_bin_closed() {
    let address = serve_requests(|wire, stream| match is_odd_one(stream) {
        true => {
            wire.head(stream, &[STATUS_200], true);
            wire.data(stream, b"half", true);
            wire.reset(stream, INTERNAL_ERROR);
        }
        false => wire.answer(stream),
    });
    assert_fails_as(&measure_briefly(address, &[]), "closed");
}

#[test]
fn a_body_of_another_length_than_was_said_is_in_the_bin_malformed() {
    for body in [b"short".as_slice(), b"far too long"] {
        let address = serve_requests(move |wire, stream| match is_odd_one(stream) {
            true => {
                wire.head(stream, &[STATUS_200, LENGTH_9], true);
                wire.data(stream, body, false);
            }
            false => wire.answer(stream),
        });
        let report = measure_briefly(address, &[]);
        assert_fails_as(&report, "malformed");
        assert!(number(&report["answered"]) > 0, "{report:#}");
        assert_eq!(report["connections_reopened"], 0, "{report:#}");
    }
}

#[test]
fn answers_that_end_with_trailers_or_with_their_head_or_by_an_empty_piece_are_answered() {
    let address = serve_requests(|wire, stream| match stream % 6 {
        1 => wire.answer(stream),
        3 => {
            wire.head(stream, &[STATUS_200], true);
            wire.data(stream, b"ok", true);
            wire.head(stream, &[TRAILER], false);
        }
        _ => {
            wire.head(stream, &[STATUS_200], true);
            wire.data(stream, b"o", true);
            wire.data(stream, b"k", true);
            wire.data(stream, b"", false);
        }
    });
    let report = measure_briefly(address, &[]);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert!(number(&report["answered"]) > 20, "{report:#}");
    let empty = serve_requests(|wire, stream| wire.head(stream, &[STATUS_200], false));
    assert_eq!(failed(&measure_briefly(empty, &[])), 0);
}

/// `a: b`, not to be indexed.
const TRAILER: &[u8] = &[0, 1, b'a', 1, b'b'];

#[test]
fn interim_answers_are_passed_over() {
    // `:status: 103` by the name of the static table.
    const HINTS: &[u8] = &[0x08, 3, b'1', b'0', b'3'];
    let address = serve_requests(|wire, stream| {
        wire.head(stream, &[HINTS], true);
        wire.answer(stream);
    });
    let report = measure_briefly(address, &[]);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert_eq!(report["first_status"], 200);
}

#[test]
fn an_error_status_and_another_body_have_their_bins() {
    let address = serve_requests(|wire, stream| match is_odd_one(stream) {
        true => wire.head(stream, &[STATUS_500], false),
        false => wire.answer(stream),
    });
    assert_fails_as(&measure_briefly(address, &[]), "status");
    // The first look gets two equal bodies; later bodies differ from them.
    let address = serve_requests(|wire, stream| {
        wire.head(stream, &[STATUS_200], true);
        let is_right = wire.index < 2 || stream < 100;
        wire.data(stream, if is_right { b"right" } else { b"wrong" }, false);
    });
    assert_fails_as(&measure_briefly(address, &[]), "body");
}

#[test]
fn a_stream_that_stalls_is_given_up_and_the_connection_goes_on() {
    let address = serve_requests(|wire, stream| {
        if wire.index < 2 || stream != FIRST_STREAM {
            wire.answer(stream);
        }
    });
    let report = measure_briefly(address, &["--timeout", "1s", "-d", "3s"]);
    assert_fails_as(&report, "timeout");
    assert!(number(&report["answered"]) > 0, "{report:#}");
    assert_eq!(report["connections_reopened"], 0, "{report:#}");
}

#[test]
fn a_late_answer_to_a_request_that_was_given_up_harms_nobody() {
    let address = serve_with(&[], |wire| {
        let mut late = Vec::new();
        while let Some(stream) = wire.next_request() {
            // At least one of the eight streams is always answered.
            if wire.index >= 2 && is_odd_one(stream) && late.len() < 7 {
                late.push(stream);
            } else {
                wire.answer(stream);
            }
            if wire.resets == 7 {
                wire.resets = 0;
                late.drain(..).for_each(|stream| wire.answer(stream));
            }
        }
    });
    let report = measure_briefly(address, &["--timeout", "1s", "-d", "3s", "--streams", "8"]);
    assert_fails_as(&report, "timeout");
    assert_eq!(report["connections_reopened"], 0, "{report:#}");
}
