//! Runs that succeed.

use std::collections::BTreeSet;

use model::run::Phase;

use crate::commands::lab::Lab;
use crate::common::{Folder, answer, assert_says, errors, linerate, refused};

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_arm_is_run_once_a_round_and_gives_its_figures() {
    let lab = Lab::new("whole", &[]);
    answer(&mut lab.start());
    let blocks = lab.blocks();
    let keys: BTreeSet<_> = blocks.iter().map(|b| (b.round, b.arm.clone())).collect();
    let arms = [
        "one.small",
        "control",
        "one.large",
        "other.small",
        "other.large",
    ];
    let planned = (0..3).flat_map(|round| arms.map(|arm| (round, arm.to_owned())));
    assert_eq!(keys, planned.collect());
    for block in &blocks {
        assert_eq!(block.phase, Phase::Command);
        assert_eq!(block.reading.values["took_ms"], 5.0);
        assert_eq!(
            block.reading.values["wall_ns"],
            block.reading.command.wall_ns as f64
        );
        assert_eq!(block.reading.agreed.as_deref(), Some("7"));
    }
}

#[test]
fn a_dry_run_says_what_would_be_run_and_runs_nothing() {
    let folder = Folder::new("commands-dry");
    let words = ["study", "run", "strength-reduction", "--dry-run"];
    let said = answer(&mut linerate(&folder, &words));
    assert!(said.starts_with("the study `strength-reduction` would run\n  gcc --version\n"));
    assert_says(&said, "{version} is one of: multiply, add, add-eight");
    assert_eq!(folder.names(""), [""; 0]);
}

#[test]
fn commands_run_as_an_ordinary_user_at_home_in_a_folder_that_is_removed() {
    let lab = Lab::new("home", &[("rounds = 3", "rounds = 1")]);
    answer(&mut lab.start());
    assert_eq!(lab.folder.names("tmp"), [""; 0], "the folder is gone");
    let log = lab.folder.text("log");
    assert!(log.lines().count() > 5, "{log}");
    let temporary = lab.folder.path().join("tmp").display().to_string();
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_ne!(words[3], "0", "{line}");
        assert!(words[4].starts_with(&temporary), "{line}");
    }
    // The control runs as the baseline, and the commands cannot tell the two apart.
    assert!(!log.contains("control"), "{log}");
    assert_says(&log, "other 9 other.large");
}

#[test]
fn builds_that_come_out_alike_are_done_once_and_evidence_is_kept_to_its_lines() {
    let lab = Lab::new("built", &[("rounds = 3", "rounds = 1")]);
    answer(&mut lab.start());
    let evidence = value(&lab.folder.text("run/evidence.json"));
    let piece = &evidence["pieces"][0];
    assert_eq!(piece["counts"]["1 built"], 2, "{piece}");
    assert_eq!(piece["output"].as_str().unwrap().lines().count(), 2);
    assert_eq!(piece["lines_left_out"], 1);
}

#[test]
fn evidence_that_is_too_long_to_be_kept_whole_is_left_out_with_a_doubt() {
    let changes = [
        ("rounds = 3", "rounds = 1"),
        (
            "run = [\"wc\", \"-l\", \"built.small\", \"built.9\"]",
            "run = [\"seq\", \"1000000\"]",
        ),
    ];
    let lab = Lab::new("long-evidence", &changes);
    answer(&mut lab.start());
    let evidence = value(&lab.folder.text("run/evidence.json"));
    assert_eq!(evidence["pieces"], serde_json::json!([]));
    let doubt = &evidence["doubts"][0];
    assert_eq!(doubt["kind"], "evidence_left_out", "{doubt}");
    assert!(
        doubt["reason"]
            .as_str()
            .unwrap()
            .contains("printed more than")
    );
}

#[test]
fn the_same_seed_gives_the_same_order_and_the_smoke_form_two_rounds() {
    let orders = ["a", "b"].map(|name| {
        let lab = Lab::new(&format!("order-{name}"), &[]);
        answer(lab.start().args(["--seed", "7", "--smoke"]));
        assert_eq!(lab.record().study.design.rounds, 2);
        let mut blocks = lab.blocks();
        blocks.sort_by_key(|block| (block.round, block.position));
        blocks
            .into_iter()
            .map(|block| block.arm)
            .collect::<Vec<_>>()
    });
    assert_eq!(orders[0].len(), 10);
    assert_eq!(orders[0], orders[1]);
}

