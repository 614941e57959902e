//! `linerate load --sweep`, tested against servers whose throughput at each load is known.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use crate::common::load_program::{load, load_json, parse};
use crate::common::load_server::{OK, answer_each, answer_with};

/// Flags for blocks of 140 ms.
const SHORT: [&str; 4] = ["-d", "120ms", "--settle", "20ms"];

/// A server whose every answer takes 5 ms, and which serves `at_once` requests at once.
#[expect(clippy::disallowed_methods, reason = "the server is to take its time")]
fn parallel_server(at_once: u32) -> SocketAddr {
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
fn a_server_that_answers_eight_at_once_has_its_knee_at_about_eight() {
    let arguments = [
        &SHORT[..],
        &["--sweep", "connections=1..128", "--seed", "3"],
    ]
    .concat();
    let found = load_json(parallel_server(8), &arguments);
    let levels = found["levels"].as_array().unwrap();
    let loads: Vec<f64> = levels.iter().map(|level| number(&level["load"])).collect();
    assert_eq!(loads, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    let throughput = |level: &Value| number(&level["throughput_rps"]["value"]);
    // 200 requests/s over one connection, 1,600 over eight; both are fewer on a busy machine.
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
fn a_sweep_of_rates_has_response_times_and_no_law() {
    let arguments = [&SHORT[..], &["--sweep", "rate=100..400", "--rounds", "2"]].concat();
    let url = format!("http://{}/", answer_with(OK));
    let found = parse(&load(&url, &[&arguments[..], &["--json"]].concat()));
    assert_eq!(
        (&found["usl"], &found["axis"]),
        (&Value::Null, &"rate".into())
    );
    assert_eq!(found["levels"].as_array().unwrap().len(), 8);
    let text = String::from_utf8(load(&url, &arguments).stdout).unwrap();
    assert!(
        text.starts_with("At most ") && text.contains("response"),
        "{text}"
    );
}
