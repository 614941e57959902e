//! `linerate explain`: limiters that were planted are named, and what cannot be looked at is refused or told.

mod behind;
mod command;
mod difference;
mod quota;

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::processes::{Ours, line_of, signal, wait_for};
use crate::common::server::Server;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

const PLANTED: &str = include_str!("planted.py");

/// A server with a limiter in it.
struct Planted {
    child: Ours,
    url: String,
}

impl Planted {
    fn new(limiter: &str) -> Self {
        Self::with(limiter, &[])
    }

    /// With what the limiter takes.
    fn with(limiter: &str, arguments: &[&str]) -> Self {
        Self::of(Command::new("python3"), limiter, arguments)
    }

    /// Held on a CPU.
    fn on(cpu: usize, limiter: &str) -> Self {
        let mut held = Command::new("taskset");
        held.args(["-c", &cpu.to_string(), "python3"]);
        Self::of(held, limiter, &[])
    }

    fn of(mut python: Command, limiter: &str, arguments: &[&str]) -> Self {
        let child = python
            .args(["-c", PLANTED, limiter])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Ours(child.unwrap());
        let port = line_of(child.stdout.take());
        Self {
            child,
            url: format!("http://127.0.0.1:{}/", port.trim()),
        }
    }
}

/// The flags of a short look at a machine that other tests work on.
const SHORT: [&str; 5] = ["--yes", "--for", "2s", "-c", "8"];

fn explained(folder: &Folder, whose: &[&str]) -> Value {
    let words = [&["explain"], whose, &SHORT, &["--json"]].concat();
    serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap()
}

/// The share that a limiter was given; 0 where it was not named.
fn share(explained: &Value, name: &str) -> f64 {
    let explanation = &explained["explanation"];
    let further = explanation["further"].as_array().unwrap();
    let mut all = std::iter::once(&explanation["limiter"]).chain(further);
    let found = all.find(|limiter| limiter["name"] == name);
    found.map_or(0.0, |limiter| limiter["share"].as_f64().unwrap())
}

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
            // Who holds a lock may sleep.
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
fn with_more_connections_a_timer_gives_more_answers_a_lock_as_many_and_both_are_proved() {
    let folder = Folder::new("proved");
    for (limiter, expected, ratio) in [("timer", "sleep", 1.3..1.6), ("lock", "lock", 0.8..1.1)] {
        let server = Planted::new(limiter);
        let explained = explained(&folder, &[&server.url, "--out", limiter]);
        let explanation = &explained["explanation"];
        assert_eq!(explanation["limiter"]["name"], expected, "{explained:#}");
        let proof = &explanation["proof"];
        assert_eq!(proof["what"], "connections", "{proof:#}");
        assert_eq!(proof["borne_out"], true, "{proof:#}");
        assert!(
            ratio.contains(&proof["ratio"].as_f64().unwrap()),
            "{proof:#}"
        );
        assert_says(
            &folder.text(&format!("{limiter}/report.html")),
            "more connections, answers became",
        );
    }
}

#[test]
fn a_server_that_shares_our_loads_cpu_is_tried_with_the_load_elsewhere() {
    let allowed = sys::cpu::allowed().unwrap();
    let server = Planted::on(*allowed.last().unwrap(), "none");
    let folder = Folder::new("elsewhere");
    let explained = explained(&folder, &[&server.url, "--out", "run"]);
    let explanation = &explained["explanation"];
    assert!(
        share(&explained, "client-on-server-cpu") > 0.1,
        "{explained:#}"
    );
    // With more CPUs our load has others too.
    if allowed.len() == 2 {
        let proof = &explanation["proof"];
        assert!(
            proof["what"]["client_elsewhere"].is_object(),
            "{explained:#}"
        );
        // Between the CPUs of some machines a word takes longer than a CPU of one's own gains: then nothing is proved.
        let answers_more = proof["ratio"].as_f64().unwrap() > 1.0;
        assert!(answers_more || proof["borne_out"] != true, "{proof:#}");
        assert_says(
            &folder.text("run/report.html"),
            "our load on CPUs that it may not use",
        );
    }
}

#[test]
fn calls_that_end_later_give_fewer_answers_where_each_stands_behind_the_one_before() {
    crate::common::needs_root!();
    let folder = Folder::new("later");
    for (limiter, expected, call) in [
        ("queue", "sleep", "clock_nanosleep"),
        ("calls", "system-calls", "getrusage"),
    ] {
        let server = Planted::new(limiter);
        let explained = explained(&folder, &[&server.url, "--out", limiter]);
        let explanation = &explained["explanation"];
        assert_eq!(explanation["limiter"]["name"], expected, "{explained:#}");
        let proof = &explanation["proof"];
        assert_eq!(proof["what"]["calls"]["name"], call, "{proof:#}");
        // Beside other work so few moments may be too uneven for a proof; fewer answers they are all the same.
        assert_ne!(proof["borne_out"], false, "{proof:#}");
        let [change, ratio] = ["change", "ratio"].map(|name| proof[name].as_f64().unwrap());
        assert!(change < -0.05 && ratio < 1.0, "{proof:#}");
        assert_says(
            &folder.text(&format!("{limiter}/report.html")),
            &format!("with each {call} ending"),
        );
    }
}

