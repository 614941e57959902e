//! Narrow terminals, readers that go away, and streams that are closed.

use std::process::{Command, Output, Stdio};

use crate::common::whole_run::{Run, folder_with, whole_run};
use crate::common::{Folder, assert_says, errors};

/// The commands that print and need nothing but a run folder.
const PRINTING: [&str; 8] = [
    "--help",
    "help load",
    "help study run",
    "study list",
    "study show http-json",
    "study report run",
    "study report run --json",
    "study compare run run",
];

fn folder_with_run(name: &str) -> Folder {
    let Run { run, blocks } = whole_run();
    folder_with(name, run, blocks)
}

/// Runs a line of shell in a folder; `$0` in it is the program.
fn shell(folder: &Folder, line: &str) -> Output {
    let mut command = Command::new("bash");
    command
        .args(["-c", line, crate::common::program()])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn a_reader_that_goes_after_one_line_is_no_error() {
    let folder = folder_with_run("head");
    for command in PRINTING {
        let line = format!("\"$0\" {command} | head -1; exit ${{PIPESTATUS[0]}}");
        let output = shell(&folder, &line);
        assert!(output.status.success(), "{command}: {}", errors(&output));
        assert_eq!(errors(&output), "", "{command}");
        // A reader that reads nothing at all.
        let line = format!("\"$0\" {command} | true; exit ${{PIPESTATUS[0]}}");
        let output = shell(&folder, &line);
        assert!(output.status.success(), "{command}: {}", errors(&output));
        assert_eq!(errors(&output), "", "{command}");
    }
}

#[test]
fn streams_that_are_closed_from_the_start_are_no_reason_to_panic() {
    let folder = folder_with_run("closed");
    for command in PRINTING {
        for closed in [">&-", "2>&-", "<&-", ">&- 2>&- <&-"] {
            let output = shell(&folder, &format!("\"$0\" {command} {closed}"));
            assert!(
                output.status.success(),
                "{command} {closed}: {}",
                errors(&output)
            );
            assert_eq!(errors(&output), "", "{command} {closed}");
        }
    }
    let output = shell(&folder, "\"$0\" --smoke --yes --out other 2>&- <&-");
    assert!(output.status.success() && !output.stdout.is_empty());
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let folder = folder_with_run("dev-full");
    for command in ["study list", "study report run --json"] {
        let output = shell(&folder, &format!("\"$0\" {command} > /dev/full"));
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_says(&errors(&output), "No space left");
    }
}

#[test]
fn on_a_terminal_of_twenty_columns_every_command_prints_what_it_has() {
    let folder = folder_with_run("narrow");
    for command in PRINTING.into_iter().chain(["doctor --verbose"]) {
        let shown = on_a_terminal(&folder, 20, command);
        assert!(shown.status.success(), "{command}: {}", text(&shown));
        assert!(
            !text(&shown).trim().is_empty(),
            "{command}: {}",
            text(&shown)
        );
        assert!(
            !text(&shown).contains("panicked"),
            "{command}: {}",
            text(&shown)
        );
    }
    let page = text(&on_a_terminal(&folder, 20, "study report run"));
    assert_says(&page, "report: run/report.html");
    for columns in [1, 2, 7] {
        let shown = on_a_terminal(&folder, columns, "study report run");
        assert!(shown.status.success(), "{columns}: {}", text(&shown));
    }
}

/// Runs a command on a terminal of its own with the given number of columns.
fn on_a_terminal(folder: &Folder, columns: u16, command: &str) -> Output {
    let program = crate::common::program();
    let line = format!("stty cols {columns} rows 20; NO_COLOR=1 {program} {command}");
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    script.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn the_titles_of_all_studies_begin_in_one_column_apart_from_the_names() {
    let folder = Folder::new("list");
    let output = shell(&folder, "\"$0\" study list");
    let text = String::from_utf8(output.stdout).unwrap();
    let title_at = |line: &str| {
        let (_, rest) = line.split_once("  ").unwrap_or_else(|| panic!("{line}"));
        line.len() - rest.trim_start().len()
    };
    let columns: std::collections::BTreeSet<_> = text.lines().map(title_at).collect();
    assert_eq!(columns.len(), 1, "{text}");
}
