//! Stages of a check, each timed, and the closing line that CI reads.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

/// The results of the tests, counted.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
    /// Names of the tests that passed only on their second run.
    pub(crate) unsteady: Vec<String>,
}

impl Counts {
    pub(crate) fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.unsteady.extend(more.unsteady);
    }
}

/// Runs stages one after the other and remembers how long each took and whether it failed.
#[derive(Default)]
pub(crate) struct Stages {
    seconds: Vec<(String, f64)>,
    failed: Vec<String>,
}

impl Stages {
    /// Runs one program as a stage; its output goes to the terminal.
    pub(crate) fn run(&mut self, name: &str, mut command: Command) -> anyhow::Result<()> {
        let begun = sys::clock::now();
        println!("== {name}");
        let status = command
            .stdin(Stdio::null())
            .status()
            .with_context(|| format!("{} could not be started", command.get_program().display()))?;
        self.note(name, begun, status.success())
    }

    /// Records a stage that the caller ran itself.
    ///
    /// # Errors
    /// When a signal has asked us to stop: no further stage shall begin.
    pub(crate) fn note(&mut self, name: &str, begun: Instant, passed: bool) -> anyhow::Result<()> {
        self.seconds
            .push((name.to_owned(), begun.elapsed().as_secs_f64()));
        if !passed {
            self.failed.push(name.to_owned());
        }
        match sys::stop::heard() {
            None => Ok(()),
            Some(signal) => bail!("stopped by signal {signal} in the stage `{name}`"),
        }
    }

    /// Prints the seconds by stage and, last, the line `N passed, N failed`.
    pub(crate) fn close(&self, tests: &Counts) -> ExitCode {
        println!("\nseconds by stage");
        for (name, seconds) in &self.seconds {
            println!("  {name:<28} {seconds:>7.1}");
        }
        for name in &self.failed {
            println!("failed stage: {name}");
        }
        for name in &tests.unsteady {
            println!("passed only on its second run: {name}");
        }
        if tests.skipped > 0 {
            println!(
                "{} skipped: a skipped test counts as a failure here",
                tests.skipped
            );
        }
        let stages_failed = u32::try_from(self.failed.len()).unwrap_or(u32::MAX);
        let stages_passed = u32::try_from(self.seconds.len()).unwrap_or(u32::MAX) - stages_failed;
        let failed = tests.failed + tests.skipped + stages_failed;
        println!("{} passed, {failed} failed", tests.passed + stages_passed);
        if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
