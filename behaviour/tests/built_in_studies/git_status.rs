//! `git status` over a small tree, with a monitor that must not outlive its run.

use std::process::Stdio;
use std::time::Duration;

use crate::built_in_studies::{Smoke, at_work_in, folder, path_with_stand_in, smoke};
use crate::common;

fn assert_nothing_is_left(folder: &common::Folder) {
    let temporary = folder.path().join("temporary");
    let gone = sys::clock::wait_until(Duration::from_secs(30), || {
        at_work_in(&temporary).is_empty()
    });
    assert!(gone, "{:?}", at_work_in(&temporary));
    assert_eq!(folder.names("temporary"), [""; 0]);
}

#[test]
fn with_and_without_a_monitor_the_same_files_change_whatever_git_variables_and_stand_ins_say() {
    let folder = folder("git-status");
    let path = path_with_stand_in(&folder, "git");
    // Each of these would make Git end at once, or look somewhere else.
    let environment = [
        ("PATH", path),
        ("GIT_CONFIG_COUNT", "many".to_owned()),
        ("GIT_OBJECT_DIRECTORY", "/nowhere".to_owned()),
    ];
    let study = Smoke::with(folder, "git-status", &environment);
    assert!(study.levels("monitor").contains(&"watchman"));
    assert_eq!(study.agreed("state", "unchanged"), [""]);
    // 50 lines are too long to be saved as they are: their hash is saved.
    let edited = study.agreed("state", "edited");
    assert!(
        edited.len() == 1 && edited[0].starts_with("sha256:"),
        "{edited:?}"
    );
    assert_eq!(study.judgement.interactions.len(), 2, "one for each state");
    assert_nothing_is_left(&study.folder);
}

#[test]
fn a_run_that_is_interrupted_leaves_no_monitor_behind() {
    let folder = folder("git-status-interrupted");
    let temporary = folder.path().join("temporary");
    let child = smoke(&folder, "git-status")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_monitor = || {
        at_work_in(&temporary)
            .iter()
            .any(|line| line.contains("--foreground"))
    };
    let seen = sys::clock::wait_until(Duration::from_secs(60), has_monitor);
    sys::process::ask_to_end(&child, sys::process::Signal::Interrupt).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(seen, "no monitor was started: {}", common::errors(&output));
    assert!(!output.status.success());
    assert_nothing_is_left(&folder);
}
