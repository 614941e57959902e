//! Commands that are not there, fail, hang, flood or are killed.

use std::time::Duration;

use crate::bench::{measured, refused};
use crate::common::{Folder, answer, assert_says, errors, linerate};

#[test]
fn a_missing_program_is_named_with_what_to_do_with_and_without_a_shell() {
    let folder = Folder::new("bench-missing");
    let error = refused(&folder, &["-N", "no-such-program --flag", "true"]);
    assert_says(&error, "`no-such-program` could not be started");
    assert_says(&error, "PATH");
    let error = refused(&folder, &["no-such-program --flag"]);
    assert_says(&error, "`no-such-program --flag` exited with 127");
    assert_says(&error, "not found");
}

#[test]
fn one_that_fails_in_the_third_round_is_named_with_its_last_words_and_the_rounds_before_are_kept() {
    let folder = Folder::new("bench-third");
    let third = "echo x >> count; test $(wc -l < count) -lt 3 || { echo the reason >&2; exit 7; }";
    let words = [
        "bench",
        "--hyperfine=1",
        "-r",
        "12",
        "--export-json",
        "out.json",
        "true",
        third,
    ];
    let output = linerate(&folder, &words).output().unwrap();
    let error = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    for words in [
        "exited with 7",
        "the reason",
        "--ignore-failure",
        "2 finished rounds",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        page.starts_with("No verdict") && page.contains("after 2 of 12 rounds"),
        "{page}"
    );
    assert!(folder.text("out.json").contains("times"));
}

#[test]
fn failures_are_counted_and_doubted_where_they_are_ignored_and_only_the_codes_named() {
    let folder = Folder::new("bench-ignored");
    let value = measured(&folder, &["-r", "2", "--ignore-failure=3,4", "exit 3"]);
    let doubts = value["judgement"]["doubts"].to_string();
    assert_says(&doubts, "\"failed\":2,");
    let error = refused(&folder, &["-r", "2", "-i=4", "exit 3"]);
    assert_says(&error, "exited with 3");
}

#[test]
fn one_that_hangs_is_ended_after_its_time_with_its_children() {
    let folder = Folder::new("bench-hang");
    let error = refused(
        &folder,
        &["--timeout", "5s", "-i", "sleep 600 & echo $! > child; wait"],
    );
    assert_says(&error, "did not end in time");
    assert_says(&error, "--timeout");
    let child: u32 = folder.text("child").trim().parse().unwrap();
    let words = || std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
    let is_gone = sys::clock::wait_until(Duration::from_secs(20), || !words().contains("600"));
    assert!(is_gone, "{child} is still there: {}", words());
}

#[test]
fn the_help_says_that_what_the_timeout_ended_is_no_failure_to_ignore() {
    let folder = Folder::new("bench-ignore-help");
    let help = answer(&mut linerate(&folder, &["bench", "-h"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&help, "all but those that --timeout ended");
}

#[test]
fn a_flood_of_output_blocks_nobody() {
    let folder = Folder::new("bench-flood");
    let flood = "head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2";
    for output in ["null", "pipe", "out.bin"] {
        let value = measured(&folder, &["-r", "1", "--output", output, flood]);
        assert_eq!(value["judgement"]["rounds_done"], 1, "{output}");
    }
    let length = std::fs::metadata(folder.path().join("out.bin"))
        .unwrap()
        .len();
    assert_eq!(length, 5_000_000);
}

#[test]
fn one_killed_by_a_signal_says_which() {
    let folder = Folder::new("bench-killed");
    let error = refused(&folder, &["kill -SEGV $$"]);
    assert_says(&error, "killed by signal 11");
}

#[test]
fn what_fails_around_a_run_is_named_and_what_cleans_up_runs_all_the_same() {
    let folder = Folder::new("bench-around");
    for option in ["--setup", "--prepare", "--conclude"] {
        let error = refused(
            &folder,
            &[
                option,
                "echo because >&2; exit 4",
                "-c",
                "touch cleaned",
                "true",
            ],
        );
        assert_says(&error, option);
        assert_says(&error, "exited with 4");
        assert_says(&error, "because");
        assert_eq!(folder.names(""), ["cleaned"], "{option}");
        std::fs::remove_file(folder.path().join("cleaned")).unwrap();
    }
    let error = refused(&folder, &["-r", "1", "--cleanup", "exit 5", "true"]);
    assert_says(&error, "--cleanup");
    assert_says(&error, "exited with 5");
}
