//! What a new workload costs: this folder, of which the program knows nothing.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, answer, assert_says, errors, linerate};

/// A folder with the study. Its program is below `[files]`, where the author of a study puts it.
fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut study: toml::Table = include_str!("dns.toml").parse().unwrap();
    let files = toml::Table::from_iter([("dns.py".to_owned(), include_str!("dns.py").into())]);
    study.insert("files".to_owned(), files.into());
    std::fs::write(folder.path().join("dns.toml"), study.to_string()).unwrap();
    folder
}

const RUN: [&str; 5] = ["study", "run", "dns.toml", "--yes", "--trust"];

fn judgement(folder: &Folder, run: &str) -> Value {
    let words = ["study", "report", run, "--json"];
    serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap()
}

/// Asserts that hashing was judged better than scanning, and that both figures are there.
fn assert_hashing_is_better(judgement: &Value) {
    let contrasts = judgement["contrasts"].as_array().unwrap();
    assert_eq!(contrasts.len(), 1, "{judgement:#}");
    assert_eq!(contrasts[0]["verdict"], "better", "{judgement:#}");
    let metrics = judgement["metrics"].as_array().unwrap();
    let names: Vec<&Value> = metrics.iter().map(|metric| &metric["name"]).collect();
    // The metrics that the kernel has of every command follow.
    assert_eq!(names[..2], ["cpu_us", "query_us"]);
}

#[test]
fn a_workload_of_two_files_comes_out_on_every_page() {
    let folder = prepared("toy");
    let said = answer(&mut linerate(
        &folder,
        &[&RUN[..], &["--out", "run"]].concat(),
    ));
    assert!(
        said.starts_with("“the zone is hashed” is better than"),
        "{said}"
    );
    assert_says(&said, "time of a query");
    let page = folder.text("run/report.html");
    assert!(page.contains("the zone is hashed") && page.contains("<svg"));
    assert_hashing_is_better(&judgement(&folder, "run"));
}

#[test]
fn a_workload_of_two_files_goes_on_after_a_kill_and_stands_beside_another_run() {
    let folder = prepared("toy-killed");
    let words = |out| [&RUN[..], &["--out", out]].concat();
    let mut killed = linerate(&folder, &words("killed"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let saved = || std::fs::read_to_string(folder.path().join("killed/blocks.jsonl"));
    let has_some = || saved().is_ok_and(|blocks| blocks.lines().count() > 4);
    assert!(sys::clock::wait_until(Duration::from_secs(120), has_some));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = saved().unwrap();
    let resumed = linerate(&folder, &["study", "resume", "killed", "--yes", "--trust"]).output();
    let resumed = resumed.unwrap();
    assert!(resumed.status.success(), "{}", errors(&resumed));
    assert!(saved().unwrap().starts_with(before.trim_end()));
    let run = judgement(&folder, "killed");
    assert_hashing_is_better(&run);
    assert_eq!(run["rounds_done"], 12);

    answer(&mut linerate(&folder, &words("other")));
    let compare = ["study", "compare", "killed", "other", "--json"];
    let beside: Value = serde_json::from_str(&answer(&mut linerate(&folder, &compare))).unwrap();
    let figures = beside["arms"][0]["figures"].as_array().unwrap();
    for (figure, name) in figures.iter().zip(["cpu_us", "query_us"]) {
        assert_eq!(figure["metric"], name, "{beside:#}");
        assert!(figure["ratio"].is_number(), "{beside:#}");
    }
}
