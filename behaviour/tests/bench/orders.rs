//! The command line: parameters, names, what runs around a run, and what makes no sense.

use crate::bench::{measured, refused};
use crate::common::{Folder, assert_says, words};

fn arms(value: &serde_json::Value, field: &str) -> Vec<String> {
    let arms = value["record"]["arms"].as_array().unwrap();
    arms.iter()
        .map(|arm| arm[field].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let folder = Folder::new("bench-wrong");
    for (arguments, reason) in [
        (&[][..], "COMMAND"),
        (&[""], "a command is empty"),
        (&["true", "   "], "a command is empty"),
        (
            &["-L", "thread", "1,2", "make -j {threads}"],
            "no command has {thread}",
        ),
        (&["-L", "a", "1", "-L", "a", "2", "echo {a}"], "given twice"),
        (&["-P", "a", "3", "1", "echo {a}"], "no range"),
        (&["-P", "a", "1", "3", "-D", "0", "echo {a}"], "no range"),
        (
            &["-P", "a", "1", "300", "echo {a}"],
            "300 commands are too many",
        ),
        (&["--fail-if-slower=nan", "true"], "from 0 to 100000"),
        (
            &["-p", "true", "-p", "true", "a", "b", "c"],
            "2 values of --prepare for 3 commands",
        ),
        (
            &["--output", "null", "--output", "pipe", "a", "b", "c"],
            "--output",
        ),
        (&["-n", "a", "-n", "b", "true"], "--command-name"),
        (&["-N", "echo 'open"], "a quote that is not closed"),
        (&["-S", "", "true"], "--shell is empty"),
        (
            &["-S", "no-such-shell", "true"],
            "`no-such-shell` could not be started",
        ),
        (&["-r", "0", "true"], "1..=500"),
        (
            &["-m", "9", "-M", "3", "true"],
            "--min-runs 9 is more than --max-runs 3",
        ),
        (&["--timeout", "0s", "true"], "1 ms"),
        (
            &["--input", "no-such-file", "cat"],
            "no-such-file cannot be read",
        ),
        (
            &["--output", "no/such/file", "true"],
            "no/such/file cannot be written",
        ),
        (&["--smallest-effect", "0", "true"], "0.1 to 90"),
        (&["-i=x", "true"], "exit codes"),
        (&["--reference-name", "a", "true"], "--reference"),
    ] {
        let error = refused(&folder, arguments);
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
    assert!(folder.names("").is_empty());
}

#[test]
fn more_combinations_than_memory_holds_are_refused_by_their_number() {
    let folder = Folder::new("bench-combinations");
    let ranges = words("-P a 1 1000 -P b 1 1000 -P c 1 1000");
    let error = refused(&folder, &[&ranges[..], &["echo {a}{b}{c}"]].concat());
    assert_says(&error, "1000000000 commands are too many");
}

#[test]
fn parameters_are_filled_into_commands_names_and_what_runs_around_them() {
    let folder = Folder::new("bench-parameters");
    let value = measured(
        &folder,
        &[
            "-r",
            "1",
            "-L",
            "a",
            "1,2",
            "-L",
            "b",
            "x",
            "-n",
            "no {a}",
            "-s",
            "touch set-{a}",
            "-p",
            "touch pre-{a}",
            "-C",
            "touch post-{a}",
            "-c",
            "touch end-{a}",
            "test -e set-{a} -a -e pre-{a} && touch ran-{a}-{b}",
        ],
    );
    assert_eq!(arms(&value, "title")[..2], ["no 1", "no 2"]);
    assert_eq!(value["record"]["arms"][1]["parameters"]["a"], "2");
    let expected = ["end", "post", "pre", "ran", "set"];
    let expected = expected.iter().flat_map(|stem| {
        let end = if *stem == "ran" { "-x" } else { "" };
        ["1", "2"].map(|a| format!("{stem}-{a}{end}"))
    });
    assert_eq!(folder.names(""), expected.collect::<Vec<_>>());
}

#[test]
fn parameters_of_what_runs_around_a_command_alone_tell_its_rows_apart() {
    let folder = Folder::new("bench-unseen");
    let unseen = words("-r 1 -L a 1,2 -L b x -L c 3 -p A={a}{b}{c} --env B={b}");
    let value = measured(&folder, &[&unseen[..], &["test {c} = 3"]].concat());
    let expected = ["B=x test 3 = 3 (a = 1)", "B=x test 3 = 3 (a = 2)"];
    assert_eq!(arms(&value, "title")[..2], expected);
}

#[test]
fn each_command_has_its_own_preparation_where_there_are_as_many() {
    let folder = Folder::new("bench-prepare");
    let two = [
        "-p",
        "echo one > f",
        "-p",
        "echo two > f",
        "grep -q one f",
        "grep -q two f",
    ];
    measured(&folder, &[&["-r", "2", "-w", "1"], &two[..]].concat());
}

#[test]
fn a_reference_is_what_all_are_compared_with_under_its_own_name() {
    let folder = Folder::new("bench-reference");
    let value = measured(
        &folder,
        &[
            "-N",
            "-r",
            "1",
            "--reference",
            "true 0",
            "--reference-name",
            "old",
            "-n",
            "new",
            "true 1",
            "true 2",
        ],
    );
    assert_eq!(
        arms(&value, "title"),
        ["old", "new", "true 2", "old, again"]
    );
    let comparisons = value["judgement"]["comparisons"].as_array().unwrap();
    assert!(comparisons.iter().all(|one| one["against"] == "1"));
}

#[test]
fn input_output_and_shell_are_those_asked_for() {
    let folder = Folder::new("bench-streams");
    std::fs::write(folder.path().join("in"), "fed").unwrap();
    measured(
        &folder,
        &[
            "-r",
            "1",
            "-S",
            "sh -e",
            "--input",
            "in",
            "--output",
            "out",
            "false | cat; cat",
        ],
    );
    assert_eq!(folder.text("out"), "fed");
    // Without a shell a redirection is a word like any other.
    measured(
        &folder,
        &["-N", "-r", "1", "--output", "out", "echo 'a  b' > c"],
    );
    assert_eq!(folder.text("out"), "a  b > c\n");
    assert_eq!(folder.names(""), ["in", "out"]);
}

#[test]
fn warm_up_is_run_and_not_counted() {
    let folder = Folder::new("bench-warmup");
    let value = measured(&folder, &["-w", "3", "-r", "2", "echo x >> count"]);
    assert_eq!(folder.text("count").lines().count(), 5);
    assert_eq!(
        value["record"]["runs"].as_array().unwrap().len(),
        4,
        "with the shell's own"
    );
}

#[test]
fn without_a_number_of_rounds_short_commands_get_many_within_the_limits_given() {
    let folder = Folder::new("bench-rounds");
    let rounds = |arguments: &[&str]| {
        let value = measured(&folder, &[&["-N"], arguments, &["true"]].concat());
        value["judgement"]["rounds_done"].as_u64().unwrap()
    };
    assert!((16..=200).contains(&rounds(&[])));
    assert_eq!(rounds(&["-M", "5"]), 5);
    assert!(rounds(&["-m", "210"]) == 210);
}
