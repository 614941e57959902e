//! Which processes belong to a rig: those that `rig exec` started, whatever became of them.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::common::processes::{is_alive, line_of, signal};
use crate::common::{assert_says, errors};
use crate::rig::bench::{Bench, USERS, User};
use crate::rig::standing::{LONGEST, start_in};

/// Starts nginx with one worker, as a daemon that has written its title over its environment.
fn start_nginx(bench: &Bench) {
    let folder = bench.folder.path().display();
    let config = format!(
        "user root root; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/log;\n\
         events {{}} http {{ access_log off; client_body_temp_path {folder}; \
         proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; \
         scgi_temp_path {folder}; server {{ listen 198.18.0.2:8080; }} }}"
    );
    let file = bench.folder.path().join("nginx.conf");
    std::fs::write(&file, config).unwrap();
    let (file, log) = (file.display().to_string(), format!("{folder}/log"));
    let nginx = ["nginx", "-p", "/", "-c", &file, "-e", &log];
    bench.answer(&[&["rig", "exec", "server", "--"], &nginx[..]].concat());
    let has_worker = || programs(bench).len() == 2;
    assert!(sys::clock::wait_until(LONGEST, has_worker), "{folder}");
}

fn programs(bench: &Bench) -> Vec<Value> {
    bench.rigs()[0]["programs"].as_array().unwrap().clone()
}

fn kill_holder(up: &Value) {
    let holder = up["rig"]["holder"].as_u64().unwrap();
    signal("KILL", holder);
    assert!(sys::clock::wait_until(LONGEST, || !is_alive(holder)));
}

/// A process in the network namespace of the rig's client that `rig exec` did not start.
fn start_stranger(up: &Value) -> Child {
    let network = format!("--net={}", up["rig"]["hosts"][0]["enter"].as_str().unwrap());
    let mut stranger = Command::new("nsenter")
        .args([&network, "sh", "-c", "echo here; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    line_of(stranger.stdout.as_mut());
    stranger
}

/// Ends the process; returns whether it had been left alone until then.
fn was_left_alone(mut stranger: Child) -> bool {
    let is_left = stranger.try_wait().unwrap().is_none();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    is_left
}

#[test]
fn a_daemon_that_overwrote_its_environment_is_ended_with_its_rig() {
    crate::common::needs_root!();
    for user in USERS {
        for is_left in [false, true] {
            let bench = Bench::new("daemon", user);
            let up = bench.json(&["rig", "up", "--json"]);
            start_nginx(&bench);
            let programs = programs(&bench);
            if is_left {
                kill_holder(&up);
            }
            let cleaned = bench.json(&["rig", "clean", "--json"]);
            let mut ended = cleaned["cleaned"][0]["ended"].as_array().unwrap().clone();
            ended.sort_by_key(Value::as_u64);
            assert_eq!(ended, programs, "{user:?}, {is_left}");
            // The kernel may still be busy with a process that was already seen to end.
            let living = || {
                let pids = programs.iter().filter_map(Value::as_u64);
                pids.filter(|pid| is_alive(*pid)).count()
            };
            assert!(sys::clock::wait_until(LONGEST, || living() == 0));
        }
    }
}

#[test]
fn a_program_without_environment_and_as_another_user_is_ended_with_its_rig() {
    crate::common::needs_root!();
    let bench = Bench::new("bare", User::Root);
    bench.answer(&["rig", "up"]);
    let bare = "echo here; exec env -i setsid setpriv --reuid 65534 --clear-groups sleep 600";
    let mut program = start_in(&bench, "client", bare);
    let cleaned = bench.json(&["rig", "clean", "--json"]);
    assert_eq!(cleaned["cleaned"][0]["ended"], json!([program.id()]));
    assert!(program.wait().unwrap().signal().is_some());
}

#[test]
fn a_program_that_left_for_a_network_of_its_own_is_ended_with_its_rig() {
    crate::common::needs_root!();
    for user in USERS {
        let bench = Bench::new("apart", user);
        bench.answer(&["rig", "up"]);
        let apart = "exec unshare --net sh -c 'echo here; exec sleep 600'";
        let mut program = start_in(&bench, "client", apart);
        assert_eq!(programs(&bench), [json!(program.id())], "{user:?}");
        let cleaned = bench.json(&["rig", "clean", "--json"]);
        assert_eq!(cleaned["cleaned"][0]["ended"], json!([program.id()]));
        assert!(program.wait().unwrap().signal().is_some());
    }
}

#[test]
fn a_program_that_does_not_hear_the_order_to_end_is_killed() {
    let bench = Bench::new("deaf", User::Ordinary);
    bench.answer(&["rig", "up"]);
    let mut program = start_in(&bench, "client", "trap '' TERM; echo here; exec sleep 600");
    bench.answer(&["rig", "clean"]);
    assert_eq!(program.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_process_that_somebody_else_put_into_a_rig_is_named_and_left_alone() {
    crate::common::needs_root!();
    for is_left in [false, true] {
        let bench = Bench::new("stranger", User::Root);
        let up = bench.json(&["rig", "up", "--json"]);
        let stranger = start_stranger(&up);
        let pid = stranger.id();
        if is_left {
            kill_holder(&up);
            let words = bench.refusal(&["rig", "up"]);
            assert_says(&words, "1 programs still run in it");
        }
        let output = bench.linerate(&["rig", "clean"]).output().unwrap();
        assert!(was_left_alone(stranger), "it was ended");
        let words = errors(&output);
        assert_eq!(output.status.code(), Some(3), "{is_left}: {words}");
        assert_says(&words, &format!("kill {pid}"));
        assert!(bench.rigs().is_empty());
    }
}

#[test]
fn a_namespace_that_has_the_number_of_one_that_is_gone_is_not_taken_for_it() {
    crate::common::needs_root!();
    let bench = Bench::new("reused", User::Root);
    let up = bench.json(&["rig", "up", "--json"]);
    let other = Command::new("unshare")
        .args(["--net", "sh", "-c", "echo here; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn();
    let mut other = other.unwrap();
    line_of(other.stdout.as_mut());
    let inode = sys::namespace::network_inode_of(other.id()).unwrap();
    kill_holder(&up);
    let journal = bench.state().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let gone = up["rig"]["hosts"][0]["namespace"].to_string();
    assert_says(&text, &gone);
    std::fs::write(&journal, text.replace(&gone, &inode.to_string())).unwrap();
    let cleaned = bench.json(&["rig", "clean", "--json"]);
    assert!(was_left_alone(other), "it was ended");
    assert_eq!(
        cleaned["cleaned"][0],
        json!({ "name": "netns", "ended": [], "kept_by": [] })
    );
}
