//! Arms whose commands fail: the others are measured without them, and the report says which failed.

use crate::commands::lab::Lab;
use crate::common::{assert_says, errors};

const WORKS: &str = "echo \"took 5 ms, sum 7\"";
const BUILDS: &str = "echo built >> built.{size}";

/// Runs a study and asserts that exactly these arms fail, and that everything it shows says why.
#[track_caller]
fn assert_left_out(name: &str, change: (&str, &str), arms: &[&str], why: &[&str]) {
    let lab = Lab::new(name, &[change, ("rounds = 3", "rounds = 2")]);
    let output = lab.start().output().unwrap();
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    let blocks = lab.blocks();
    assert_eq!(blocks.len(), 2 * 5);
    for block in blocks {
        let failed = block.reading.failed.as_deref();
        let has_failed = arms.contains(&block.arm.as_str());
        assert_eq!(failed.is_some(), has_failed, "{}: {failed:?}", block.arm);
        assert_eq!(block.reading.values.is_empty(), has_failed, "{}", block.arm);
    }
    let judgement = String::from_utf8(output.stdout).unwrap();
    let report = lab.command(&["study", "report", "run"]).output().unwrap();
    let report = String::from_utf8(report.stdout).unwrap();
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = lab.folder.text("run/report.html");
    for word in why {
        for (shown, text) in [
            ("run", &said),
            ("JSON", &judgement),
            ("text", &report),
            ("page", &page),
        ] {
            assert!(text.contains(word), "no `{word}` in the {shown}: {text}");
        }
    }
}

#[test]
fn an_arm_that_fails_is_left_out_with_the_end_of_what_it_said() {
    let to =
        "[ $1.$2 != other.small ] || { echo out of straw >&2; exit 3; }; echo \"took 5 ms, sum 7\"";
    let why = [
        "the other way, small",
        "exited with 3; its last words: out of straw",
    ];
    assert_left_out("arm-fails", (WORKS, to), &["other.small"], &why);
}

#[test]
fn arms_that_cannot_be_built_are_left_out_with_the_build() {
    let to = "[ {size} != 9 ] || { echo no clay >&2; exit 1; }; echo built >> built.{size}";
    let why = ["one way, large", "the other way, large", "no clay"];
    assert_left_out(
        "arm-unbuilt",
        (BUILDS, to),
        &["one.large", "other.large"],
        &why,
    );
}

#[test]
fn an_arm_that_does_not_say_what_is_sought_is_left_out() {
    let to = "[ $1.$2 != other.small ] || { echo took long; exit 0; }; echo \"took 5 ms, sum 7\"";
    let why = ["the other way, small", "its output holds nothing that"];
    assert_left_out("arm-silent", (WORKS, to), &["other.small"], &why);
}

#[test]
fn where_every_arm_that_is_compared_fails_nothing_is_measured() {
    let to = "[ $1 != other ] || { echo out of straw >&2; exit 3; }; echo \"took 5 ms, sum 7\"";
    let said = Lab::new("arms-fail", &[(WORKS, to)]).refusal();
    for word in ["the other way, small", "exited with 3", "out of straw"] {
        assert_says(&said, word);
    }
}

/// Commands around each run: a preparation that must find nothing of another arm's and that fails
/// for one arm halfway, and a cleanup.
const BESIDE: &str = r#"timeout_s = 20
prepare = [["sh", "-c", "[ ! -e dirt ] && touch dirt && [ {arm} != other.small ]"]]
cleanup = [["sh", "-c", "CLEANUP"]]"#;

#[test]
fn what_a_failed_preparation_left_is_cleaned_up_before_the_other_arms() {
    let to = BESIDE.replace("CLEANUP", "rm dirt");
    let why = ["the other way, small", "preparing with", "exited with 1"];
    let change = ("timeout_s = 20", to.as_str());
    assert_left_out("prepare-fails", change, &["other.small"], &why);
}

#[test]
fn a_cleanup_that_fails_ends_the_run_and_names_what_had_failed_before_it() {
    let to = BESIDE.replace(
        "CLEANUP",
        "rm dirt; [ {arm} != other.small ] || { echo no broom >&2; exit 5; }",
    );
    let said = Lab::new("cleanup-fails", &[("timeout_s = 20", &to)]).refusal();
    for word in [
        "the other way, small: cleaning up with",
        "no broom",
        "Nothing more was run",
        "failed too: preparing with",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
}