#[test]
fn all_the_time_of_a_request_is_in_one_account_each_and_adds_up() {
    let folder = Folder::new("ledger");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let explained = explained(&folder, &[&url, "--out", "run"]);
    let ledger = &explained["explanation"]["ledger"];
    let accounts = ledger["accounts"].as_array().unwrap().iter();
    let sum: f64 = accounts.map(|it| it["share"].as_f64().unwrap()).sum();
    let missing = ledger["missing_share"].as_f64().unwrap();
    assert!((sum + missing - 1.0).abs() < 1e-6, "{ledger:#}");
    assert!(missing < 0.05, "{ledger:#}");
    // By the client's own clock too.
    assert_eq!(ledger["missing"], serde_json::json!([]), "{explained:#}");
    // As many requests are under way as there are connections.
    let load = &explained["looked"]["observation"]["load"];
    assert!(load["answered"].as_u64().unwrap() > 0, "{explained:#}");
    let window_us = explained["looked"]["observation"]["window_ns"]
        .as_f64()
        .unwrap()
        / 1e3;
    let mean_us = 8.0 * window_us / load["answered"].as_f64().unwrap();
    let told_us = ledger["response_us"].as_f64().unwrap();
    assert!(
        (told_us / mean_us - 1.0).abs() < 1e-6,
        "{told_us} {mean_us}"
    );
}

#[test]
fn what_each_resource_lets_through_stands_under_the_explanation() {
    let folder = Folder::new("ceilings");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let explained = explained(&folder, &[&url, "--no-touch", "--out", "run"]);
    let ceilings = explained["explanation"]["ceilings"].as_array().unwrap();
    let load = &explained["looked"]["observation"];
    let rps =
        load["load"]["answered"].as_f64().unwrap() * 1e9 / load["window_ns"].as_f64().unwrap();
    let most = |it: &Value| it["most_rps"].as_f64().unwrap();
    assert!(ceilings.is_sorted_by_key(most), "{explained:#}");
    for name in [
        "busiest-thread",
        "client-thread",
        "loopback-bytes",
        "switches",
    ] {
        let found = ceilings.iter().find(|it| it["name"] == name).unwrap();
        let reached = found["reached"].as_f64().unwrap();
        assert!(0.0 < reached && reached < 1.1, "{found:#}");
        assert!(
            (rps / most(found) / reached - 1.0).abs() < 1e-6,
            "{found:#}"
        );
    }
    assert_says(&folder.text("run/report.html"), "The nearest ceiling: ");
}

#[test]
fn functions_sleeps_and_calls_are_seen_after_the_look_under_load_still() {
    crate::common::needs_root!();
    let folder = Folder::new("bursts");
    let server = Planted::new("timer");
    let explained = explained(&folder, &[&server.url, "--no-touch", "--out", "run"]);
    let seen = &explained["looked"]["observation"];
    for burst in ["stacks", "asleep"] {
        assert!(
            seen[burst]["samples"].as_u64() > Some(0),
            "{burst}: {seen:#}"
        );
    }
    // What it does for each request.
    for call in ["clock_nanosleep", "recvfrom", "sendto"] {
        assert!(
            seen["calls"]["counts"][call].as_u64() > Some(0),
            "{call}: {seen:#}"
        );
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
fn a_process_is_looked_at_under_what_it_does_and_an_idle_one_is_not_asked() {
    let folder = Folder::new("process");
    let server = Planted::new("none");
    let pid = server.child.id().to_string();
    let idle = explained(&folder, &["--pid", &pid, "--out", "idle"]);
    assert!(share(&idle, "not-asked") > 0.9, "{idle:#}");
    let hog = Command::new("python3")
        .args(["-c", "while True: pass"])
        .spawn();
    let hog = Ours(hog.unwrap());
    let busy = explained(&folder, &["--pid", &hog.id().to_string(), "--out", "busy"]);
    let on_cpu =
        ["hot-function", "work", "run-queue", "one-busy-thread"].map(|name| share(&busy, name));
    assert!(on_cpu.iter().sum::<f64>() > 0.5, "{busy:#}");
    let cost = &busy["explanation"]["cost"];
    let ns = |name: &str| cost[name].as_f64().unwrap();
    // A second of samples, 15 µs each.
    assert!(ns("within_ns") > 1e5 && ns("program_ns") > 1e8, "{cost:#}");
    assert!(ns("within_ns") < ns("program_ns"), "{cost:#}");
    assert_says(
        &busy["looked"]["observation"]["unseen"].to_string(),
        "it listens at no TCP address",
    );
}

#[test]
fn a_program_that_is_stopped_again_and_again_is_told_so() {
    let folder = Folder::new("stopped");
    let server = Planted::new("none");
    let pid = server.child.id();
    // For half of the time, for as long as the look lasts.
    let script = format!(
        "for i in $(seq 100); do kill -STOP {pid}; sleep 0.05; kill -CONT {pid}; sleep 0.05; done"
    );
    let stopper = Ours(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    let explained = explained(&folder, &[&server.url, "--no-touch", "--out", "run"]);
    drop(stopper);
    signal("CONT", pid);
    assert!(share(&explained, "stopped") > 0.15, "{explained:#}");
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
            "a look lasts from 1 s to 10 min",
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
