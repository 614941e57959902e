//! What a comparison says: answer, figures, verdicts, doubts.

use crate::bench::measured;
use crate::common::{Folder, answer, assert_says, errors, linerate};

/// Two commands whose times differ so much that no noise hides it.
const SHORT: &str = "sleep 0.01";
const LONG: &str = "sleep 0.06";

#[test]
fn the_answer_comes_first_and_says_who_is_faster_and_by_how_much() {
    let folder = Folder::new("bench-answer");
    let words = [
        "bench",
        "-N",
        "-r",
        "16",
        "--smallest-effect",
        "90",
        "-n",
        "quick",
        "-n",
        "slow",
        SHORT,
        LONG,
    ];
    let text = answer(&mut linerate(&folder, &words));
    assert!(text.starts_with("‘slow’ takes "), "{text}");
    assert_says(&text, " times as long as ‘quick’ (");
    assert_says(&text, "quick, again");
    assert_says(&text, "Noise floor: ");
}

#[test]
fn a_slower_command_is_worse_and_exits_with_one_only_where_that_was_asked() {
    let folder = Folder::new("bench-slower");
    let code = |arguments: &[&str]| {
        let words = [
            &["bench", "-N", "-r", "16", "--smallest-effect", "90"],
            arguments,
        ]
        .concat();
        linerate(&folder, &words).output().unwrap().status.code()
    };
    assert_eq!(code(&[SHORT, LONG]), Some(0));
    assert_eq!(code(&["--fail-if-slower", SHORT, LONG]), Some(1));
    assert_eq!(code(&["--fail-if-slower=5000", SHORT, LONG]), Some(0));
    assert_eq!(code(&["--fail-if-slower", LONG, SHORT]), Some(0));
}

#[test]
fn below_ten_rounds_there_are_figures_and_no_verdict() {
    let folder = Folder::new("bench-few");
    let words = ["bench", "-N", "-r", "3", "--fail-if-slower", SHORT, LONG];
    let output = linerate(&folder, &words).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(text.starts_with("No verdict on "), "{text}");
    assert_says(&text, "3 pairs are too few");
}

#[test]
fn the_json_holds_every_run_with_time_cpu_and_memory() {
    let folder = Folder::new("bench-json");
    let value = measured(
        &folder,
        &[
            "-r",
            "11",
            "--seed",
            "5",
            ":",
            "head -c 9000000 /dev/zero | tail -c 9000000",
        ],
    );
    let runs = value["record"]["runs"].as_array().unwrap();
    assert_eq!(
        runs.len(),
        11 * 4,
        "two commands, the control and the shell"
    );
    let memory = |arm: &str| {
        let of_arm = runs.iter().filter(|run| run["arm"] == arm);
        of_arm
            .map(|run| run["peak_memory_bytes"].as_u64().unwrap())
            .max()
            .unwrap()
    };
    assert!(memory("2") > 9_000_000 && memory("1") < 9_000_000);
    let verdict = &value["judgement"]["comparisons"][0]["peak_memory"]["verdict"];
    assert_eq!(verdict, "worse");
    assert!(value["record"]["memory_floor_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn every_command_is_run_once_a_round_in_an_order_that_the_seed_repeats() {
    let folder = Folder::new("bench-order");
    let order = |seed: &str| {
        let value = measured(
            &folder,
            &["-N", "-r", "6", "--seed", seed, "true", "true", "true"],
        );
        let runs = value["record"]["runs"].as_array().unwrap().clone();
        let arms = runs
            .iter()
            .map(|run| run["arm"].as_str().unwrap().to_owned());
        arms.collect::<Vec<String>>()
    };
    let found = order("7");
    for round in found.chunks(4) {
        let mut round = round.to_vec();
        round.sort();
        assert_eq!(round, ["1", "2", "3", "control"]);
    }
    assert_eq!(found, order("7"));
    assert_ne!(found, order("8"));
}

#[test]
fn one_command_is_measured_without_a_control() {
    let folder = Folder::new("bench-one");
    let text = answer(&mut linerate(&folder, &["bench", "-N", "-r", "11", SHORT]));
    assert!(text.starts_with("‘sleep 0.01’ takes "), "{text}");
    assert!(
        text.contains("most runs lie between") && !text.contains("again"),
        "{text}"
    );
}

#[test]
fn twenty_commands_are_compared_at_once() {
    let folder = Folder::new("bench-twenty");
    let scan = ["-N", "-r", "2", "-P", "x", "1", "20", "true {x}"];
    let value = measured(&folder, &scan);
    assert_eq!(
        value["judgement"]["comparisons"].as_array().unwrap().len(),
        19
    );
    let text = answer(&mut linerate(&folder, &[&["bench"], &scan[..]].concat()));
    assert!(
        text.starts_with("Of 19 commands against ‘true 1’: 19 without a verdict."),
        "{text}"
    );
}

#[test]
fn quiet_says_nothing_but_the_answer() {
    let folder = Folder::new("bench-quiet");
    let words = ["--quiet", "bench", "-N", "-r", "2", "sleep 1.2"];
    let output = linerate(&folder, &words).output().unwrap();
    assert!(output.status.success());
    assert_eq!(errors(&output), "");
    let loud = linerate(&folder, &["bench", "-N", "-r", "3", "sleep 1.2"])
        .output()
        .unwrap();
    assert_says(&errors(&loud), "3 rounds of 1 runs take about ");
}
