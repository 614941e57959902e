//! `linerate explain` of a program under full load: it names the limiter, and proves it by a trial.

mod difference;
mod quota;

use std::process::Command;

use serde_json::Value;

use crate::common::planted::{Planted, explained, share};
use crate::common::processes::{Ours, signal};
use crate::common::server::Server;
use crate::common::{Folder, assert_says};

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
            "more connections, the rate of answers was",
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
    // With more than two CPUs our load runs on other CPUs as well.
    if allowed.len() == 2 {
        let proof = &explanation["proof"];
        assert!(
            proof["what"]["client_elsewhere"].is_object(),
            "{explained:#}"
        );
        // On some machines a message between CPUs costs more than a CPU of its own gains: then
        // nothing is proved.
        let answers_more = proof["ratio"].as_f64().unwrap() > 1.0;
        assert!(answers_more || proof["borne_out"] != true, "{proof:#}");
        assert_says(
            &folder.text("run/report.html"),
            "our load on CPUs that the server may not use",
        );
    }
}

#[test]
fn calls_that_end_later_give_fewer_answers_where_requests_are_served_one_after_another() {
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
        // Beside other work so few moments may be too uneven for a proof; there are fewer answers
        // all the same.
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
    // The client's own clock does not miss any time either.
    assert_eq!(ledger["missing"], serde_json::json!([]), "{explained:#}");
    // As many requests are under way as there are connections.
    let load = &explained["looked"]["observation"]["load"];
    assert!(load["answered"].as_u64().unwrap() > 0, "{explained:#}");
    let window_us = explained["looked"]["observation"]["window_ns"]
        .as_f64()
        .unwrap()
        / 1e3;
    let mean_us = 8.0 * window_us / load["answered"].as_f64().unwrap();
    let response_us = ledger["response_us"].as_f64().unwrap();
    assert!(
        (response_us / mean_us - 1.0).abs() < 1e-6,
        "{response_us} {mean_us}"
    );
}

#[test]
fn the_ceiling_of_each_resource_is_shown_below_the_explanation() {
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
fn functions_sleeps_and_calls_are_sampled_after_the_look_still_under_load() {
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
    // The calls that the server makes for each request.
    for call in ["clock_nanosleep", "recvfrom", "sendto"] {
        assert!(
            seen["calls"]["counts"][call].as_u64() > Some(0),
            "{call}: {seen:#}"
        );
    }
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
    // One second of samples at 15 µs each.
    assert!(ns("within_ns") > 1e5 && ns("program_ns") > 1e8, "{cost:#}");
    assert!(ns("within_ns") < ns("program_ns"), "{cost:#}");
    assert_says(
        &busy["looked"]["observation"]["unseen"].to_string(),
        "it listens on no TCP address",
    );
}

#[test]
fn a_program_that_is_stopped_again_and_again_is_reported_as_stopped() {
    let folder = Folder::new("stopped");
    let server = Planted::new("none");
    let pid = server.child.id();
    // Stops the server for half of the time, longer than the look lasts.
    let script = format!(
        "for i in $(seq 100); do kill -STOP {pid}; sleep 0.05; kill -CONT {pid}; sleep 0.05; done"
    );
    let stopper = Ours(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    let explained = explained(&folder, &[&server.url, "--no-touch", "--out", "run"]);
    drop(stopper);
    signal("CONT", pid);
    assert!(share(&explained, "stopped") > 0.15, "{explained:#}");
}
