//! `linerate explain` names limiters that were planted. What it cannot look at it refuses, or says
//! that it was not seen.

mod behind;
mod command;
mod ending;

use std::process::Stdio;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::planted::{Planted, SHORT, explained, share};
use crate::common::processes::{Ours, signal, wait_for};
use crate::common::refused_call::refuse_socket_diagnostics;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

#[test]
fn a_limiter_that_was_planted_is_named_and_others_are_not() {
    let folder = Folder::new("planted");
    let planted = [
        ("lock", "lock"),
        ("timer", "sleep"),
        ("nagle", "delayed-acks"),
    ];
    for (limiter, expected) in planted {
        let server = Planted::new(limiter);
        let out = format!("run-{limiter}");
        let explained = explained(&folder, &[&server.url, "--no-touch", "--out", &out]);
        for (_, name) in planted {
            let found = share(&explained, name);
            // A thread may sleep while it holds a lock.
            let is_so = match name == expected {
                true => found > 0.3,
                false => found < 0.25,
            };
            assert!(is_so, "{limiter}: {name} has {found} of\n{explained:#}");
        }
        let unproved = explained["explanation"]["unproved"].as_str().unwrap();
        assert_says(unproved, "--no-touch");
    }
}

#[test]
fn a_look_that_was_saved_is_explained_again_in_the_same_words() {
    let folder = Folder::new("again");
    let server = Planted::new("timer");
    let words = [&["explain", &server.url, "--out", "run"], &SHORT[..]].concat();
    let first = answer(&mut linerate(&folder, &words));
    let again = answer(&mut linerate(&folder, &["explain", "--from", "run"]));
    assert_eq!(first, again);
    assert_says(&first, "hrtimer_nanosleep");
    assert_says(&folder.text("run/report.html"), "hrtimer_nanosleep");
    assert_says(&refusal_of(&mut linerate(&folder, &words)), "run");
}

#[test]
fn without_root_it_says_what_it_could_not_look_at() {
    crate::common::needs_root!();
    let folder = Folder::new("ordinary");
    let server = Planted::new("timer");
    let words = [&["explain", &server.url, "--out", "run"], &SHORT[..]].concat();
    let said = answer(&mut linerate_as_nobody(&folder, &words));
    assert_says(&said, "Not seen");
    assert_says(&said, "root");
}

#[test]
fn where_the_kernel_tells_nothing_of_connections_no_request_is_shared_out() {
    let folder = Folder::new("blind");
    let server = Planted::new("timer");
    let words = ["explain", &server.url, "--no-touch", "--out", "run"];
    let mut explain = linerate(&folder, &[&words, &SHORT[..]].concat());
    refuse_socket_diagnostics(&mut explain);
    let said = answer(&mut explain);
    assert_says(&said, "modprobe tcp_diag");
    assert!(!said.contains("a connection is opened"), "{said}");
}

#[test]
fn what_cannot_be_looked_at_is_refused_with_what_to_do() {
    let folder = Folder::new("refused");
    let table: [(&[&str], &str); 6] = [
        (&[], "give a URL, --pid, --port or --from, or --"),
        (
            &["--pid", "4194303"],
            "there is no process 4194303; look for it",
        ),
        (&["--port", "1"], "nothing listens on 0.0.0.0:1"),
        (&["http://127.0.0.1:1/"], "127.0.0.1:1"),
        (&["--from", "nowhere"], "nowhere is no run folder"),
        (
            &["--pid", "1", "--for", "1ms"],
            "an observation lasts from 1 s to 10 min",
        ),
    ];
    for (words, expected) in table {
        let words = [&["explain", "--yes"], words].concat();
        assert_says(&refusal_of(&mut linerate(&folder, &words)), expected);
    }
}

#[test]
fn a_look_that_is_ended_by_a_signal_leaves_nothing() {
    let folder = Folder::new("ended");
    let server = Planted::new("none");
    let words = [
        "explain",
        &server.url,
        "--yes",
        "--for",
        "60s",
        "--out",
        "run",
    ];
    let child = linerate(&folder, &words)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Ours(child.unwrap());
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id()));
        tasks.map_or(0, Iterator::count)
    };
    // It has opened its connections, each of which has a thread.
    wait_for("connections of the load", || threads() > 10);
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.names("").is_empty(), "{:?}", folder.names(""));
}
