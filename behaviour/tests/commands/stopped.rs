//! Runs that end early: what was measured is saved, and nothing is left behind.

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::commands::lab::Lab;
use crate::common::{answer, assert_says, errors, refusal_of};

/// A command that fails in the middle of the second round until a file says that all is well.
/// Builds, the trial and the rehearsal run before that.
const FAILS_LATER: (&str, &str) = (
    "echo \"took 5 ms, sum 7\"",
    "echo x >> runs\n\
     [ -e LOG.well ] || [ $(wc -l < runs) -lt 25 ] || { echo broke down >&2; exit 4; }\n\
     echo \"took 5 ms, sum 7\"",
);

#[test]
fn a_command_that_fails_in_a_later_round_keeps_the_rounds_before_and_the_run_can_be_resumed() {
    let lab = Lab::new("later", &[FAILS_LATER]);
    let said = refusal_of(&mut lab.start());
    assert_says(&said, "broke down");
    assert_says(&said, "linerate study resume run");
    let kept = lab.blocks();
    assert!((5..15).contains(&kept.len()), "{}", kept.len());
    let in_whole_rounds = kept.len() / 5 * 5;
    assert_eq!(lab.folder.names("tmp"), [""; 0]);
    // The run is judged from the blocks that there are.
    answer(&mut lab.command(&["study", "report", "run", "--json"]));

    std::fs::write(lab.folder.path().join("log.well"), "").unwrap();
    let resumed = lab.resume();
    assert!(resumed.status.success(), "{}", errors(&resumed));
    let blocks = lab.blocks();
    assert_eq!(blocks.len(), 15);
    assert_eq!(blocks[..in_whole_rounds], kept[..in_whole_rounds]);
    assert!(
        blocks[in_whole_rounds..]
            .iter()
            .all(|block| block.epoch == 1)
    );
    assert!(
        lab.folder
            .names("run")
            .contains(&"evidence.json".to_owned())
    );
    // Resuming a finished run changes nothing.
    let before = lab.folder.text("log");
    assert!(lab.resume().status.success());
    assert_eq!(lab.folder.text("log"), before);
}

/// Starts a run whose commands wait once the first blocks are saved, and waits for that.
fn waiting(lab: &Lab) -> Child {
    let mut child = lab
        .start()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let waits = || lab.folder.text("log").contains("waiting");
    let ended = sys::clock::wait_until(Duration::from_secs(120), || {
        waits() || child.try_wait().unwrap().is_some()
    });
    assert!(ended && waits(), "it waits: {}", lab.folder.text("log"));
    child
}

const WAITS_LATER: (&str, &str) = (
    "echo \"took 5 ms, sum 7\"",
    "echo x >> runs\n\
     [ $(wc -l < runs) -lt 25 ] || { echo waiting >> LOG; sleep 15 & wait; }\n\
     echo \"took 5 ms, sum 7\"",
);

#[test]
fn a_killed_run_leaves_no_folder_and_keeps_its_blocks() {
    let lab = Lab::new("killed", &[WAITS_LATER]);
    let mut child = waiting(&lab);
    child.kill().unwrap();
    child.wait().unwrap();
    let is_clean = || lab.folder.names("tmp").is_empty();
    assert!(sys::clock::wait_until(Duration::from_secs(60), is_clean));
    assert!(lab.blocks().len() >= 5);
}

#[test]
fn a_run_that_is_asked_to_stop_ends_its_command_and_says_how_to_go_on() {
    let lab = Lab::new("asked", &[WAITS_LATER]);
    let mut child = waiting(&lab);
    sys::process::terminate(&child).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(143));
    assert_eq!(lab.folder.names("tmp"), [""; 0]);
    assert!(lab.blocks().len() >= 5);
}
