//! Levers of a program on a study's target.

use std::process::Stdio;
use std::time::Duration;

use model::run::RunRecord;

use super::RUN;
use crate::common::groups;
use crate::common::processes::children;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

/// Writes the shipped study with one step, which adds these levers. Returns the words to run it.
fn study(folder: &Folder, levers: &[&str]) -> Vec<&'static str> {
    let shown = answer(&mut linerate(folder, &["study", "show", "http-json"]));
    let head = shown.split("[latency]").next().unwrap();
    let head = head.replace("floor = true", "floor = false");
    let text = format!(
        "{head}\n[baseline]\ntitle = \"as it is\"\n\n[[step]]\nname = \"given\"\n\
         title = \"with levers of its own\"\nwhy = \"To see that it has them.\"\nadd = {levers:?}\n"
    );
    std::fs::write(folder.path().join("given.toml"), text).unwrap();
    [&["study", "run", "given.toml"], &RUN[..]].concat()
}

/// Whether a target has the effect of every lever that the test adds.
fn is_given(target: u32) -> bool {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{target}/{file}"));
    let text = |file: &str| read(file).unwrap_or_default();
    let stat = text("stat");
    // The fields from the third on, see proc_pid_stat(5): the 19th is the nice value, the 41st the
    // scheduling policy.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
    (field(19), field(41)) == ("3", "3")
        && text("timerslack_ns").trim() == "2000"
        && text("cgroup").contains("/linerate-")
        && text("cmdline")
            .replace('\0', " ")
            .contains("--no-delay off --defer-accept 5s --backlog 77 ")
        && text("status").contains("THP_enabled:\t0")
}

#[test]
fn a_target_has_the_levers_of_its_arm_and_they_go_with_it() {
    const LEVERS: [&str; 8] = [
        "no-delay=off",
        "defer-accept=5s",
        "listen-backlog=77",
        "scheduler=batch",
        "nice=3",
        "timer-slack=2us",
        "program-huge-pages=disabled",
        "cpu-weight=50",
    ];
    crate::common::needs_root!();
    let folder = Folder::new("given-levers");
    let before = groups::all();
    let mut command = linerate(&folder, &study(&folder, &LEVERS));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    let targets = || children(run.id()).into_iter().flat_map(children);
    let seen = || targets().any(is_given);
    assert!(sys::clock::wait_until(Duration::from_secs(60), seen));
    assert!(run.wait().unwrap().success());
    let record: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    let skipped = |doubt: &&model::Doubt| matches!(doubt, model::Doubt::LeverSkipped { .. });
    assert_eq!(record.doubts.iter().find(skipped), None);
    assert_eq!(record.arms.last().unwrap().name, "given");
    groups::assert_none_but(&before);
}

#[test]
fn a_lever_that_the_target_sets_otherwise_ends_the_run_by_name() {
    let folder = Folder::new("given-otherwise");
    // Our server binds itself to the first of its CPUs.
    let words = study(&folder, &["cpu-affinity=0-1", "cpu-weight=50"]);
    let before = groups::all();
    let said = refusal_of(&mut linerate(&folder, &words));
    let wanted = "cpu-affinity did not take effect: `0-1` was asked for, and the program has `0`";
    assert_says(&said, wanted);
    groups::assert_none_but(&before);
}
