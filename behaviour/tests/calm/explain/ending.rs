//! Programs that end, or whose threads or processes end, while they are looked at.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::planted::{explained, share};
use crate::common::processes::{Ours, line_of};
use crate::common::{Folder, answer, linerate, program};

fn seen(explained: &Value) -> &Value {
    &explained["looked"]["observation"]
}

/// CPU time of the program's processes, and of those of its threads that had not ended, ns.
fn used_ns(explained: &Value) -> (f64, f64) {
    let names = ["program.user_ns", "program.system_ns"];
    let counters = &seen(explained)["counters"];
    let counted = names.iter().map(|name| counters[name].as_f64().unwrap());
    let threads = seen(explained)["threads"].as_array().unwrap().iter();
    let of_threads = threads.map(|it| it["running_ns"].as_f64().unwrap());
    (counted.sum(), of_threads.sum())
}

#[test]
fn the_time_of_ended_threads_is_counted_for_a_server_with_a_thread_per_connection() {
    let folder = Folder::new("threads-that-end");
    let mut server = Command::new("python3");
    server.args(["-u", "-m", "http.server", "-b", "127.0.0.1", "0"]);
    let server = server
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut server = Ours(server.unwrap());
    let line = line_of(server.stdout.take());
    let mut words = line.split_whitespace().skip_while(|word| *word != "port");
    let port = words.nth(1).unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let found = explained(&folder, &[&url, "--no-touch", "--out", "run"]);
    let (counted, of_threads) = used_ns(&found);
    assert!(counted > 1.5 * of_threads, "{found:#}");
    let answered = seen(&found)["load"]["answered"].as_f64().unwrap();
    let mut ceilings = found["explanation"]["ceilings"].as_array().unwrap().iter();
    // A server that may use only one CPU has no such ceiling.
    if let Some(cpus) = ceilings.find(|it| it["name"] == "cpus") {
        let demand_us = cpus["demand"].as_f64().unwrap();
        assert!((demand_us / (counted / 1e3 / answered) - 1.0).abs() < 0.01);
    }
}

#[test]
fn a_program_that_ends_during_the_look_is_reported_so_with_what_it_did_until_then() {
    let folder = Folder::new("ends");
    let mut spins = Command::new("sh");
    spins.args(["-c", "ulimit -t 3; while :; do :; done"]);
    let spins = Ours(spins.spawn().unwrap());
    let pid = spins.id().to_string();
    let words = ["explain", "--pid", &pid, "--for", "60s", "--json", "--out"];
    let said = answer(&mut linerate(&folder, &[&words[..], &["run"]].concat()));
    let found: Value = serde_json::from_str(&said).unwrap();
    let window_ns = seen(&found)["window_ns"].as_f64().unwrap();
    let (counted, of_threads) = used_ns(&found);
    assert!(window_ns < 50e9 && counted > 0.5e9, "{found:#}");
    assert!(of_threads > 0.5e9, "{found:#}");
    assert_eq!(share(&found, "not-asked"), 0.0);
    let unseen = seen(&found)["unseen"].to_string();
    assert!(unseen.contains("the program ended before the look did"));
    assert!(!unseen.contains("hidden from us: run as root"), "{unseen}");
}

#[test]
fn a_shell_that_starts_the_look_at_itself_is_not_charged_for_it() {
    let folder = Folder::new("own");
    let script = "\"$0\" explain --pid $$ --for 1s --json --out run; :";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, program()]);
    let said = answer(shell.current_dir(folder.path()).stdin(Stdio::null()));
    let found: Value = serde_json::from_str(&said).unwrap();
    let threads = seen(&found)["threads"].as_array().unwrap().iter();
    let names: Vec<_> = threads.map(|it| &it["name"]).collect();
    assert!(names.iter().all(|name| *name == "sh"), "{names:?}");
}
