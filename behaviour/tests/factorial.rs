//! A kept run of commands through the program: judged, compared, and refused where it must be.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, answer, errors, linerate};

/// Copies a run that was measured and kept into a folder of the test's own.
fn kept(folder: &Folder, name: &str) -> PathBuf {
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
    kept(&folder, "strength-reduction");
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
fn broken_evidence_is_refused_by_name() {
    let folder = Folder::new("factorial-evidence");
    let run = kept(&folder, "strength-reduction");
    std::fs::write(run.join("evidence.json"), "{\"format\": 1,\n nonsense").unwrap();
    let output = linerate(&folder, &["study", "report", "strength-reduction"])
        .output()
        .unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("evidence.json:2:") && said.contains("is no evidence"),
        "{said}"
    );
}
