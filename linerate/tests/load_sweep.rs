//! `linerate load --sweep`: held against servers whose throughput by load is known.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod load_program;
mod load_server;
#[path = "common/schema.rs"]
mod schema;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use load_program::{load, load_json, parse};
use load_server::{OK, answer_each, answer_with};
use serde_json::Value;

/// Blocks of a fifth of a second.
const SHORT: [&str; 4] = ["-d", "120ms", "--settle", "20ms"];

/// A server whose every answer takes 5 ms, of which it can make so many at once.
#[expect(clippy::disallowed_methods, reason = "the server is to take its time")]
fn counters(at_once: u32) -> SocketAddr {
    let service = Duration::from_millis(5);
    let free_at = Mutex::new(vec![sys::clock::now(); at_once as usize]);
    answer_each(move |stream| {
        let done_at = {
            let mut free_at = free_at.lock().unwrap();
            let first = free_at.iter_mut().min().unwrap();
            *first = (*first).max(sys::clock::now()) + service;
            *first
        };
        std::thread::sleep(done_at.saturating_duration_since(sys::clock::now()));
        let _ = stream.write_all(OK);
    })
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_server_of_eight_counters_has_its_knee_about_there() {
    let arguments = [
        &SHORT[..],
        &["--sweep", "connections=1..128", "--seed", "3"],
    ]
    .concat();
    let found = load_json(counters(8), &arguments);
    schema::holds("load-sweep", &found);
    let levels = found["levels"].as_array().unwrap();
    let loads: Vec<f64> = levels.iter().map(|level| number(&level["load"])).collect();
    assert_eq!(loads, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    let throughput = |level: &Value| number(&level["throughput_rps"]["value"]);
    // 200 a second from one connection, 1,600 from eight; less of both on a busy machine.
    let gained = throughput(&levels[3]) / throughput(&levels[0]);
    assert!((4.0..12.0).contains(&gained), "{gained}: {found:#}");
    let lost = throughput(&levels[7]) / throughput(&levels[4]);
    assert!((0.5..1.6).contains(&lost), "{lost}: {found:#}");
    let knee = &found["knee"];
    assert!(
        knee["is"] == "within" && (4.0..=32.0).contains(&number(&knee["load"])),
        "{found:#}"
    );
    assert!(number(&found["usl"]["sigma"]["value"]) > 0.01, "{found:#}");
    assert_eq!(found["blocks"].as_array().unwrap().len(), 8 * 6);
    let cpu = |level: &Value| level["server_cpu_us_per_request"]["value"].as_f64();
    assert!(levels.iter().any(|level| cpu(level) > Some(0.0)));
}

#[test]
fn every_level_comes_once_a_round_in_an_order_that_the_seed_repeats() {
    let order = |seed: &str| -> Vec<f64> {
        let arguments = [
            "-d", "20ms", "--settle", "0ms", "--rounds", "2", "--seed", seed,
        ];
        let sweep = ["--sweep", "connections=1..8"];
        let found = load_json(answer_with(OK), &[&arguments[..], &sweep].concat());
        schema::holds("load-sweep", &found);
        let blocks = found["blocks"].as_array().unwrap();
        blocks.iter().map(|block| number(&block["load"])).collect()
    };
    let first = order("1");
    assert_eq!((first.clone(), first.len()), (order("1"), 2 * 6));
    assert_ne!(first, order("2"));
    let mut round = first[..6].to_vec();
    round.sort_by(f64::total_cmp);
    assert_eq!(round, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
}

#[test]
fn a_sweep_of_rates_has_response_times_and_no_law() {
    let arguments = [&SHORT[..], &["--sweep", "rate=100..400", "--rounds", "2"]].concat();
    let url = format!("http://{}/", answer_with(OK));
    let found = parse(&load(&url, &[&arguments[..], &["--json"]].concat()));
    schema::holds("load-sweep", &found);
    assert_eq!(
        (&found["usl"], &found["axis"]),
        (&Value::Null, &"rate".into())
    );
    assert_eq!(found["levels"].as_array().unwrap().len(), 8);
    let text = String::from_utf8(load(&url, &arguments).stdout).unwrap();
    assert!(
        text.starts_with("At most ") && text.contains("response p50"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_swept_is_refused_with_an_example() {
    let url = format!("http://{}/", answer_with(OK));
    for (arguments, reason) in [
        (&["--sweep", "connections=5..1"][..], "connections=1..512"),
        (&["--sweep", "threads=1..5"], "`threads` cannot be swept"),
        (&["--sweep", "rate=1..1e9"], "cannot be offered"),
        (&["--sweep", "connections=1..8", "--rate", "5"], "--rate"),
        (
            &["--sweep", "connections=1..8", "--slo", "p99<5ms"],
            "--slo",
        ),
        (&["--rounds", "3"], "--sweep"),
        (&["--sweep", "connections=1..8", "-c", "4"], "leave -c out"),
        (
            &["--sweep", "connections=1..8", "--arrivals", "poisson"],
            "--arrivals has no say",
        ),
    ] {
        let output = load(&url, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(reason), "{arguments:?}: {error}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    }
}
