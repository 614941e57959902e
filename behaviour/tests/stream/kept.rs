//! Tests of streams that are saved in a run folder.

use std::process::Stdio;

use serde_json::Value;

use super::number;
use crate::common::processes::{signal, wait_for};
use crate::common::{Folder, answer, assert_says, linerate, refusal_of, words};

/// How many saved intervals [`start_test`] waits for.
const INTERVALS: usize = 8;

fn judged(folder: &Folder) -> Value {
    let words = ["study", "report", "run", "--json"];
    serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap()
}

/// Starts a test of a minute and waits until its folder has some intervals.
fn start_test(folder: &Folder) -> std::process::Child {
    let flags = words("stream -q --json --for 60s --interval 50ms -P 2 --out run");
    let test = linerate(folder, &flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    wait_for("intervals", || saved(folder).lines().count() >= INTERVALS);
    test.unwrap()
}

fn saved(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("run/blocks.jsonl")).unwrap_or_default()
}

#[test]
fn a_test_that_is_stopped_tells_the_figures_until_then() {
    let folder = Folder::new("stream-interrupted");
    let test = start_test(&folder);
    signal("INT", test.id());
    let output = test.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&said["ways"][0]["received_bytes"]) > 0.0, "{said:#}");
    assert!(number(&said["window_seconds"]) < 60.0, "{said:#}");
    assert_says(&folder.text("run/report.html"), "The limit up was");
}

#[test]
fn a_test_that_is_killed_has_kept_every_interval_that_it_told() {
    let folder = Folder::new("stream-killed");
    let mut test = start_test(&folder);
    signal("KILL", test.id());
    test.wait().unwrap();
    let whole = saved(&folder).matches('\n').count();
    let said = judged(&folder);
    let way = &said["ways"][0];
    assert!(number(&way["bytes"]) > 0.0, "{said:#}");
    let seconds = number(&way["seconds"]);
    assert!(seconds >= whole as f64 * 0.05, "{whole} in {seconds} s");
    let told = answer(&mut linerate(&folder, &["study", "report", "run"]));
    assert_says(&told, "no recorded end");
    let said = refusal_of(&mut linerate(&folder, &["study", "resume", "run"]));
    assert_says(&said, "a test of streams cannot be resumed");
}

#[test]
fn a_test_that_ended_has_a_report_of_each_way_and_its_folder_is_not_taken_twice() {
    let folder = Folder::new("stream-kept");
    let flags = words("stream -q --for 500ms --interval 100ms --both --out run");
    let told = answer(&mut linerate(&folder, &flags));
    assert_says(&told, "bit/s down over 1 stream of TCP");
    let page = folder.text("run/report.html");
    for part in ["<svg", "plateau", "The limit down was", "CPU-s per GB"] {
        assert!(page.contains(part), "{part}");
    }
    let ways = judged(&folder)["ways"].clone();
    let names = [0, 1].map(|place| ways[place]["way"].as_str().unwrap().to_owned());
    assert_eq!(names, ["up", "down"]);
    let said = refusal_of(&mut linerate(&folder, &flags));
    assert_says(&said, "holds a run already");
    let words = ["study", "compare", "run", "run"];
    assert_says(
        &refusal_of(&mut linerate(&folder, &words)),
        "cannot be compared",
    );
}
