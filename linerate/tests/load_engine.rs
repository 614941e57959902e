//! What carries the bytes: as asked for, and epoll where the kernel refuses io_uring.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod load_program;
mod load_server;

use std::net::SocketAddr;
use std::process::{Command, Output};

use load_program::{load_json, parse};
use load_server::{OK, answer_with};
use sys::process::{ChildSetup, FilterInstruction, prepare_child};

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

/// Runs a load that lives under a filter which refuses to set up a ring.
fn load_without_uring(address: SocketAddr, engine: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(["load", &format!("http://{address}/"), "--json"]);
    command.args(SHORT).args(["--engine", engine]);
    let setup = ChildSetup {
        seccomp: refuse_io_uring_setup().to_vec(),
        ..ChildSetup::default()
    };
    prepare_child(&mut command, setup);
    command.output().unwrap()
}

/// Loads the number of the system call, and refuses one of them with `EPERM`.
fn refuse_io_uring_setup() -> [FilterInstruction; 4] {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const REFUSE_WITH_EPERM: u32 = 0x0005_0001;
    // The same on every architecture: asm-generic/unistd.h.
    const IO_URING_SETUP: u32 = 425;
    let instruction = |code, jump_false, value| FilterInstruction {
        code,
        jump_true: 0,
        jump_false,
        value,
    };
    [
        instruction(LOAD, 0, 0),
        instruction(JUMP_IF_EQUAL, 1, IO_URING_SETUP),
        instruction(RETURN, 0, REFUSE_WITH_EPERM),
        instruction(RETURN, 0, ALLOW),
    ]
}
