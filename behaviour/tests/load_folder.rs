//! `linerate load --sweep` and `--slo` with `--out`: killed, resumed, and reported again.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use model::Reading;
use model::run::Blocks;
use serde_json::Value;

use crate::common::load_server::{OK, answer_with};
use crate::common::{Folder, assert_says, errors, linerate};

/// The shortest blocks that can be judged.
const SHORT: [&str; 4] = ["-d", "50ms", "--settle", "0ms"];
const SWEEP: [&str; 4] = ["--sweep", "connections=1..8", "--rounds", "3"];
const SEARCH: [&str; 2] = ["--slo", "p50<5ms"];

fn load(folder: &Folder, url: &str, arguments: &[&str]) -> Command {
    let words = [&["load", url, "--out", "run"][..], &SHORT, arguments].concat();
    linerate(folder, &words)
}

fn study(folder: &Folder, arguments: &[&str]) -> Output {
    let words = [&["study"], arguments].concat();
    linerate(folder, &words).output().unwrap()
}

/// Kills a load when it has saved some blocks, and returns them.
fn killed(folder: &Folder, url: &str, arguments: &[&str]) -> String {
    let mut child = load(folder, url, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let blocks = folder.path().join("run/blocks.jsonl");
    let lines = || {
        std::fs::read_to_string(&blocks)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let came = sys::clock::wait_until(Duration::from_secs(60), || lines() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(came, "the fourth block did not come");
    folder.text("run/blocks.jsonl")
}

/// Checks that a run that was killed is resumed from its folder alone, keeps the blocks that it had
/// and is reported from there.
fn goes_on(name: &str, arguments: &[&str]) -> (Value, Folder) {
    let folder = Folder::new(name);
    let url = format!("http://{}/", answer_with(OK));
    let before = killed(&folder, &url, arguments);
    let whole = &before[..=before.rfind('\n').unwrap()];
    let refused = study(&folder, &["resume", "run"]);
    let said = errors(&refused);
    assert!(said.contains("--trust") && said.contains(&url), "{said}");

    let resumed = study(&folder, &["resume", "run", "--trust", "--json"]);
    let found: Value = serde_json::from_slice(&resumed.stdout).unwrap_or_else(|_| {
        panic!("{}", errors(&resumed));
    });
    assert_eq!(found["is_over"], true, "{found:#}");
    assert_says(&errors(&resumed), "going on with the ");
    let after = folder.text("run/blocks.jsonl");
    assert!(after.starts_with(whole), "what was saved stays");
    assert!(
        after.contains("\"epoch\":1"),
        "the others are of a later epoch"
    );

    let again = study(&folder, &["resume", "run", "--trust", "--json"]);
    assert_says(&errors(&again), " is over; reported again from run");
    assert!(!errors(&again).contains(" ns"), "{}", errors(&again));
    assert_eq!(folder.text("run/blocks.jsonl"), after);

    let told = study(&folder, &["report", "run", "--json"]);
    assert_eq!(told.stdout, resumed.stdout);
    let page = folder.text("run/report.html");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    assert_says(&page, address);
    assert_says(&page, "Measured");
    (found, folder)
}

#[test]
fn a_sweep_that_was_killed_goes_on_and_has_every_level_once_a_round() {
    let (found, folder) = goes_on("load-sweep", &SWEEP);
    assert_eq!(found["blocks"].as_array().unwrap().len(), 6 * 3);
    assert!(folder.text("run/report.html").contains("<svg"));
    let beside = study(&folder, &["compare", "run", "run"]);
    assert!(
        errors(&beside).contains("linerate versus"),
        "{}",
        errors(&beside)
    );
}

#[test]
fn a_search_that_was_killed_goes_on_from_what_it_had_seen() {
    let (found, folder) = goes_on("load-slo", &SEARCH);
    // Two blocks of closed loop come before the search.
    let saved = folder.text("run/blocks.jsonl").lines().count();
    assert_eq!(found["blocks"].as_array().unwrap().len() + 2, saved);
}

#[test]
fn what_may_be_secret_is_not_saved_and_must_be_typed_again_to_go_on() {
    let folder = Folder::new("load-secret");
    let url = format!("http://{}/?token=hushed", answer_with(OK));
    // One secret is a part of another: hiding it must not leave the rest of the other.
    let secret = [
        "-H",
        "X-User: hush",
        "-H",
        "Authorization: hushed and whispered",
    ];
    let arguments = [&SWEEP[..], &secret].concat();
    killed(&folder, &url, &arguments);
    let reveals = |file: &str| {
        let text = folder.text(file);
        text.contains("hush") || text.contains("whispered") || !text.contains("X-User: …")
    };
    assert!(!reveals("run/run.json"));
    let refused = study(&folder, &["resume", "run", "--trust"]);
    assert_says(&errors(&refused), "type the command");

    let resumed = load(&folder, &url, &arguments).output().unwrap();
    assert!(resumed.status.success(), "{}", errors(&resumed));
    let saved = folder.text("run/blocks.jsonl");
    let counted = Blocks::<Reading>::parse(&saved).unwrap().records;
    assert_eq!(counted.len(), 6 * 3);
    assert!(!reveals("run/report.html"));
}

#[test]
fn a_run_does_not_go_on_with_another_request_or_seed() {
    let folder = Folder::new("load-another");
    let url = format!("http://{}/", answer_with(OK));
    killed(&folder, &url, &SWEEP);
    for another in [
        &["--seed", "7"][..],
        &["-X", "PUT"],
        &["-H", "X-More: 1"],
        &["--body", "another"],
        &["--engine", "epoll"],
    ] {
        let arguments = [&SWEEP[..], another].concat();
        let refused = load(&folder, &url, &arguments).output().unwrap();
        assert_says(&errors(&refused), "holds another run");
    }
    let other_query = load(&folder, &format!("{url}?page=2"), &SWEEP).output();
    assert_says(&errors(&other_query.unwrap()), "holds another run");
}

#[test]
fn a_run_does_not_go_on_under_another_kernel_or_version() {
    let folder = Folder::new("load-moved");
    let url = format!("http://{}/", answer_with(OK));
    killed(&folder, &url, &SWEEP);
    let file = folder.path().join("run/run.json");
    let was = folder.text("run/run.json");
    let blocks = folder.text("run/blocks.jsonl");
    for (field, said) in [
        ("/facts/kernel_release", "on another CPU or kernel"),
        ("/linerate_version", "by Linerate 0.0.1"),
    ] {
        let mut run: Value = serde_json::from_str(&was).unwrap();
        *run.pointer_mut(field).unwrap() = "0.0.1".into();
        std::fs::write(&file, run.to_string()).unwrap();
        let refused = load(&folder, &url, &SWEEP).output().unwrap();
        assert_says(&errors(&refused), said);
        assert_eq!(folder.text("run/blocks.jsonl"), blocks);
    }
}

#[test]
fn a_target_that_cannot_be_judged_leaves_no_folder() {
    let folder = Folder::new("load-no-folder");
    let broken = answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".as_slice());
    let output = load(&folder, &format!("http://{broken}/"), &SEARCH)
        .output()
        .unwrap();
    assert_says(&errors(&output), "answers 500");
    assert!(folder.names("").is_empty());
}
