//! Servers that send without end: a load ends in time, and keeps next to nothing of what they send.

use std::process::{Command, Output};

use crate::common::load_program::{failed, number, parse};
use crate::load_http2::frames::{
    ACK, CONTINUATION, DATA, HEADERS, PING, STATUS_200, Wire, serve_with,
};

/// The address space that a load may take, in KiB, and the time, in s.
const MOST_KIB: u32 = 500_000;
const MOST_S: u32 = 30;
/// More than fits in `MOST_KIB`.
const FLOOD_BYTES: usize = 1 << 30;

/// Runs a load within the bounds of memory and time; the bound of time ends it with exit code 124.
fn bounded(url: &str, connections: &str) -> Output {
    let program = crate::common::program();
    let limited = format!("ulimit -v {MOST_KIB}; exec timeout {MOST_S} \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, program, "load", url]);
    command.args(["--http2", "--threads", "1", "-c", connections, "--json"]);
    command.args(["-d", "300ms", "--settle", "0ms", "--timeout", "3s"]);
    command.output().unwrap()
}

/// Runs a load on a server that answers on the first two connections, which are the first look, and
/// floods the others; the load must end with nothing answered.
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
fn a_server_that_sends_pings_and_does_not_read_the_answers_is_read_no_further() {
    ends_with_nothing_answered("pings", "8", |wire, _| {
        wire.flood((PING, 0, 0), &[0; 8], FLOOD_BYTES);
    });
}

#[test]
fn a_server_that_sends_what_is_no_answer_does_not_keep_a_load_from_its_clock() {
    ends_with_nothing_answered("answers to pings", "1", |wire, _| {
        wire.flood((PING, ACK, 0), &[0; 8], usize::MAX);
    });
    ends_with_nothing_answered("pieces of a byte", "1", |wire, stream| {
        wire.head(stream, &[STATUS_200], true);
        wire.flood((DATA, 0, stream), b"x", usize::MAX);
    });
}

#[test]
fn a_server_whose_head_has_no_end_is_given_up() {
    ends_with_nothing_answered("a head", "64", |wire, stream| {
        // `:status: 200`, and one more field of the static table, over and over.
        wire.say(HEADERS, 0, stream, STATUS_200);
        wire.flood((CONTINUATION, 0, stream), &[0x90; 8000], FLOOD_BYTES);
    });
}
