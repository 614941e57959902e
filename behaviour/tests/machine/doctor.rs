//! `linerate doctor` as a stranger runs it.

use std::process::Output;

use serde_json::Value;

use crate::common::hogs::Hogs;
use crate::common::{Folder, answer, assert_says, linerate, refused};
use crate::machine::confined::in_place_of_a_shell;

fn doctor(test: &str, arguments: &[&str]) -> Output {
    let folder = Folder::new(test);
    let arguments = [&["doctor"], arguments].concat();
    let output = linerate(&folder, &arguments).output().unwrap();
    assert_eq!(folder.names(""), [""; 0], "nothing is left behind");
    output
}

fn page(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn it_answers_first_and_succeeds_whatever_it_finds() {
    let output = doctor("answer", &["--no-load"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("This machine is "), "{text}");
    assert_says(&text, "not measured: --no-load");
}

#[test]
fn its_json_says_whether_the_machine_is_fit_and_why() {
    let own = std::process::id().to_string();
    let page = page(&doctor("json", &["--json", "--no-load", "--pid", &own]));
    let findings = page["findings"].as_array().unwrap();
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
    let patterns = include_str!("../../../docs/patterns.md");
    for name in names {
        let is_explained = patterns.contains(&format!("\n| `{name}` | "));
        assert!(is_explained, "{name} has no row in docs/patterns.md");
    }
}

#[test]
fn it_measures_itself_and_more_time_sees_smaller_effects() {
    let page = page(&doctor("itself", &["--json", "--yes"]));
    let visible = &page["visible"];
    assert!(visible["reason"].is_null(), "{visible}");
    let budgets = visible["budgets"].as_array().unwrap();
    let column = |key: &str| -> Vec<f64> {
        budgets
            .iter()
            .map(|budget| budget[key].as_f64().unwrap())
            .collect()
    };
    assert_eq!(column("minutes"), [1.0, 5.0, 30.0]);
    assert!(column("rounds").is_sorted(), "{visible}");
    for key in ["cpu_per_request_share", "throughput_share"] {
        let effects = column(key);
        assert!(effects.iter().all(|effect| *effect > 0.0), "{visible}");
        assert!(effects.is_sorted_by(|more, less| more > less), "{visible}");
    }
}

#[test]
fn a_machine_at_work_is_looked_at_but_not_loaded_and_fails_a_check() {
    let _hogs = Hogs::start();
    let output = doctor("at-rest", &["--json"]);
    let found = page(&output);
    assert_eq!(
        (output.status.code(), &found["fit"]),
        (Some(0), &Value::Bool(false))
    );
    let reason = found["visible"]["reason"].as_str().unwrap();
    assert_says(reason, "at work");
    assert_says(reason, "--yes");
    assert!(found["visible"]["budgets"].is_null());
    assert_eq!(
        doctor("check", &["--no-load", "--check"]).status.code(),
        Some(1)
    );
}

#[test]
fn a_program_on_the_packets_of_a_device_is_found_and_without_one_there_is_none() {
    crate::common::needs_root!();
    let folder = Folder::new("doctor-bpf");
    let shell = ["unshare", "--net", "sh"];
    let evidence = |step: &str| {
        let arguments = ["doctor", "--no-load", "--json"];
        let json = answer(&mut in_place_of_a_shell(&shell, step, &folder, &arguments));
        let page: Value = serde_json::from_str(&json).unwrap();
        let mut findings = page["findings"].as_array().unwrap().iter();
        let found = findings.find(|finding| finding["name"] == "bpf-programs");
        found.unwrap()["evidence"].as_str().unwrap().to_owned()
    };
    // A classic BPF program of one instruction: accept the whole packet.
    let filter = "tc qdisc add dev lo clsact && \
                  tc filter add dev lo ingress bpf bytecode '1,6 0 0 65535'";
    let sign = "a bpf filter on packets into device 1";
    let told = evidence(filter);
    assert_says(&told, sign);
    let told = evidence("true");
    assert!(!told.contains(sign), "{told}");
}

#[test]
fn a_process_that_is_not_there_is_an_error_that_says_what_to_do() {
    let output = doctor("no-process", &["--pid", "4194303"]);
    assert_says(&refused(&output), "--pid");
}

#[test]
fn the_name_of_the_host_is_nowhere_in_it() {
    let folder = Folder::new("doctor-host");
    let shell = ["unshare", "--user", "--map-root-user", "--uts", "sh"];
    let arguments = ["doctor", "--no-load", "--json", "--verbose"];
    let step = "hostname planted-host";
    let text = answer(&mut in_place_of_a_shell(&shell, step, &folder, &arguments));
    assert_says(&text, "\"findings\"");
    assert!(!text.contains("planted-host"), "{text}");
}
