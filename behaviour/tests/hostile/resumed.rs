//! Somebody else's run folder that its reader resumes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use model::command_run::CommandRun;
use model::run::Confirmation;
use model::service::{Service, ServiceRecord};
use model::study::{Program, StudyFile};
use model::{CommandStudy, Role, RunRecord};
use serde_json::json;

use crate::common::{Folder, answer, assert_says, linerate};
use crate::hostile::run_folder::{edited, refusal, strange};

const RESUME: [&str; 4] = ["study", "resume", "run", "--yes"];

/// A service that leaves a trace of whatever it runs.
fn theirs(name: &str, folder: &Folder) -> Service {
    let mark = format!("touch {}/ran; echo v1.0; sleep 9", folder.path().display());
    serde_json::from_value(json!({
        "format": 1, "name": name, "title": "Theirs", "protocol": "http",
        "find": {
            "programs": ["sh"], "version_arguments": ["-c", mark.replace("; sleep 9", "")],
            "version_pattern": "v{version}", "home": "https://example.org/", "install": {},
        },
        "environment": { "KEPT": "{cache}" },
        "start": { "arguments": ["-c", mark] },
        "ready": { "when": { "http": "/json" }, "within_ms": 100 },
        "serves": { "/json": "{}" },
        "stop": { "signal": "SIGTERM", "grace_ms": 1 },
    }))
    .unwrap()
}

/// Makes the run one of their service, with nothing measured yet.
fn with_service(folder: &Folder, name: &str) {
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everybody).unwrap();
    edited(folder, |run| {
        run.service = Some(ServiceRecord {
            description: theirs(name, folder),
            sha256: "0".repeat(64),
            version: "1.0".to_owned(),
            program_sha256: None,
        });
        for arm in run.arms.iter_mut().filter(|arm| arm.role != Role::Floor) {
            arm.program = Program::Service(name.to_owned());
        }
    });
    std::fs::write(folder.path().join("run/blocks.jsonl"), "").unwrap();
}

fn assert_nothing_ran(folder: &Folder) {
    assert!(!folder.path().join("ran").exists(), "a command was run");
}

#[test]
fn a_folder_that_cannot_be_judged_does_not_bring_its_commands_along() {
    for broken in ["blocks.jsonl", "link.jsonl"] {
        let (folder, _) = strange("half");
        with_service(&folder, "theirs");
        let file = folder.path().join("run").join(broken);
        match broken {
            "blocks.jsonl" => std::fs::remove_file(file).unwrap(),
            _ => std::fs::write(file, "{}\n").unwrap(),
        }
        let refused = refusal(&folder, &RESUME);
        assert!(refused.contains("add --trust"), "{broken}: {refused}");
        assert_nothing_ran(&folder);
    }
}

#[test]
fn a_service_whose_name_leads_elsewhere_has_nothing_taken_away_there() {
    let (folder, _) = strange("name");
    let dear = folder.path().join("dear");
    std::fs::create_dir(&dear).unwrap();
    std::fs::write(dear.join("file"), "dear").unwrap();
    with_service(&folder, &format!("../../../../..{}", dear.display()));
    let refused = refusal(&folder, &[&RESUME[..], &["--trust"]].concat());
    assert_says(&refused, "lower-case letters");
    assert_eq!(folder.text("dear/file"), "dear");
    assert_nothing_ran(&folder);
}

#[test]
fn a_folder_cannot_give_its_users_permission_for_levers_of_the_machine() {
    let (folder, _) = strange("host");
    edited(&folder, |run| run.on_host = true);
    let with_host = [&RESUME[..], &["--host"]].concat();
    let refused = refusal(&folder, &RESUME);
    assert_says(&refused, "add --host");
    answer(&mut linerate(&folder, &with_host));
    edited(&folder, |run| run.on_host = false);
    let refused = refusal(&folder, &with_host);
    assert_says(&refused, "leave --host out");
}

#[test]
fn a_run_larger_than_any_of_ours_is_not_resumed() {
    type Edit = fn(&mut RunRecord);
    let edits: [(&str, Edit); 5] = [
        ("rounds", |run| run.study.design.rounds = u32::MAX),
        ("rounds", |run| {
            run.study.latency.as_mut().unwrap().blocks = u32::MAX;
        }),
        ("ms", |run| run.study.design.score_ms = u32::MAX),
        ("connections", |run| {
            run.study.workload.connections = u32::MAX;
        }),
        ("arms", |run| run.arms = vec![run.arms[0].clone(); 5000]),
    ];
    for (what, edit) in edits {
        let (folder, _) = strange("absurd");
        edited(&folder, edit);
        let refused = refusal(&folder, &RESUME);
        assert_says(&refused, &format!("{what}, of which"));
    }
}

/// Writes a run of one of our studies of commands, as somebody else changed it.
fn commands(folder: &Folder, edit: impl FnOnce(&mut CommandRun)) {
    let found = study::catalogue::find("strength-reduction").unwrap();
    let StudyFile::Commands(study) = found.study else {
        panic!("a study of commands");
    };
    let study: CommandStudy = *study;
    let arms = study::commands::arms::build(&study, &BTreeMap::new());
    let of_servers = folder.text("run/run.json");
    let mut run: serde_json::Value = serde_json::from_str(&of_servers).unwrap();
    run["study"] = serde_json::to_value(study).unwrap();
    run["arms"] = serde_json::to_value(arms.unwrap().arms).unwrap();
    let mut run: CommandRun = serde_json::from_value(run).unwrap();
    edit(&mut run);
    let text = serde_json::to_string(&run).unwrap();
    std::fs::write(folder.path().join("run/run.json"), text).unwrap();
    std::fs::write(folder.path().join("run/blocks.jsonl"), "").unwrap();
}

#[test]
fn levels_that_no_study_has_reach_no_command_and_files_stay_in_their_folder() {
    let (folder, _) = strange("levels");
    commands(&folder, |run| {
        let levels = &mut run.arms[0].levels;
        for level in levels.values_mut() {
            *level = "../../own".to_owned();
        }
    });
    let refused = refusal(&folder, &RESUME);
    assert_says(&refused, "no combination");
    commands(&folder, |run| run.arms[0].name = "../../own".to_owned());
    let refused = refusal(&folder, &RESUME);
    assert_says(&refused, "no combination `../../own`");
    commands(&folder, |run| {
        run.study
            .files
            .insert("../own".to_owned(), "theirs".to_owned());
    });
    let refused = refusal(&folder, &[&RESUME[..], &["--trust"]].concat());
    assert_says(&refused, "../own");
    commands(&folder, |run| run.study.design.rounds = u32::MAX);
    let refused = refusal(&folder, &RESUME);
    assert_says(&refused, "rounds, of which");
}

#[test]
fn no_arm_of_a_folder_makes_us_load_a_server_of_its_choice() {
    let (folder, _) = strange("somewhere");
    edited(&folder, |run| {
        let mut arm = run.arms[0].clone();
        arm.program = Program::Url("http://127.0.0.1:1/".to_owned());
        run.confirmation = Some(Confirmation {
            dropped: Vec::new(),
            arms: vec![arm],
        });
    });
    std::fs::write(folder.path().join("run/blocks.jsonl"), "").unwrap();
    let refused = refusal(&folder, &RESUME);
    assert_says(&refused, "programs that existed only then");
}
