//! Runs and counts every test. Cargo builds the test programs; they are started here.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::stage::{Counts, Stages};
use crate::{fuzz, target};

/// The test program that tests the whole program. Most of its tests wait most of the time, so more
/// of them run at once than there are CPUs.
const WHOLE: &str = "behaviour";
const TESTS_A_CPU: usize = 5;
/// Its tests that tolerate little other load run later: the prefix of each kind, and how many run
/// at once.
const LATER: [(&str, usize); 2] = [("calm::", 3), ("alone::", 1)];
/// Arguments before the names of tests that are run one at a time.
const EXACT: [&str; 3] = ["--test-threads", "1", "--exact"];
/// Variable that gives the tests the path of the program under test.
const PROGRAM: &str = "LINERATE_PROGRAM";

/// A test program and its arguments.
struct Suite {
    executable: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
}

/// Runs every test and adds up the counts that the test programs report. Unless `is_strict`, a test
/// that failed is run once more, alone and after all others: where many run at once on a shared
/// machine, a test may fail because of that. A test that passes only on its second run is named.
pub(crate) fn cargo_tests(stages: &mut Stages, is_strict: bool) -> anyhow::Result<Counts> {
    let begun = sys::clock::now();
    println!("== tests are built");
    let program = target::program(target::PROFILE)?;
    let built = build().and_then(|messages| suites(&messages));
    if let Err(why) = &built {
        println!("{why:#}");
    }
    stages.note("tests are built", begun, built.is_ok())?;
    let suites = built.unwrap_or_default();
    let begun = sys::clock::now();
    println!("== tests");
    let (later, others): (Vec<_>, Vec<_>) = suites.into_iter().partition(Suite::comes_later);
    let mut counts = Counts::default();
    let mut again = thread::scope(|scope| {
        // Most tests wait most of the time, which leaves CPU time for a build.
        scope.spawn(|| target::idly(fuzz::build));
        run_all(&others, cpus(), &program, &mut counts)
    })?;
    again.extend(run_all(&later, 1, &program, &mut counts)?);
    if !is_strict {
        run_again(&again, &program, &mut counts)?;
    }
    stages.note("tests", begun, counts.failed == 0)?;
    Ok(counts)
}

/// Builds all test programs, and returns cargo's JSON messages.
pub(crate) fn build() -> anyhow::Result<Vec<u8>> {
    let all = ["test", "--workspace", "--no-run", "--quiet"];
    let output = target::cargo(&[&all[..], &["--profile", target::PROFILE]].concat())
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "the tests cannot be built");
    Ok(output.stdout)
}

/// The test programs, each with its arguments.
fn suites(messages: &[u8]) -> anyhow::Result<Vec<Suite>> {
    let mut suites = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if message["profile"]["test"] != true {
            continue;
        }
        let executable = message["executable"].as_str().map(PathBuf::from);
        let executable = executable.context("cargo tells no path of a test program")?;
        let manifest = message["manifest_path"].as_str().map(Path::new);
        let folder = manifest
            .and_then(Path::parent)
            .context("cargo tells no package")?;
        let is_whole = message["target"]["name"] == WHOLE;
        let runs = if is_whole {
            at_once_and_later()
        } else {
            vec![Vec::new()]
        };
        suites.extend(runs.into_iter().map(|arguments| Suite {
            executable: executable.clone(),
            folder: folder.to_owned(),
            arguments,
        }));
    }
    Ok(suites)
}

/// Arguments of the test program [`WHOLE`], for each of its runs.
fn at_once_and_later() -> Vec<Vec<String>> {
    let by_threads = |words: &[&str], threads: usize| {
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain([format!("--test-threads={threads}")]).collect()
    };
    let skipped = LATER.map(|(name, _)| ["--skip", name]).concat();
    let at_once = by_threads(&skipped, cpus() * TESTS_A_CPU);
    let later = LATER.map(|(name, threads)| by_threads(&[name], threads));
    [vec![at_once], later.to_vec()].concat()
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs suites, `at_once` at a time. Returns those with failed tests, reduced to these.
fn run_all(
    suites: &[Suite],
    at_once: usize,
    program: &Path,
    counts: &mut Counts,
) -> anyhow::Result<Vec<Suite>> {
    let waiting = Mutex::new(suites.iter());
    let next = &|| {
        let is_stopped = sys::stop::heard().is_some();
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.next().filter(|_| !is_stopped)
    };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..at_once {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some(suite) = next() {
                    let _ = sender.send((suite, suite.run(program)));
                }
            });
        }
    });
    drop(sender);
    let mut failed = Vec::new();
    for (suite, ran) in receiver {
        let ran = ran?;
        counts.add(ran.counts);
        if !ran.failed.is_empty() {
            failed.push(suite.only(&ran.failed));
        }
    }
    Ok(failed)
}

/// Runs failed tests once more; those that pass now no longer count as failed.
fn run_again(suites: &[Suite], program: &Path, counts: &mut Counts) -> anyhow::Result<()> {
    for suite in suites {
        if sys::stop::heard().is_some() {
            break;
        }
        println!("== once more, alone: {}", suite.tests().join(" "));
        let ran = suite.run(program)?;
        counts.failed -= ran.counts.passed.min(counts.failed);
        counts.passed += ran.counts.passed;
        let passed = suite
            .tests()
            .iter()
            .filter(|name| ran.passed.contains(name));
        counts.unsteady.extend(passed.cloned());
    }
    Ok(())
}

