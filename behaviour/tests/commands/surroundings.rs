//! The surroundings of the commands of a study: their environment, and other work on the machine.

use serde_json::{Value, json};

use crate::commands::lab::Lab;
use crate::common::hogs::Hogs;
use crate::common::{answer, assert_says};

#[test]
fn the_work_of_others_while_commands_ran_is_a_doubt_of_the_report() {
    let works = "echo \"took 5 ms, sum 7\"";
    let slow = "sleep 0.1; echo \"took 5 ms, sum 7\"";
    let lab = Lab::new("busy", &[(works, slow)]);
    let hogs = Hogs::start();
    answer(&mut lab.start());
    drop(hogs);
    // Removes the doubts that the look at the machine before the run has raised.
    let file = lab.folder.path().join("run/run.json");
    let mut run: Value = serde_json::from_str(&lab.folder.text("run/run.json")).unwrap();
    run["doubts"] = json!([]);
    std::fs::write(file, run.to_string()).unwrap();
    let judgement = answer(&mut lab.command(&["study", "report", "run", "--json"]));
    let judgement: Value = serde_json::from_str(&judgement).unwrap();
    let mut doubts = judgement["doubts"].as_array().unwrap().iter();
    let found = doubts.find(|doubt| doubt["doubt"] == "foreign_work");
    let share = found.and_then(|doubt| doubt["cpu_share"].as_f64());
    assert!(share > Some(0.1), "{judgement:#}");
}

#[test]
fn commands_find_nothing_of_our_environment_but_where_programs_are() {
    let works = "echo \"took 5 ms, sum 7\"";
    let tells = "env >> LOG; echo \"took 5 ms, sum 7\"";
    let lab = Lab::new("secrets", &[(works, tells)]);
    answer(lab.start().env("SECRET", "hunter2"));
    let seen = lab.folder.text("log");
    assert_says(&seen, "PATH=");
    assert_says(&seen, "LC_ALL=C");
    assert!(!seen.contains("hunter2"), "{seen}");
}
