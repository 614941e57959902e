//! `linerate load --slo` and `--sweep`, except for what needs a machine at rest: what is refused,
//! and in which order levels come.

use crate::common::assert_says;
use crate::common::load_program::{load, load_json};
use crate::common::load_server::{OK, answer_with};

/// Nobody listens there, and nobody is asked before the flags are right.
const NOBODY: &str = "http://127.0.0.1:1/";

#[test]
fn an_objective_that_is_none_is_refused_with_an_example() {
    for (objective, timeout, reason) in [
        ("p99>5ms", "5s", "`p99>5ms`: expected a figure, `<`"),
        (
            "p99<5ms errors<1%",
            "5s",
            "`p99<5ms errors<1%`: expected a unit",
        ),
        ("p99<5", "5s", "an objective looks like p99<5ms"),
        ("p99.999<1s", "5s", "ask for longer blocks"),
        ("p50<10ms", "9ms", "ask for a longer --timeout"),
        ("errors<1%", "26ms", "ask for one of 25.0 ms at most"),
    ] {
        let short = ["-d", "100ms", "--settle", "0ms", "--timeout", timeout];
        let output = load(NOBODY, &[&["--slo", objective][..], &short].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(reason), "{objective}: {error}");
        assert_eq!(output.status.code(), Some(2), "{objective}: {error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_target_without_one_right_answer_is_named_with_what_it_answers() {
    let broken = answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".as_slice());
    let arguments = ["--slo", "p50<5ms", "-d", "100ms", "--settle", "0ms"];
    let output = load(&format!("http://{broken}/"), &arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_says(&error, "answered no request correctly");
    assert_says(&error, "answers 500");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn every_level_comes_once_a_round_in_an_order_that_the_seed_repeats() {
    let order = |seed: &str| -> Vec<f64> {
        let arguments = [
            "-d", "20ms", "--settle", "0ms", "--rounds", "2", "--seed", seed,
        ];
        let sweep = ["--sweep", "connections=1..8"];
        let found = load_json(answer_with(OK), &[&arguments[..], &sweep].concat());
        let blocks = found["blocks"].as_array().unwrap();
        blocks
            .iter()
            .map(|block| block["load"].as_f64().unwrap())
            .collect()
    };
    let first = order("1");
    assert_eq!((first.clone(), first.len()), (order("1"), 2 * 6));
    assert_ne!(first, order("2"));
    let mut round = first[..6].to_vec();
    round.sort_by(f64::total_cmp);
    assert_eq!(round, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
}

#[test]
fn what_cannot_be_swept_is_refused_with_an_example() {
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
            "--arrivals has no effect",
        ),
    ] {
        let output = load(NOBODY, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(reason), "{arguments:?}: {error}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    }
}
