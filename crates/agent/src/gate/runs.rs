//! A command as a target: a block is as many runs as fit into its time, each a process of its own.

use std::path::PathBuf;
use std::process::Stdio;

use machine::instruments::cpu::CpuWatch;
use model::Reading;
use model::command::CommandReading;
use model::failure::Failure;
use model::reading::{CpuReading, Ledger};
use sys::clock;

use super::trees::Runner;
use super::{PADDING, Tree, ended_well, padding, shell};
use crate::command::Prepared;

/// How long a run may take, ms.
const LONGEST_MS: u64 = 600_000;

/// A command that is run in a tree.
pub(crate) struct Runs {
    title: String,
    line: String,
    path: PathBuf,
    folder: PathBuf,
    runner: Runner,
}

impl Runs {
    /// Prepares the command. The first time, runs it once to see that it succeeds.
    pub(super) fn begin(tree: &Tree, line: &str) -> Result<Self, Failure> {
        let mut runs = Self {
            title: tree.build.title.clone(),
            line: line.to_owned(),
            path: tree.path.clone(),
            folder: tree.folder.clone(),
            runner: tree.runner.clone(),
        };
        if !tree.was_run.get() {
            runs.once()?;
            tree.was_run.set(true);
        }
        Ok(runs)
    }

    fn once(&mut self) -> Result<CommandReading, Failure> {
        let mut command = shell(&self.line, &self.path, &self.folder);
        command
            .env(PADDING, padding())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let ran = self.runner.borrow_mut().run_prepared(Prepared {
            command,
            timeout_ms: Some(LONGEST_MS),
            keep_bytes: 0,
            ends_group: true,
        });
        ended_well(ran).map_err(|what| Failure {
            what: format!("{}: `{}` {what}", self.title, self.line),
            advice: "it must succeed at both commits to be compared".to_owned(),
        })
    }
}

/// Measures a block: runs the command again and again until `score_ms` is over, but at least once.
pub(crate) fn measure(runs: &mut Runs, score_ms: u32) -> Result<Reading, Failure> {
    let mut watch = CpuWatch::new(&[]);
    let until_ns = clock::monotonic_ns() + u64::from(score_ms) * 1_000_000;
    let (mut wall_ns, mut cpu_ns, mut count) = (0, 0, 0);
    watch.open();
    let begun_ns = clock::monotonic_ns();
    while count == 0 || clock::monotonic_ns() < until_ns {
        let ran = runs.once()?;
        wall_ns += ran.wall_ns;
        cpu_ns += ran.cpu_ns();
        count += 1;
    }
    let window_ns = clock::monotonic_ns() - begun_ns;
    watch.close();
    let cpu = watch.reading(window_ns, 0, 0.0);
    let busy_ns = cpu.machine.map(|machine| machine.busy_ns());
    Ok(Reading {
        // Without the time between two runs.
        window_ns: wall_ns,
        answered: count,
        carried: None,
        ledger: Ledger {
            sent: count,
            answered: count,
            ..Ledger::default()
        },
        cpu: CpuReading {
            server_ns: Some(cpu_ns),
            foreign_ns: busy_ns.map(|busy_ns| busy_ns.saturating_sub(cpu_ns)),
            ..cpu
        },
        latency: None,
        doubts: Vec::new(),
    })
}
