//! The exit codes of the program, as `linerate --help` explains them.

use std::net::TcpListener;
use std::process::{Command, Output};

use crate::command_line::linerate;
use crate::common::server::Server;
use crate::common::words;

const DONE: Option<i32> = Some(0);
const NO: Option<i32> = Some(1);
const COULD_NOT_RUN: Option<i32> = Some(2);

/// Runs `linerate versus` on one of our own servers, as both A and B, and removes its folder
/// afterwards.
fn versus(name: &str, flags: &[&str]) -> Output {
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let folder = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let words = ["versus", &url, &url, "--yes", "--json", "--out", out];
    let output = linerate(&[&words[..], flags].concat()).output().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    output
}

/// `linerate load` on a server that gives every request this status.
fn load(status: &'static str) -> Command {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_each(stream, status));
        }
    });
    linerate(&["load", &url, "-d", "1s", "-c", "2", "--settle", "0ms"])
}

fn answer_each(mut stream: std::net::TcpStream, status: &str) {
    use std::io::{Read as _, Write as _};
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    let mut request = [0; 1024];
    while stream.read(&mut request).is_ok_and(|count| count > 0) {
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn what_is_done_exits_with_0() {
    for words in [&["--version"][..], &["study", "list"], &["help", "load"]] {
        assert_eq!(
            linerate(words).output().unwrap().status.code(),
            DONE,
            "{words:?}"
        );
    }
    assert_eq!(load("204 Nothing").output().unwrap().status.code(), DONE);
}

#[test]
fn a_load_of_which_nothing_was_answered_exits_with_1() {
    assert_eq!(load("500 No").output().unwrap().status.code(), NO);
}

#[test]
fn an_objective_that_b_fails_exits_with_1_and_one_that_it_does_not_fail_with_0() {
    let failed = versus("fails", &["--smoke", "--rate", "500", "--slo", "p50<1ns"]);
    let judgement: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(failed.status.code(), NO, "{judgement:#}");
    assert_eq!(judgement["slo"]["arms"][1]["holds"], false);
    let held = versus("holds", &["--smoke", "--rate", "500", "--slo", "p50<60s"]);
    assert_eq!(held.status.code(), DONE);
    let judgement: serde_json::Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!(judgement["slo"]["arms"][1]["arm"], "b");
    // On a busy machine B may not be offered the whole rate: then nobody can tell, which is not a
    // failure.
    assert_ne!(judgement["slo"]["arms"][1]["holds"], false);
}

#[test]
fn what_could_not_run_exits_with_2_and_says_why_on_standard_error() {
    for words in [
        &["no-such-command"][..],
        &["load"],
        &["load", "ftp://127.0.0.1/"],
        &["study", "show", "no-such-study"],
        &["study", "report", "/nowhere"],
        &["man", "no-such-command"],
        &words("versus http://127.0.0.1:1/ http://127.0.0.1:1/ --yes"),
    ] {
        let output = linerate(words).output().unwrap();
        assert_eq!(output.status.code(), COULD_NOT_RUN, "{words:?}");
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{words:?}"
        );
    }
}
