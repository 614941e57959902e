//! `--engine`: which engine serves, and what is said where one cannot.

use std::io::Read as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::client::{Client, PATIENCE};
use super::server::{Server, program, refusal};
use crate::common::assert_says;
use crate::common::refused_call::{IO_URING_SETUP, refuse};

/// Errors of io_uring_setup(2), and the reason that is given for each.
const ERRORS: [(u16, &str); 3] = [
    (1, "io_uring is not permitted (EPERM)"),
    (38, "io_uring is not there (ENOSYS)"),
    (22, "that takes Linux 6.1"),
];

#[test]
fn the_engine_that_serves_is_told_and_is_the_one_that_was_asked_for() {
    for (wish, name, place) in [
        (&[][..], "epoll", "anon_inode:[eventpoll]"),
        (&["--engine", "epoll"], "epoll", "anon_inode:[eventpoll]"),
        (&["--engine", "uring"], "uring", "anon_inode:[io_uring]"),
    ] {
        let mut command = Command::new(program());
        command.args(["serve", "--listen", "0", "--workers", "1", "--json"]);
        let mut server = command.args(wish).stdout(Stdio::piped()).spawn().unwrap();
        let told = first_line(&mut server);
        let told: Value = serde_json::from_str(&told).unwrap();
        let mut client = Client::connect(told["listening"].as_str().unwrap().parse().unwrap());
        let status = client.get("/json").status;
        let places = places(server.id());
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!((status, &told["engine"]), (200, &Value::from(name)));
        let engines = ["[eventpoll]", "[io_uring]"];
        let found: Vec<&String> = places
            .iter()
            .filter(|place| engines.iter().any(|engine| place.ends_with(engine)))
            .collect();
        assert_eq!(found, [place], "{wish:?}");
    }
}

#[test]
fn a_ring_that_cannot_be_had_is_refused_with_the_reason_and_what_to_do() {
    for (error, reason) in ERRORS {
        let output = without_rings(error, &["--engine", "uring"])
            .output()
            .unwrap();
        let Output {
            status,
            stderr,
            stdout,
        } = output;
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{said}");
        assert_says(&said, reason);
        assert_says(&said, "--engine epoll");
    }
}

#[test]
fn without_a_ring_auto_serves_and_says_why() {
    for (error, reason) in ERRORS {
        let server = Server::spawn(without_rings(error, &["--workers", "1"]));
        assert_eq!(server.connect().get("/json").status, 200);
        server.terminate();
        let (status, said) = server.wait();
        assert!(status.success());
        let expected = "engine epoll: uring is not available: ";
        assert!(said.contains(expected) && said.contains(reason), "{said}");
    }
}

#[test]
fn workers_of_one_server_run_on_the_ring_too() {
    let server = on_ring(&["--workers", "2"]);
    assert_eq!(server.connect().get("/json").status, 200);
    for pid in server.workers() {
        let has_ring = || places(pid).contains(&"anon_inode:[io_uring]".to_owned());
        assert!(sys::clock::wait_until(PATIENCE, has_ring));
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert_says(&status, "Threads:\t1\n");
    }
}

#[test]
fn a_ring_looks_at_devices_in_its_own_way_or_says_that_it_cannot() {
    let server = on_ring(&["--workers", "1", "--busy-poll", "50us"]);
    assert_eq!(server.connect().get("/json").status, 200);
    let told = ring_information(server.pid());
    assert_says(&told, "NAPI:\tenabled\n");
    let busily = ["--busy-poll", "50us", "--prefer-busy-poll", "16"];
    let said = refusal(&[&["--engine", "uring"], &busily[..]].concat());
    assert_says(&said, "a ring takes 8 packets in one go");
}

fn on_ring(flags: &[&str]) -> Server {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "0", "--engine", "uring"]);
    command.args(flags);
    Server::spawn(command)
}

fn without_rings(error: u16, flags: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "60", program(), "serve", "--listen", "0"]);
    refuse(command.args(flags), IO_URING_SETUP, error);
    command
}

fn first_line(server: &mut std::process::Child) -> String {
    let mut line = Vec::new();
    let mut output = server.stdout.take().unwrap();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

/// What the descriptors of a process refer to.
fn places(pid: u32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let places = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    places
        .map(|place| place.to_string_lossy().into_owned())
        .collect()
}

/// What the kernel reports about the ring of a process.
fn ring_information(pid: u32) -> String {
    let is_ring = |number: &String| {
        std::fs::read_link(format!("/proc/{pid}/fd/{number}"))
            .is_ok_and(|place| place.ends_with("anon_inode:[io_uring]"))
    };
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut numbers = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let number = numbers.find(is_ring).unwrap();
    std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap()
}
