//! Studies through the program: run, stop, resume, report.

use std::collections::HashSet;
use std::process::{Child, Command, Stdio};

use model::run::{Blocks, RunRecord};

use crate::common::whole_run::{Run, folder_with, whole_run};
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

fn blocks(folder: &Folder) -> Vec<model::BlockRecord> {
    Blocks::parse(&folder.text("run/blocks.jsonl"))
        .unwrap()
        .records
}

#[test]
fn the_main_job_in_an_empty_folder_leaves_one_run_folder_and_nothing_else() {
    let folder = Folder::new("main-job");
    let page = answer(&mut linerate(&folder, &["--smoke", "--yes"]));
    assert_says(&page, "server CPU");
    assert_eq!(folder.names(""), ["linerate-runs"]);
    let runs = folder.names("linerate-runs");
    assert_eq!(runs.len(), 1);
    assert!(runs[0].starts_with("http-json-"), "{runs:?}");
    let files = folder.names(&format!("linerate-runs/{}", runs[0]));
    assert_eq!(files, ["blocks.jsonl", "report.html", "run.json"]);
}

#[test]
fn every_lever_of_the_ladder_is_used_in_a_namespace_of_our_own() {
    let run: RunRecord = serde_json::from_str(&whole_run().run).unwrap();
    assert_eq!(run.rig, model::run::Rig::PrivateNamespace);
    let skipped = |doubt: &&model::Doubt| matches!(doubt, model::Doubt::LeverSkipped { .. });
    assert_eq!(run.doubts.iter().find(skipped), None);
    assert_eq!(run.arms.len(), 8);
}

#[test]
fn the_rules_of_the_machine_are_measured_as_a_copy_and_stay() {
    crate::common::needs_root!();
    let folder = Folder::new("firewall");
    // A network namespace of our own stands for the machine.
    let on_a_machine_with_rules =
        "ip link set lo up && nft -f - <<'END' && \"$@\" && nft list ruleset
table inet filter {
\tchain input {
\t\ttype filter hook input priority filter; policy drop;
\t\tct state established,related accept
\t\tiif \"lo\" accept
\t}
}
END";
    let program = linerate(&folder, &[]);
    let mut machine = Command::new("unshare");
    machine
        .args(["--net", "sh", "-c", on_a_machine_with_rules, "sh"])
        .arg(program.get_program())
        .args([
            "study", "run", "firewall", "--smoke", "--yes", "--quiet", "--out", "run",
        ])
        .current_dir(folder.path());
    let said = answer(&mut machine);
    assert!(said.ends_with("\t\tiif \"lo\" accept\n\t}\n}\n"), "{said}");
    let run: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    let is_copied = run.arms.iter().any(|arm| arm.name == "machine");
    assert!(is_copied, "{:?}", run.doubts);
}

/// Starts the run, or resumes it, without output.
fn go_on(folder: &Folder) -> Child {
    let arguments: &[&str] = if folder.text("run/run.json").is_empty() {
        &["study", "run", "short.toml", "--yes", "--out", "run"]
    } else {
        &["study", "resume", "run", "--yes"]
    };
    let mut command = linerate(folder, arguments);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets a run go on until `more_blocks` more blocks are saved, and a little further: into the
/// middle of a block, of a write, or of the work between two blocks.
fn let_run(child: &mut Child, folder: &Folder, more_blocks: usize, further_us: u64) {
    let lines = |folder: &Folder| folder.text("run/blocks.jsonl").lines().count();
    let wanted = lines(folder) + more_blocks;
    while child.try_wait().unwrap().is_none() && lines(folder) < wanted {
        std::thread::yield_now();
    }
    let begun = sys::clock::now();
    while begun.elapsed().as_micros() < u128::from(further_us) {
        std::thread::yield_now();
    }
}

#[test]
fn a_run_killed_at_twenty_moments_loses_nothing_and_counts_nothing_twice() {
    let folder = Folder::new("kill");
    let study = answer(&mut linerate(&folder, &["study", "show", "http-json"]))
        .replace("rounds = 16", "rounds = 12")
        .replace("settle_ms = 80", "settle_ms = 10")
        .replace("score_ms = 500", "score_ms = 30")
        .replace("score_ms = 1000", "score_ms = 30");
    std::fs::write(folder.path().join("short.toml"), study).unwrap();
    let mut kept = String::new();
    for kill in 0..20_usize {
        let mut child = go_on(&folder);
        // Some rounds of eight blocks are cut off, others complete. The kills are spread over a
        // block's 40 ms without any pattern that the blocks could share.
        let more_blocks = 2 + kill * 5 % 11;
        let_run(
            &mut child,
            &folder,
            more_blocks,
            kill as u64 * 7919 % 50_000,
        );
        let _ = child.kill();
        child.wait().unwrap();
        let saved = folder.text("run/blocks.jsonl");
        assert!(saved.starts_with(&kept), "kill {kill} lost a saved block");
        saved[..saved.rfind('\n').map_or(0, |end| end + 1)].clone_into(&mut kept);
    }
    assert!(go_on(&folder).wait().unwrap().success());
    let blocks = blocks(&folder);
    let keys: HashSet<_> = blocks.iter().map(model::BlockRecord::key).collect();
    let planned = 12 * 8 + 6 * 2;
    assert_eq!((blocks.len(), keys.len()), (planned, planned));
    assert!(
        blocks.last().unwrap().epoch >= 15,
        "most kills fell into the run"
    );
}

#[test]
fn a_run_folder_is_judged_again_to_the_same_words() {
    let folder = Folder::new("again");
    let first = answer(&mut linerate(
        &folder,
        &["--smoke", "--yes", "--json", "--out", "run"],
    ));
    let again = answer(&mut linerate(
        &folder,
        &["study", "report", "run", "--json"],
    ));
    assert_eq!(first, again);
}

#[test]
fn a_study_on_disk_wins_over_the_built_in_one_and_its_errors_name_the_place() {
    let folder = Folder::new("disk");
    let text = answer(&mut linerate(&folder, &["study", "show", "http-json"]));
    std::fs::create_dir(folder.path().join("studies")).unwrap();
    let wrong = text.replace("rounds = 16", "rounds = 0");
    std::fs::write(folder.path().join("studies/http-json.toml"), wrong).unwrap();
    let said = refusal_of(&mut linerate(
        &folder,
        &["study", "run", "http-json", "--yes"],
    ));
    let line = text.lines().position(|line| line == "rounds = 16").unwrap() + 1;
    let place = format!("studies/http-json.toml:{line}:10");
    assert_says(&said, &place);
}

#[test]
fn a_folder_that_holds_a_run_is_not_written_over() {
    let Run { run, blocks } = whole_run();
    let folder = folder_with("taken", run, blocks);
    let again = ["--smoke", "--yes", "--out", "run"];
    let said = refusal_of(&mut linerate(&folder, &again));
    assert_says(&said, "holds a run already");
    assert!(!said.contains("stopped early"), "it never began: {said}");
    assert_eq!(folder.text("run/blocks.jsonl"), *blocks);
}

#[test]
fn two_runs_of_one_study_stand_side_by_side_without_a_verdict() {
    let folder = Folder::new("compare");
    for out in ["one", "other"] {
        answer(&mut linerate(&folder, &["--smoke", "--yes", "--out", out]));
    }
    let page = answer(&mut linerate(
        &folder,
        &["study", "compare", "one", "other"],
    ));
    assert!(page.contains("ordinary box"), "{page}");
}