/// The results of a test program.
#[derive(Default)]
struct SuiteOutcome {
    counts: Counts,
    /// Names of tests that passed, then of those that failed.
    passed: Vec<String>,
    failed: Vec<String>,
}

impl Suite {
    fn comes_later(&self) -> bool {
        let first = self.arguments.first();
        LATER
            .iter()
            .any(|(name, _)| first.is_some_and(|it| it == name))
    }

    /// A suite of some tests of this one, which runs one at a time.
    fn only(&self, tests: &[String]) -> Self {
        let alone = EXACT.map(str::to_owned).into_iter();
        Self {
            executable: self.executable.clone(),
            folder: self.folder.clone(),
            arguments: alone.chain(tests.iter().cloned()).collect(),
        }
    }

    /// The names of tests after [`EXACT`].
    fn tests(&self) -> &[String] {
        self.arguments.get(EXACT.len()..).unwrap_or_default()
    }

    /// Runs the test program. The result of each test is printed as it comes, all other output in
    /// one piece at the end, as another suite may run at the same time.
    fn run(&self, program: &Path) -> anyhow::Result<SuiteOutcome> {
        let mut child = Command::new(&self.executable)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env(PROGRAM, program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.executable.display()))?;
        let output = child.stdout.take().context("no standard output")?;
        let (mut ran, mut rest) = (SuiteOutcome::default(), String::new());
        for line in BufReader::new(output).lines() {
            let line = line?;
            ran.hear(&line);
            if line.starts_with("test ") && line.contains(" ... ") {
                println!("{line}");
            } else {
                rest += &line;
                rest.push('\n');
            }
        }
        println!("{rest}");
        if !child.wait()?.success() && ran.counts.failed == 0 {
            println!(
                "{} ended without saying what failed",
                self.executable.display()
            );
            ran.failed.clear();
            ran.counts.failed = 1;
        }
        Ok(ran)
    }
}

impl SuiteOutcome {
    /// Reads a line: `test NAME ... FAILED`, or
    /// `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
    fn hear(&mut self, line: &str) {
        let test = line.strip_prefix("test ");
        match test.and_then(|rest| rest.split_once(" ... ")) {
            Some((name, "ok")) => self.passed.push(name.to_owned()),
            Some((name, "FAILED")) => self.failed.push(name.to_owned()),
            _ => {}
        }
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
        let count = |word| count_before(word).unwrap_or(0);
        self.counts.add(Counts {
            passed: count("passed"),
            failed: count("failed"),
            skipped: count("ignored"),
            ..Counts::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for a test program: it does one thing on its first run, and another on every
    /// later one.
    fn suite(name: &str, first: &str, later: &str) -> Suite {
        let folder = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let script =
            format!("#!/bin/sh\nif mkdir ran 2> /dev/null; then {first}; else {later}; fi");
        // Another process writes the file: a process that another thread starts here would hold
        // ours open for writing.
        let mut write = Command::new("sh");
        write.args(["-c", "echo \"$1\" > suite && chmod +x suite", "sh", &script]);
        assert!(write.current_dir(&folder).status().unwrap().success());
        Suite {
            executable: folder.join("suite"),
            folder,
            arguments: Vec::new(),
        }
    }

    const FAILS: &str = "echo 'test one ... ok'; echo 'test a::two ... FAILED'; \
        echo 'test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured'; exit 101";
    const PASSES: &str =
        "echo 'test a::two ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
    const DIES: &str = "echo 'test a::two ... FAILED'; kill -9 $$";

    /// Runs a suite, and its failed tests once more.
    fn counted(suite: &Suite) -> Counts {
        let mut counts = Counts::default();
        let again = run_all(std::slice::from_ref(suite), 2, Path::new(""), &mut counts).unwrap();
        assert!(again.iter().all(|suite| suite.tests() == ["a::two"]));
        run_again(&again, Path::new(""), &mut counts).unwrap();
        std::fs::remove_dir_all(&suite.folder).unwrap();
        counts
    }

    #[test]
    fn a_test_that_fails_once_is_counted_as_passed_and_named() {
        let counts = counted(&suite("once", FAILS, PASSES));
        assert_eq!((counts.passed, counts.failed, counts.skipped), (2, 0, 1));
        assert_eq!(counts.unsteady, ["a::two"]);
    }

    #[test]
    fn a_test_that_fails_twice_or_ends_its_program_has_failed() {
        let twice = counted(&suite(
            "twice",
            FAILS,
            &FAILS.replace("1 passed", "0 passed"),
        ));
        assert_eq!((twice.passed, twice.failed), (1, 1));
        let dies_later = counted(&suite("later", FAILS, DIES));
        assert_eq!((dies_later.passed, dies_later.failed), (1, 1));
        let dies = counted(&suite("dies", DIES, PASSES));
        assert_eq!((dies.passed, dies.failed), (0, 1));
        for counts in [twice, dies_later, dies] {
            assert!(counts.unsteady.is_empty(), "{:?}", counts.unsteady);
        }
    }
}
