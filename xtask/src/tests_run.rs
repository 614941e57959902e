//! Every test, counted: its program is built by cargo and started here.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::stage::{Counts, Stages};
use crate::{fuzz, target};

/// The test program that asks the whole program. Most of its tests wait for most of their time, so more
/// of them run at once than there are CPUs.
const WHOLE: &str = "behaviour";
const TESTS_A_CPU: usize = 5;
/// Those of it that bear little beside them run afterwards, and how many of each kind at once.
const LATER: [(&str, usize); 2] = [("calm::", 3), ("alone::", 1)];
/// What stands before the names of tests that are run one at a time.
const EXACT: [&str; 3] = ["--test-threads", "1", "--exact"];
/// Tells its tests the path of the program that they are about.
const PROGRAM: &str = "LINERATE_PROGRAM";

/// A test program and what it is told.
struct Suite {
    executable: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
}

/// Runs every test and adds up what the test programs said of themselves. What failed is run once more, alone and
/// after all others, unless this is to be strict: where many run at once on a machine that others use, a test may
/// fail of that alone. What passes only then is named.
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
        // Most tests wait for most of their time.
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

/// Builds all test programs, and returns what cargo says of them.
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

/// The test programs, each with what it is told.
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

/// What the test program is told that asks the whole program, run by run.
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

/// Runs suites, so many at once. Returns those of which tests failed, with no other tests.
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
    let (told, come) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..at_once {
            let told = told.clone();
            scope.spawn(move || {
                while let Some(suite) = next() {
                    let _ = told.send((suite, suite.run(program)));
                }
            });
        }
    });
    drop(told);
    let mut failed = Vec::new();
    for (suite, ran) in come {
        let ran = ran?;
        counts.add(ran.counts);
        if !ran.failed.is_empty() {
            failed.push(suite.only(&ran.failed));
        }
    }
    Ok(failed)
}

/// Runs what failed once more; what passes now did not fail.
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

/// What a test program came to.
#[derive(Default)]
struct Ran {
    counts: Counts,
    /// Names of tests.
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

    /// These tests of it, one at a time.
    fn only(&self, tests: &[String]) -> Self {
        let alone = EXACT.map(str::to_owned).into_iter();
        Self {
            executable: self.executable.clone(),
            folder: self.folder.clone(),
            arguments: alone.chain(tests.iter().cloned()).collect(),
        }
    }

    /// The names behind [`EXACT`].
    fn tests(&self) -> &[String] {
        self.arguments.get(EXACT.len()..).unwrap_or_default()
    }

    /// Runs it. What became of a test is printed as it comes, all else in one piece at the end: another may run
    /// beside it.
    fn run(&self, program: &Path) -> anyhow::Result<Ran> {
        let mut child = Command::new(&self.executable)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env(PROGRAM, program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.executable.display()))?;
        let output = child.stdout.take().context("no standard output")?;
        let (mut ran, mut rest) = (Ran::default(), String::new());
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

impl Ran {
    /// Takes in a line: `test NAME ... FAILED`, or `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
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

    /// What stands for a test program: it does one thing on its first run, and another on every later one.
    fn suite(name: &str, first: &str, later: &str) -> Suite {
        let folder = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let script =
            format!("#!/bin/sh\nif mkdir ran 2> /dev/null; then {first}; else {later}; fi");
        // Written by a process of its own: another thread that starts one would hold ours open for writing.
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

    /// Runs it, and what failed of it once more.
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