#[test]
fn the_smoke_form_says_which_sizes_were_measured_in_the_place_of_which_and_gives_no_verdict() {
    let changes = [
        (
            "[design]",
            "[sizes]\nfar = { full = 100, smoke = 4 }\n\n[design]",
        ),
        ("\"{size}\", \"{arm}\"]", "\"{size}\", \"far-{far}\"]"),
    ];
    let lab = Lab::new("smoke-sizes", &changes);
    let said = answer(lab.start().args(["--smoke", "--rounds", "10"]));
    assert!(lab.folder.text("log").contains("far-4 "));
    let judgement = value(&said);
    let contrasts = judgement["contrasts"].as_array().unwrap();
    assert!(contrasts.iter().all(|found| found["verdict"] == "invalid"));
    let mut doubts = judgement["doubts"].as_array().unwrap().iter();
    let found = doubts.find(|doubt| doubt["kind"] == "smoke_sizes");
    assert_eq!(found.unwrap()["sizes"]["far"]["full"], 100, "{said}");
}

#[test]
fn our_own_program_is_a_word_of_commands() {
    let changes = [
        (
            "run = [\"sh\", \"work.sh\", \"{way}\", \"{size}\", \"{arm}\"]",
            "prepare = [[\"true\", \"{way}\"]]\nrun = [\"{linerate}\", \"facts\", \"--json\"]",
        ),
        ("agree = { on = { regex = 'sum (\\d+)' } }", ""),
        ("{ regex = 'took (\\d+)' }", "{ json = \"/format\" }"),
        ("rounds = 3", "rounds = 1"),
    ];
    let lab = Lab::new("ourselves", &changes);
    answer(&mut lab.start());
    assert_eq!(lab.blocks()[0].reading.values["took_ms"], 1.0);
}

#[test]
fn a_level_without_its_program_is_left_out_by_name_with_the_line_that_installs_it() {
    let need = "[[needs]]\nname = \"absent\"\ntitle = \"Absent\"\n[needs.find]\n\
                programs = [\"no-such-program\"]\nversion_arguments = []\n\
                version_pattern = \"v{version}\"\ninstall = { debian = \"apt-get install absent\" }\n\
                home = \"https://absent.example/\"\n\n[[factor]]";
    let changes = [
        ("[[factor]]", need),
        (
            "title = \"large\", value = \"9\"",
            "title = \"large\", needs = [\"absent\"]",
        ),
        ("rounds = 3", "rounds = 1"),
    ];
    let lab = Lab::new("absent", &changes);
    let output = lab.start().output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let said = errors(&output);
    assert_says(&said, "Size “large” was left out");
    assert_says(&said, "no-such-program");
    assert_eq!(lab.record().arms.len(), 3);
}

#[test]
fn commands_of_somebody_else_are_shown_and_not_run() {
    let lab = Lab::new("trust", &[]);
    let arguments = ["study", "run", "small.toml", "--yes", "--out", "run"];
    let output = lab.command(&arguments).output().unwrap();
    let said = refused(&output);
    assert_says(&said, "  sh work.sh {way} {size} {arm}");
    assert_says(&said, "work.sh\n");
    assert_says(&said, "--trust");
    assert_eq!(lab.folder.text("log"), "");
    // Commands of a run folder that came from elsewhere are not run either.
    answer(&mut lab.start());
    let before = lab.folder.text("log");
    std::fs::remove_file(lab.folder.path().join("run/evidence.json")).unwrap();
    let resume = lab
        .command(&["study", "resume", "run", "--yes"])
        .output()
        .unwrap();
    assert_says(&errors(&resume), "--trust");
    assert_eq!(lab.folder.text("log"), before);
}

#[test]
fn a_run_of_commands_is_headed_by_the_machine_and_by_no_rig() {
    let lab = Lab::new("headed", &[("rounds = 3", "rounds = 1")]);
    let output = lab.start().output().unwrap();
    let said = errors(&output);
    assert!(output.status.success() && said.contains("CPUs"), "{said}");
    assert!(!said.contains("rig:"), "{said}");
}
