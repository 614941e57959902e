//! The whole ladder between two namespaces, as root and as an ordinary user.

use std::process::Command;

use model::judgement::LadderJudgement;
use model::run::RunRecord;
use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};
use crate::hosts::write_study;

const RUN: [&str; 10] = [
    "study",
    "run",
    "http-json",
    "--whole",
    "--smoke",
    "--rounds",
    "1",
    "--yes",
    "--out",
    "run",
];

/// The steps that were climbed, according to the judgement of a run with `--json`.
fn climbed(command: &mut Command) -> Vec<String> {
    let judgement: Value = serde_json::from_str(&answer(command)).unwrap();
    let ladder: LadderJudgement = serde_json::from_value(judgement["ladder"].clone()).unwrap();
    let confirmed = ladder.confirmed.unwrap();
    assert_eq!(confirmed.rounds_done, confirmed.rounds_planned);
    assert!(
        ladder
            .rungs
            .iter()
            .all(|rung| rung.dropped || rung.at_the_top.is_some())
    );
    ladder.rungs.into_iter().map(|rung| rung.step).collect()
}

fn left_out(folder: &Folder) -> Vec<(String, String)> {
    let run = RunRecord::<model::Study>::parse(&folder.text("run/run.json")).unwrap();
    let left_out = run.left_out.into_iter();
    left_out.map(|step| (step.step, step.why)).collect()
}

#[test]
fn every_step_that_a_namespace_can_take_is_climbed_and_each_other_is_named_with_the_reason() {
    crate::common::needs_root!();
    let folder = Folder::new("whole-root");
    let climbed = climbed(linerate(&folder, &RUN).arg("--json"));
    for step in [
        "application",
        "seccomp",
        "netfilter",
        "conntrack",
        "locality",
        "neighbour",
    ] {
        assert!(
            climbed.iter().any(|climbed| climbed == step),
            "{step} of {climbed:?}"
        );
    }
    let left_out = left_out(&folder);
    let why = |name: &str| {
        left_out
            .iter()
            .find(|(step, _)| step == name)
            .unwrap()
            .1
            .clone()
    };
    assert!(why("mitigations").contains("it takes a reboot"));
    assert!(why("interrupts").contains("busy-poll reaches further"));
}

#[test]
fn an_ordinary_user_climbs_what_a_namespace_of_his_own_can_take() {
    crate::common::needs_root!();
    let folder = Folder::new("whole-nobody");
    let command = [&RUN[..], &["--json"]].concat();
    let climbed = climbed(&mut linerate_as_nobody(&folder, &command));
    for step in [
        "application",
        "seccomp",
        "netfilter",
        "conntrack",
        "neighbour",
    ] {
        assert!(
            climbed.iter().any(|climbed| climbed == step),
            "{step} of {climbed:?}"
        );
    }
}

#[test]
fn a_study_without_a_whole_ladder_says_so() {
    let folder = Folder::new("whole-none");
    write_study(&folder, "", 2);
    let said = |study: &str| {
        let run = ["study", "run", study, "--whole", "--yes"];
        refusal_of(&mut linerate(&folder, &run))
    };
    let climbing = said("short.toml");
    assert_says(&climbing, "has no `[whole]`");
    let commands = said("rsqrt");
    assert_says(&commands, "climbs no ladder");
}
