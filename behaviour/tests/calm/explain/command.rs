//! `explain` starts a program that is no server and says where its time went, however it ends.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::common::planted::share;
use crate::common::processes::{Ours, is_alive, signal, wait_for};
use crate::common::{Folder, assert_says, errors, linerate, refusal_of};
use crate::hosts::site::runs_with;

/// Explains a command in the folder: the JSON on standard output, and the words on standard error.
fn explain(folder: &Folder, flags: &[&str], command: &[&str]) -> (Value, String) {
    let words = [&["explain", "--json"], flags, &["--"], command].concat();
    let output = linerate(folder, &words).output().unwrap();
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn end(report: &Value) -> &Value {
    &report["looked"]["observation"]["command"]["end"]
}

fn work(report: &Value) -> f64 {
    let names = ["hot-function", "work", "run-queue", "one-busy-thread"];
    names.iter().map(|name| share(report, name)).sum()
}

#[test]
fn the_work_of_a_command_and_its_children_is_reported_with_its_end_and_its_output_is_shown() {
    let folder = Folder::new("command");
    let busy = "x = 0\nfor i in range(20_000_000): x += i";
    let script = format!("echo a word; python3 -c '{busy}'; exit 3");
    let (found, said) = explain(&folder, &["--out", "busy"], &["sh", "-c", &script]);
    assert!(work(&found) > 0.5, "{found:#}");
    assert_eq!(end(&found)["exited"], 3);
    assert_says(&said, "a word");
    let text = linerate(&folder, &["explain", "--from", "busy"]).output();
    let text = String::from_utf8(text.unwrap().stdout).unwrap();
    assert_says(&text, "The command exited with 3 after");
    assert_says(&text, "-- COMMAND …");
    assert!(!text.contains("client"), "{text}");
}

#[test]
fn a_command_that_sleeps_forks_or_is_killed_is_told_so() {
    let folder = Folder::new("sleeps");
    let sleeps = ["sh", "-c", "sleep 1; kill -9 $$"];
    let (found, _) = explain(&folder, &["--out", "sleeps"], &sleeps);
    assert!(share(&found, "sleep") > 0.8, "{found:#}");
    assert_eq!(end(&found)["killed"]["signal"], 9);
    let forks = "for i in $(seq 1000); do /bin/true; done";
    let (found, _) = explain(&folder, &["--out", "forks"], &["sh", "-c", forks]);
    // While the shell waits for each child, it is in a state in which it would also wait for a
    // disk.
    assert!(share(&found, "disk") < 0.1, "{found:#}");
    assert!(share(&found, "elsewhere") < 0.5, "{found:#}");
}

#[test]
fn a_command_that_runs_on_is_ended_after_the_look_with_all_that_it_started() {
    let folder = Folder::new("on");
    let script = "sleep 4711.5 & while :; do sleep 0.05; done";
    let (found, _) = explain(
        &folder,
        &["--for", "1s", "--out", "run"],
        &["sh", "-c", script],
    );
    assert_eq!(end(&found), "timed_out");
    wait_for("the end of what it started", || !runs_with("4711.5"));
}

#[test]
fn a_server_that_is_started_has_clients_that_ask_for_nothing() {
    let folder = Folder::new("server");
    let server = ["python3", "-u", "-m", "http.server", "-b", "127.0.0.1", "0"];
    let (found, _) = explain(&folder, &["--for", "3s", "--out", "run"], &server);
    assert!(share(&found, "not-asked") > 0.4, "{found:#}");
}

#[test]
fn a_command_that_cannot_be_started_or_ends_at_once_is_refused_with_what_to_do() {
    let folder = Folder::new("refused");
    let table: [(&[&str], &str); 5] = [
        (&["--", "true"], "`true` exited with 0 after"),
        (&["--", "true"], "give it more to do"),
        (
            &["--", "/nowhere/at-all"],
            "`/nowhere/at-all` could not be started",
        ),
        (&["--"], "-- and a command to start"),
        (&["--pid", "1", "--", "true"], "cannot be used with"),
    ];
    for (words, expected) in table {
        let words = [&["explain"], words].concat();
        assert_says(&refusal_of(&mut linerate(&folder, &words)), expected);
    }
    assert!(folder.names("").is_empty(), "{:?}", folder.names(""));
}

/// A look that has begun at a command which sleeps, and the process id that the command printed.
fn start_look(folder: &Folder) -> (Ours, String) {
    let script = "echo $$; exec sleep 600";
    let child = linerate(
        folder,
        &["explain", "-q", "--out", "run", "--", "sh", "-c", script],
    )
    .stderr(Stdio::piped())
    .spawn();
    let mut child = Ours(child.unwrap());
    let said = BufReader::new(child.stderr.take().unwrap());
    let is_number = |line: &String| line.parse::<u32>().is_ok();
    let pid = said.lines().map_while(Result::ok).find(is_number);
    (child, pid.unwrap())
}

#[test]
fn the_command_ends_when_the_look_is_stopped_or_killed() {
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let folder = Folder::new("ended");
        let (mut child, pid) = start_look(&folder);
        assert!(is_alive(&pid));
        signal(name, child.id());
        assert_eq!(child.wait().unwrap().code(), code);
        wait_for("the end of the command", || !is_alive(&pid));
        assert_eq!(folder.text("run/run.json"), "");
    }
}
