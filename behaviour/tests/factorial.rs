//! A saved run of commands through the program: judged, compared, and refused where it must be.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};

/// Copies a run that was measured once and is kept in the repository into a folder of the test's
/// own.
fn saved_run(folder: &Folder, name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/data");
    let copy = folder.path().join(name);
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(data.join(name)).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    copy
}

fn json(folder: &Folder, words: &[&str]) -> Value {
    serde_json::from_str(&answer(&mut linerate(folder, words))).unwrap()
}

#[test]
fn a_run_of_commands_is_judged_from_its_folder_and_its_report_written() {
    let folder = Folder::new("factorial-report");
    saved_run(&folder, "strength-reduction");
    let said = answer(&mut linerate(
        &folder,
        &["study", "report", "strength-reduction"],
    ));
    assert!(
        said.starts_with("“B: add to the element before” is worse than"),
        "{said}"
    );
    let files = ["blocks.jsonl", "evidence.json", "report.html", "run.json"];
    assert_eq!(folder.names("strength-reduction"), files);
    let page = folder.text("strength-reduction/report.html");
    assert!(page.contains("objdump") && page.contains("mulpd"));
    let judgement = json(
        &folder,
        &["study", "report", "strength-reduction", "--json"],
    );
    let contrasts = judgement["contrasts"].as_array().unwrap();
    let are = |verdict: &str| {
        let alike = contrasts.iter().filter(|one| one["verdict"] == verdict);
        alike.count()
    };
    assert_eq!((contrasts.len(), are("worse"), are("better")), (20, 16, 2));
}

#[test]
fn two_runs_of_commands_stand_side_by_side_without_a_verdict() {
    let folder = Folder::new("factorial-compare");
    saved_run(&folder, "strength-reduction");
    let words = words("study compare strength-reduction strength-reduction");
    let said = answer(&mut linerate(&folder, &words));
    assert!(
        said.contains("No verdict") && said.contains("0.0 %"),
        "{said}"
    );
    assert!(!said.contains("worse"), "{said}");
    let compared = json(&folder, &[&words[..], &["--json"]].concat());
    assert_eq!(compared["arms"][0]["figures"][0]["ratio"], 1.0);
}

#[test]
fn a_run_of_commands_and_one_of_servers_are_refused_by_name() {
    let folder = Folder::new("factorial-kinds");
    saved_run(&folder, "strength-reduction");
    saved_run(&folder, "smoke");
    let words = ["study", "compare", "strength-reduction", "smoke"];
    let said = refusal_of(&mut linerate(&folder, &words));
    assert!(
        said.contains("one run is of servers and the other of commands"),
        "{said}"
    );
}

#[test]
fn a_changed_study_and_broken_evidence_are_refused_by_name() {
    let folder = Folder::new("factorial-changed");
    let run = saved_run(&folder, "strength-reduction");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(run.join("blocks.jsonl"), other.join("blocks.jsonl")).unwrap();
    let text = folder.text("strength-reduction/run.json");
    let changed = text.replace("\"smallest_effect\":0.05", "\"smallest_effect\":0.5");
    let changed = changed.replace("\"smallest_effect\": 0.05", "\"smallest_effect\": 0.5");
    assert_ne!(changed, text);
    std::fs::write(other.join("run.json"), changed).unwrap();
    let words = ["study", "compare", "strength-reduction", "other"];
    let said = errors(&linerate(&folder, &words).output().unwrap());
    assert!(said.contains("was changed between the runs"), "{said}");
    std::fs::write(other.join("evidence.json"), "{\"format\": 1,\n nonsense").unwrap();
    let said = refusal_of(&mut linerate(&folder, &["study", "report", "other"]));
    assert_says(&said, "evidence.json:2:");
    assert_says(&said, "is not valid evidence");
}
