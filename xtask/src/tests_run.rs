//! `cargo test` over the workspace, counted.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::thread;

use anyhow::Context as _;
use sys::attribute::Attribute;
use sys::scheduling::Scheduling;

use crate::stage::{Counts, Stages};
use crate::{fuzz, release, target};

/// What the tests are built in; the program that they drive is built beside them.
pub(crate) const PROFILE: &str = "checks";

/// What a test program says before its first test; by then cargo has built them all.
const TESTS_BEGIN: &str = "running ";
/// Runs every test and adds up what the test programs said of themselves.
pub(crate) fn cargo_tests(stages: &mut Stages) -> anyhow::Result<Counts> {
    let begun = sys::clock::now();
    println!("== tests");
    let all = ["test", "--workspace", "--no-fail-fast"];
    let mut cargo = target::cargo(&[&all[..], &["--profile", PROFILE]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo could not be started")?;
    let output = cargo
        .stdout
        .take()
        .context("cargo has no standard output")?;
    let counts = thread::scope(|scope| {
        let mut counts = Counts::default();
        let mut ahead = None;
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            add_result(&line, &mut counts);
            if ahead.is_none() && line.starts_with(TESTS_BEGIN) {
                ahead = Some(scope.spawn(build_ahead));
            }
        }
        anyhow::Ok(counts)
    })?;
    stages.note("tests", begun, cargo.wait()?.success())?;
    Ok(counts)
}

/// Builds what later stages run, while tests wait and leave CPUs idle; it gives way at once to a test that wakes. What fails here fails again in
/// its stage, which says so.
fn build_ahead() {
    if Attribute::Scheduling(Scheduling::Idle).take_on().is_ok() {
        let _ = release::static_program(PROFILE);
        let _ = fuzz::build();
    }
}

/// Adds a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
fn add_result(line: &str, counts: &mut Counts) {
    let Some(result) = line.strip_prefix("test result:") else {
        return;
    };
    let count_before = |word: &str| {
        let words: Vec<&str> = result.split_whitespace().collect();
        let at = words
            .iter()
            .position(|found| found.trim_end_matches(';') == word)?;
        words.get(at.checked_sub(1)?)?.parse::<u32>().ok()
    };
    counts.passed += count_before("passed").unwrap_or(0);
    counts.failed += count_before("failed").unwrap_or(0);
    counts.skipped += count_before("ignored").unwrap_or(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_adds_its_three_counts_and_other_lines_add_nothing() {
        let mut counts = Counts::default();
        add_result("running 4 tests", &mut counts);
        add_result(
            "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured",
            &mut counts,
        );
        assert_eq!((counts.passed, counts.failed, counts.skipped), (3, 2, 1));
    }
}
