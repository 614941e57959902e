//! Rigs that stay until they are cleaned.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::common::assert_says;
use crate::common::processes::{is_alive, line_of, signal};
use crate::rig::bench::{Bench, USERS, User};

pub(crate) const LONGEST: Duration = Duration::from_secs(30);

/// Starts a script on a host of a rig and waits until it has printed `here`.
pub(crate) fn start_in(bench: &Bench, host: &str, script: &str) -> Child {
    let words = ["rig", "exec", host, "--", "sh", "-c", script];
    let mut command = bench.linerate(&words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let line = line_of(child.stdout.as_mut());
    assert_eq!(line, "here\n");
    child
}

#[test]
fn a_rig_stays_up_and_carries_traffic_until_it_is_cleaned() {
    crate::common::needs_root!();
    for user in USERS {
        let bench = Bench::new("stays", user);
        let up = bench.json(&["rig", "up", "tunnel", "--name", "vpn", "--json"]);
        assert_eq!(bench.rigs()[..], [up["rig"].clone()]);
        let hosts = up["rig"]["hosts"].as_array().unwrap();
        let names: Vec<_> = hosts.iter().map(|host| &host["name"]).collect();
        assert_eq!(names, ["client", "router", "server"]);
        let address = hosts[2]["address"].as_str().unwrap();
        let listen = format!("{address}:8080");
        let program = bench.program();
        let serve = ["serve", "--workers", "1", "--listen", &listen];
        let words = [&["rig", "exec", "server", "--", &program], &serve[..]].concat();
        let mut serve = bench
            .linerate(&words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        line_of(serve.stdout.take());
        let url = format!("http://{listen}/plaintext");
        let curl = [
            "rig",
            "exec",
            "client",
            "--",
            "curl",
            "--silent",
            "--max-time",
            "10",
            &url,
        ];
        assert_eq!(bench.answer(&curl), "Hello, World!", "{user:?}");
        let cleaned = bench.json(&["rig", "clean", "vpn", "--json"]);
        assert_eq!(cleaned["cleaned"][0]["ended"], json!([serve.id()]));
        serve.wait().unwrap();
        assert!(!is_alive(up["rig"]["holder"].as_u64().unwrap()));
        assert!(bench.rigs().is_empty());
    }
}

#[test]
fn load_goes_freely_to_the_hosts_of_a_rig_and_from_outside_to_none() {
    let bench = Bench::new("load", User::Ordinary);
    bench.answer(&["rig", "up"]);
    let program = bench.program();
    let short = ["load", "http://198.18.0.2:9/", "-d", "100ms", "-c", "1"];
    let inside = [&["rig", "exec", "client", "--", &program], &short[..]].concat();
    // Nobody listens there; only a client that is allowed to connect finds that out.
    let words = bench.refusal(&inside);
    assert_says(&words, "refused");
    let words = bench.refusal(&short);
    assert_says(&words, "--mine 198.18.0.2");
}

#[test]
fn the_exit_code_the_input_and_the_signals_of_a_program_in_a_rig_are_its_own() {
    let bench = Bench::new("exec", User::Ordinary);
    bench.answer(&["rig", "up"]);
    let run = |script: &str| bench.linerate(&["rig", "exec", "client", "--", "sh", "-c", script]);
    assert_eq!(run("exit 7").status().unwrap().code(), Some(7));
    assert_eq!(run("kill -TERM $$").status().unwrap().signal(), Some(15));
    let mut caught = start_in(
        &bench,
        "client",
        "trap 'exit 5' INT; echo here; sleep 60 & wait",
    );
    signal("INT", caught.id());
    assert_eq!(caught.wait().unwrap().code(), Some(5));
    let mut cat = bench.linerate(&["rig", "exec", "server", "--", "cat"]);
    let mut cat = cat
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut cat.stdin.take().unwrap(), b"through").unwrap();
    assert_eq!(cat.wait_with_output().unwrap().stdout, b"through");
}

#[test]
fn a_rig_whose_holder_was_killed_is_found_with_what_runs_in_it_and_taken_away() {
    crate::common::needs_root!();
    for user in USERS {
        let bench = Bench::new("killed", user);
        let up = bench.json(&["rig", "up", "--json"]);
        let holder = up["rig"]["holder"].as_u64().unwrap();
        let mut program = start_in(&bench, "client", "echo here; sleep 600");
        signal("KILL", holder);
        assert!(sys::clock::wait_until(LONGEST, || !is_alive(holder)));
        let left = &bench.rigs()[0];
        assert_eq!(left["state"], "left", "{user:?}: {left:#}");
        let programs = left["programs"].as_array().unwrap();
        assert!(programs.contains(&json!(program.id())), "{left:#}");
        let words = bench.refusal(&["rig", "exec", "client", "--", "true"]);
        assert_says(&words, "its holder has ended");
        let words = bench.refusal(&["rig", "up"]);
        assert_says(&words, "programs still run in it");
        let cleaned = bench.json(&["rig", "clean", "--json"]);
        assert_eq!(&cleaned["cleaned"][0]["ended"], &left["programs"]);
        assert!(program.wait().unwrap().signal().is_some());
        assert!(bench.rigs().is_empty());
    }
}

#[test]
fn a_rig_that_a_crash_left_empty_makes_room_for_the_next_of_its_name() {
    let bench = Bench::new("room", User::Ordinary);
    let holder = || bench.rigs()[0]["holder"].as_u64().unwrap();
    bench.answer(&["rig", "up"]);
    let first = holder();
    signal("KILL", first);
    assert!(sys::clock::wait_until(LONGEST, || !is_alive(first)));
    bench.answer(&["rig", "up"]);
    assert_ne!(holder(), first);
    assert_eq!(bench.rigs().len(), 1);
}
