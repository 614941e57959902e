//! The commands of one service, run in its folder: with little of our environment, within its
//! limits, on its CPUs.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use model::Service;
use model::failure::Failure;
use sys::group::Leader;
use sys::process::ChildSetup;

use super::find;
use super::folder::Folder;
use crate::gate;

/// Returns whether to stop waiting for a command.
pub(super) type GivenUp<'a> = &'a dyn Fn() -> bool;

/// What the commands of a service have in common.
pub(super) struct Commands<'a> {
    /// With every variable filled in.
    pub(super) service: &'a Service,
    /// The path of its program.
    pub(super) program: &'a Path,
    pub(super) folder: &'a Folder,
    /// The CPUs on which they run; empty for the inherited ones.
    pub(super) cpus: &'a [usize],
    /// A folder to run them in with all of our environment; `None` to run them in `folder` with
    /// little of it.
    pub(super) site: Option<&'a Path>,
}

/// Why a command that should end with success did not.
pub(super) enum Trouble {
    /// Its program could not be found.
    Absent(Failure),
    /// What happened to it, in words that follow its name.
    Failed(String),
}

impl Commands<'_> {
    /// Starts the service itself.
    pub(super) fn start(&self) -> Result<Leader, String> {
        let start = &self.service.start;
        let program = start.program.as_ref().map(PathBuf::from);
        let program = program.unwrap_or_else(|| self.program.to_owned());
        let command = self.command(&program, &start.arguments);
        let leader = command.and_then(|mut command| Leader::start(&mut command));
        leader.map_err(|error| format!("starting {}: {error}", program.display()))
    }

    /// Runs a program with its arguments; it must exit with status 0.
    pub(super) fn run(
        &self,
        words: &[String],
        within: Duration,
        given_up: GivenUp<'_>,
    ) -> Result<(), Trouble> {
        let (name, arguments) = words.split_first().unwrap_or((&self.service.name, &[]));
        let program = find::locate_helper(self.service, self.program, name);
        let program = program.map_err(Trouble::Absent)?;
        let ended = self.wait(&program, arguments, within, given_up);
        match ended.map_err(|error| Trouble::Failed(format!("cannot be run: {error}")))? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Trouble::Failed(format!("failed: {status}"))),
            None if given_up() => Err(Trouble::Failed("was given up".to_owned())),
            None => {
                let limit_ms = within.as_millis();
                Err(Trouble::Failed(format!("did not end within {limit_ms} ms")))
            }
        }
    }

    /// Runs a program and returns how it ended; `None` when it was killed because it took too long
    /// or was given up.
    fn wait(
        &self,
        program: &Path,
        arguments: &[String],
        within: Duration,
        given_up: GivenUp<'_>,
    ) -> io::Result<Option<ExitStatus>> {
        let mut leader = Leader::start(&mut self.command(program, arguments)?)?;
        let mut status = None;
        sys::clock::wait_until(within, || {
            status = leader.try_wait().ok().flatten();
            status.is_some() || given_up()
        });
        let _ = leader.end();
        Ok(status)
    }

    fn command(&self, program: &Path, arguments: &[String]) -> io::Result<Command> {
        let (here, output) = (self.folder.path(), self.folder.output()?);
        let mut command = Command::new(program);
        match self.site {
            Some(site) => {
                gate::forget_the_hook(&mut command);
                command
                    .current_dir(site)
                    .env(gate::FOLDER, here)
                    .env(gate::PADDING, gate::padding())
            }
            None => command
                .current_dir(here)
                .env_clear()
                .envs(self.environment()),
        };
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let setup = ChildSetup {
            cpus: self.cpus.to_vec(),
            file_limit_bytes: Some(self.service.logs.limit_bytes),
            ..ChildSetup::default()
        };
        sys::process::prepare_child(&mut command, setup);
        Ok(command)
    }

    /// Little of our environment, and what the service's description adds.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let here = self.folder.path().as_os_str().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut environment = vec![
            ("PATH".into(), path),
            ("HOME".into(), here.clone()),
            ("TMPDIR".into(), here),
        ];
        let own = self.service.environment.iter();
        environment.extend(own.map(|(name, value)| (name.into(), value.into())));
        environment
    }
}
