//! Servers that send without end: a load ends in time, and keeps next to nothing of what came.

use std::process::{Command, Output};

use crate::common::load_program::{failed, number, parse};
use crate::load_http2::frames::{
    ACK, CONTINUATION, DATA, HEADERS, PING, STATUS_200, Wire, serve_with,
};

/// What a load may take of memory's addresses, in KiB, and of time, in s.
const MOST_KIB: u32 = 500_000;
const MOST_S: u32 = 30;
/// More than fits in that.
const FLOOD_BYTES: usize = 1 << 30;

/// A load of so many connections in bounds of memory and time, of which the second ends it with 124.
fn bounded(url: &str, connections: &str) -> Output {
    let program = crate::common::program();
    let limited = format!("ulimit -v {MOST_KIB}; exec timeout {MOST_S} \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, program, "load", url]);
    command.args(["--http2", "--threads", "1", "-c", connections, "--json"]);
    command.args(["-d", "300ms", "--settle", "0ms", "--timeout", "3s"]);
    command.output().unwrap()
}

/// Holds a load against a server that answers its two first connections, which look at it, and does this on
/// the others.
fn ends_with_nothing_answered(what: &str, connections: &str, flood: fn(&mut Wire, u32)) {
    let address = serve_with(&[], move |wire| {
        while let Some(stream) = wire.next_request() {
            match wire.index {
                0 | 1 => wire.answer(stream),
                _ => flood(wire, stream),
            }
        }
    });
    let output = bounded(&format!("http://{address}/"), connections);
    assert_eq!(output.status.code(), Some(1), "{what}: {output:?}");
    let report = parse(&output);
    assert_eq!(number(&report["answered"]), 0, "{what}: {report:#}");
    let unfinished = number(&report["errors"]["unfinished"]);
    assert!(failed(&report) + unfinished > 0, "{what}: {report:#}");
}

#[test]
fn one_that_has_pings_answered_and_reads_nothing_is_not_heard_on() {
    ends_with_nothing_answered("pings", "8", |wire, _| {
        wire.flood((PING, 0, 0), &[0; 8], FLOOD_BYTES);
    });
}

#[test]
fn one_that_sends_what_is_no_answer_does_not_keep_a_load_from_its_clock() {
    ends_with_nothing_answered("answers to pings", "1", |wire, _| {
        wire.flood((PING, ACK, 0), &[0; 8], usize::MAX);
    });
    ends_with_nothing_answered("pieces of a byte", "1", |wire, stream| {
        wire.head(stream, &[STATUS_200], true);
        wire.flood((DATA, 0, stream), b"x", usize::MAX);
    });
}

#[test]
fn one_whose_head_has_no_end_is_left() {
    ends_with_nothing_answered("a head", "64", |wire, stream| {
        // `:status: 200`, and one more field of the static table, over and over.
        wire.say(HEADERS, 0, stream, STATUS_200);
        wire.flood((CONTINUATION, 0, stream), &[0x90; 8000], FLOOD_BYTES);
    });
}
