//! An ordinary user can see everything, and can change nothing.

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, answer, assert_says, refusal_of};

#[test]
fn an_ordinary_user_sees_the_state_of_every_lever() {
    let folder = Folder::new("levers-ordinary-status");
    let text = answer(&mut linerate_as_nobody(
        &folder,
        &["levers", "status", "--json"],
    ));
    let status: Value = serde_json::from_str(&text).unwrap();
    let levers = status["levers"].as_array().unwrap();
    let named = |name: &str| levers.iter().find(|lever| lever["name"] == name).unwrap();
    assert!(named("swappiness")["now"].is_string());
    let obstacle = named("swappiness")["obstacle"].as_str().unwrap();
    assert_says(obstacle, "vm.swappiness: Permission denied (EACCES)");
    let page = answer(&mut linerate_as_nobody(&folder, &["levers", "status"]));
    assert!(
        page.lines().any(|line| line.starts_with("Memory")),
        "{page}"
    );
}

#[test]
fn every_lever_is_shown_to_a_script_with_what_a_person_would_type() {
    let folder = Folder::new("levers-ordinary-show");
    let json = |words: &[&str]| -> Value {
        let words = [&["levers"], words, &["--json"]].concat();
        serde_json::from_str(&answer(&mut linerate_as_nobody(&folder, &words))).unwrap()
    };
    let list = json(&["list"]);
    let mut with_commands = 0;
    for lever in list["levers"].as_array().unwrap() {
        let name = lever["name"].as_str().unwrap();
        let shown = json(&["show", name]);
        assert_eq!(&shown["lever"], lever);
        // Either there is something to type, or a reason why not.
        assert_ne!(shown["commands"].is_null(), shown["obstacle"].is_null());
        with_commands += usize::from(shown["commands"]["set"][0].is_string());
    }
    assert!(with_commands > 0);
}

#[test]
fn an_ordinary_user_is_refused_with_the_reason_and_nothing_is_written() {
    let folder = Folder::new("levers-ordinary-apply");
    let state = folder.path().join("state");
    let mut command = linerate_as_nobody(&folder, &["levers", "apply", "swappiness=1"]);
    let said = refusal_of(command.env("XDG_STATE_HOME", &state));
    assert_says(&said, "vm.swappiness: Permission denied (EACCES)");
    assert!(!state.exists());
}

#[test]
fn a_name_that_is_misspelt_is_told_the_nearest() {
    let folder = Folder::new("levers-misspelt");
    let state = folder.path().join("state");
    for action in ["show", "status", "apply", "undo", "confirm"] {
        let mut command = linerate_as_nobody(&folder, &["levers", action, "swapiness"]);
        let said = refusal_of(command.env("XDG_STATE_HOME", &state));
        let wanted = "there is no lever `swapiness`; `linerate levers list` shows those there are; \
                      did you mean `swappiness`?";
        assert!(said.contains(wanted), "{action}: {said}");
    }
}

#[test]
fn what_is_a_persons_to_do_is_told_and_not_done() {
    let folder = Folder::new("levers-advice");
    let said = refusal_of(&mut linerate_as_nobody(
        &folder,
        &["levers", "apply", "mitigations"],
    ));
    assert_says(&said, "add mitigations=off to the kernel command line");
}
