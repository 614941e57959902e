//! Doubts of `linerate bench` that depend on milliseconds.

use crate::bench::measured;
use crate::common::Folder;

fn kinds(value: &serde_json::Value) -> Vec<String> {
    let doubts = value["judgement"]["doubts"].as_array().unwrap();
    let kind = |doubt: &serde_json::Value| {
        let kind = doubt.get("kind").or_else(|| doubt.get("doubt")).unwrap();
        kind.as_str().unwrap().to_owned()
    };
    doubts.iter().map(kind).collect()
}

#[test]
fn a_cold_start_a_short_command_the_shell_and_children_left_behind_are_doubted() {
    let folder = Folder::new("bench-doubts");
    // Only the first run finds no file and takes long.
    let cold = "test -e warm || { touch warm; sleep 0.3; }; sleep 0.05 >/dev/null 2>&1 &";
    let value = measured(&folder, &["-r", "8", cold]);
    let found = kinds(&value);
    for kind in ["first_run_slower", "shell_share", "left_running"] {
        assert!(found.iter().any(|other| other == kind), "{kind}: {value:#}");
    }
    let direct = measured(&folder, &["-N", "-r", "21", "true"]);
    assert!(kinds(&direct).contains(&"short".to_owned()), "{direct:#}");
}
