//! `linerate doctor` as a stranger runs it.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::process::{Command, Output};

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.arg("doctor").args(arguments).output().unwrap()
}

#[test]
fn it_answers_first_and_succeeds_whatever_it_finds() {
    let output = doctor(&[]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("This machine is "), "{text}");
}

#[test]
fn its_json_says_whether_the_machine_is_fit_and_why() {
    let output = doctor(&["--json", "--pid", &std::process::id().to_string()]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["format"], 1);
    assert!(value["fit"].is_boolean());
    let findings = value["findings"].as_array().unwrap();
    let names: Vec<_> = findings
        .iter()
        .filter_map(|finding| finding["name"].as_str())
        .collect();
    for name in [
        "packet-taps",
        "seccomp",
        "workers",
        "clocksource",
        "foreign-work",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[test]
fn a_process_that_is_not_there_is_an_error_that_says_what_to_do() {
    let output = doctor(&["--pid", "4194303"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("--pid"), "{text}");
}

#[test]
fn the_name_of_the_host_is_nowhere_in_it() {
    let script = "hostname planted-host && exec \"$0\" doctor --json --verbose";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--uts", "sh", "-c", script]);
    let output = command
        .arg(env!("CARGO_BIN_EXE_linerate"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"findings\""), "{text}");
    assert!(!text.contains("planted-host"), "{text}");
}
