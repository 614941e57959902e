//! A comparison that is saved in a folder: killed, resumed and reported again.

use std::process::{Output, Stdio};
use std::time::Duration;

use model::bench::SavedBench;
use serde_json::Value;

use crate::common::{Folder, answer, assert_says, errors, linerate};

/// A command whose third run waits for the file `free`, so that the comparison can be killed
/// meanwhile.
const WAITS: &str = "echo x >> count; test $(wc -l < count) -lt 3 || { touch waiting; \
                     until test -e free; do sleep 0.1; done; }";
/// The runs of a whole comparison: two commands, the control and the shell in each of 4 rounds.
const RUNS: usize = 4 * 4;

fn study(folder: &Folder, arguments: &[&str]) -> Output {
    let words = [&["study"], arguments].concat();
    linerate(folder, &words).output().unwrap()
}

/// Starts a comparison, kills it in its third round and returns the blocks saved in `run`.
fn killed(folder: &Folder) -> String {
    let words = ["bench", "-S", "-r", "4", "--out", "run", "true", WAITS];
    let mut child = linerate(folder, &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let waiting = folder.path().join("waiting");
    let has_begun = sys::clock::wait_until(Duration::from_secs(60), || waiting.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(folder.path().join("free"), "").unwrap();
    assert!(has_begun, "the third run did not come");
    folder.text("run/blocks.jsonl")
}

#[test]
fn a_comparison_that_was_killed_is_resumed_and_reported_from_its_folder() {
    let folder = Folder::new("bench-killed");
    let before = killed(&folder);
    let saved = before.lines().count();
    assert!((2 * 4..3 * 4).contains(&saved), "{saved}: {before}");

    let resume = ["resume", "run", "--trust", "--json"];
    let resumed = study(&folder, &resume);
    assert!(resumed.status.success(), "{}", errors(&resumed));
    let report: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(report["judgement"]["rounds_done"], 4);
    let runs = report["record"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), RUNS);
    let of_first = runs.iter().filter(|run| run.get("epoch").is_none());
    let in_whole_rounds = 2 * 4;
    let why = "the torn round is measured anew, in a later epoch";
    assert_eq!(of_first.count(), in_whole_rounds, "{why}");
    let after = folder.text("run/blocks.jsonl");
    assert!(after.starts_with(&before), "what was saved stays");

    let reported = study(&folder, &["report", "run", "--json"]);
    assert_eq!(reported.stdout, resumed.stdout);
    let again = study(&folder, &resume);
    assert_eq!(again.stdout, resumed.stdout, "{}", errors(&again));
    assert_eq!(folder.text("run/blocks.jsonl"), after, "nothing was left");
}

#[test]
fn the_commands_of_a_folder_are_shown_and_not_run_without_trust() {
    let folder = Folder::new("bench-trust");
    let before = killed(&folder);
    let refused = study(&folder, &["resume", "run"]);
    let said = errors(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_says(&said, "--trust");
    assert_says(&said, "until test -e free");
    assert_eq!(folder.text("run/blocks.jsonl"), before);
}

#[test]
fn a_comparison_goes_on_only_with_the_cpu_and_the_kernel_it_was_begun_with() {
    let folder = Folder::new("bench-another-machine");
    let before = killed(&folder);
    let mut run: SavedBench = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    run.facts.cpu_model = "another".to_owned();
    let text = serde_json::to_string(&run).unwrap();
    std::fs::write(folder.path().join("run/run.json"), text).unwrap();
    let refused = study(&folder, &["resume", "run", "--trust"]);
    let said = errors(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_says(&said, "do not mix");
    assert_eq!(folder.text("run/blocks.jsonl"), before);
}

#[test]
fn the_folder_gives_the_same_text_as_the_terminal_and_a_page() {
    let folder = Folder::new("bench-out");
    let words = ["bench", "-N", "-r", "2", "--out", "run", "true", "env true"];
    let said = answer(&mut linerate(&folder, &words));
    let reported = study(&folder, &["report", "run"]);
    assert_eq!(said, String::from_utf8(reported.stdout).unwrap());
    assert_says(&said, "report: run/report.html");
    let page = folder.text("run/report.html");
    assert!(page.contains("Which command is faster") && page.contains("env true"));

    let second = linerate(&folder, &words).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(
        errors(&second).contains("holds a run already"),
        "{}",
        errors(&second)
    );
    let compared = study(&folder, &["compare", "run", "run"]);
    assert!(
        errors(&compared).contains("to one `linerate bench`"),
        "{}",
        errors(&compared)
    );
}

#[test]
fn nothing_is_kept_where_nobody_asks() {
    let folder = Folder::new("bench-nothing-kept");
    answer(&mut linerate(&folder, &["bench", "-N", "-r", "1", "true"]));
    assert!(folder.names("").is_empty());
}
