//! The engine of a load: the one that was asked for, and epoll where the kernel refuses io_uring.

use std::net::SocketAddr;
use std::process::{Command, Output};

use crate::common::load_program::{load_json, parse};
use crate::common::load_server::{OK, answer_with};
use crate::common::refused_call::{IO_URING_SETUP, refuse};

const EPERM: u16 = 1;
const SHORT: [&str; 4] = ["-d", "100ms", "--settle", "10ms"];

#[test]
fn the_engine_that_was_asked_for_is_used_and_named() {
    let address = answer_with(OK.to_vec());
    let report = load_json(address, &[&SHORT[..], &["--engine", "epoll"]].concat());
    assert_eq!(report["engine"], "epoll");
}

#[test]
fn where_io_uring_is_refused_epoll_takes_its_place() {
    let report = parse(&load_without_uring(answer_with(OK.to_vec()), "auto"));
    assert_eq!(report["engine"], "epoll");
    assert!(report["answered"].as_u64() > Some(0), "{report}");
}

#[test]
fn io_uring_asked_for_by_name_and_refused_is_an_error_that_says_so() {
    let output = load_without_uring(answer_with(OK.to_vec()), "uring");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("io_uring"),
        "{told}"
    );
}

#[test]
fn throughput_mode_reports_no_latency() {
    let address = answer_with(OK.to_vec());
    let report = load_json(address, &[&SHORT[..], &["--throughput"]].concat());
    assert!(report["latency_us"]["service"].is_null(), "{report}");
    assert!(report["answered"].as_u64() > Some(0), "{report}");
}

/// Runs a load under a filter of system calls that refuses to set up a ring.
fn load_without_uring(address: SocketAddr, engine: &str) -> Output {
    let mut command = Command::new(crate::common::program());
    command.args(["load", &format!("http://{address}/"), "--json"]);
    command.args(SHORT).args(["--engine", engine]);
    refuse(&mut command, IO_URING_SETUP, EPERM);
    command.output().unwrap()
}
