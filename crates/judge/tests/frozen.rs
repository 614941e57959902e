//! The judgements of runs of every kind that is kept as a folder, so that no change of the judge
//! changes a figure unseen. Some runs were measured, and are among the data of the report's
//! tests; the others are made up.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::path::{Path, PathBuf};

use model::bench::BenchRecord;
use model::run::{Blocks, RunKind};
use model::{CommandRun, RunRecord};
use serde_json::{Value, to_value};

/// Relative difference that a figure may have: the order of additions may change its last bits.
const TOLERANCE: f64 = 1e-9;

#[test]
fn every_run_is_judged_as_it_was() {
    let mut differences = Vec::new();
    for folder in folders() {
        let name = folder.file_name().unwrap().display().to_string();
        let kept = std::fs::read_to_string(frozen().join(&name).join("judgement.json")).unwrap();
        let judged = judged(&folder);
        let found = differences_of(&name, &serde_json::from_str(&kept).unwrap(), &judged);
        if !found.is_empty() {
            let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
            std::fs::write(&now, serde_json::to_string_pretty(&judged).unwrap() + "\n").unwrap();
            differences.push(format!("{}, see {}", found.join("\n"), now.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen")
}

/// Every folder with a run that is judged by its blocks.
fn folders() -> Vec<PathBuf> {
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/data");
    let all = [frozen(), measured].map(|folder| std::fs::read_dir(folder).unwrap());
    let all = all.into_iter().flatten().map(|entry| entry.unwrap().path());
    let has_run = |folder: &PathBuf| {
        let files = ["blocks.jsonl", "record.json"];
        files.iter().any(|file| folder.join(file).exists())
    };
    all.filter(has_run).collect()
}

fn judged(folder: &Path) -> Value {
    let text = |file| std::fs::read_to_string(folder.join(file));
    if let Ok(record) = text("record.json") {
        let record: BenchRecord = serde_json::from_str(&record).unwrap();
        return to_value(judge::judge_bench(&record)).unwrap();
    }
    let (run, blocks) = (text("run.json").unwrap(), text("blocks.jsonl").unwrap());
    let judgement = match RunKind::of(&run) {
        RunKind::Load => {
            let (run, blocks) = (RunRecord::parse(&run).unwrap(), Blocks::parse(&blocks));
            to_value(judge::judge(&run, &blocks.unwrap().records))
        }
        RunKind::Bench | RunKind::ManyBlocks | RunKind::Look | RunKind::Streams => {
            panic!("none of its kind is kept as a folder")
        }
        RunKind::Commands => {
            let (run, blocks) = (CommandRun::parse(&run).unwrap(), Blocks::parse(&blocks));
            to_value(judge::judge_commands(&run, &blocks.unwrap().records))
        }
    };
    judgement.unwrap()
}

/// Where two values differ, by place.
fn differences_of(place: &str, kept: &Value, found: &Value) -> Vec<String> {
    match (kept, found) {
        (Value::Object(kept), Value::Object(found)) => {
            let keys = kept.keys().chain(found.keys());
            let keys: std::collections::BTreeSet<&String> = keys.collect();
            let of_key = |key: &String| {
                let at = format!("{place}.{key}");
                differences_of(
                    &at,
                    kept.get(key).unwrap_or(&Value::Null),
                    found.get(key).unwrap_or(&Value::Null),
                )
            };
            keys.into_iter().flat_map(of_key).collect()
        }
        (Value::Array(kept), Value::Array(found)) if kept.len() == found.len() => {
            let both = kept.iter().zip(found).enumerate();
            both.flat_map(|(index, (kept, found))| {
                differences_of(&format!("{place}[{index}]"), kept, found)
            })
            .collect()
        }
        (Value::Number(a), Value::Number(b)) if is_near(a.as_f64(), b.as_f64()) => Vec::new(),
        _ if kept == found => Vec::new(),
        _ => vec![format!("{place}: {kept} became {found}")],
    }
}

fn is_near(kept: Option<f64>, found: Option<f64>) -> bool {
    let both = kept.zip(found);
    both.is_some_and(|(kept, found)| (kept - found).abs() <= TOLERANCE * kept.abs())
}
