//! Where the commands of a study run: a folder of their own, which is removed with all its
//! contents, and a runner that times them one by one as an ordinary user.

pub(crate) mod own_folder;
mod served;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Component, Path};
use std::process::{Command, Stdio};
use std::time::Duration;

use machine::cpus::CpuSplit;
use machine::instruments::cpu::CpuWatch;
use model::command::{CommandReading, CommandTrouble, FolderCommand, Meanwhile, Ran};
use model::command_study::CpuUse;
use model::failure::Failure;
use sys::clock;
use sys::descent::Descent;
use sys::process::ChildSetup;

use crate::Setup;
use crate::command::{CommandRunner, Prepared};
use own_folder::OwnFolder;
use served::Served;

/// How much of a command's output is stored: more than any figures need.
const KEPT_BYTES: usize = 1 << 20;
/// The name of our own program in the folder.
const LINERATE: &str = "linerate";

/// The folder of a study's commands, and what runs them there. Dropping it removes the folder.
pub(crate) struct Workshop {
    /// The command that serves, if any. As the first field it is dropped before its folder.
    served: Option<Served>,
    folder: OwnFolder,
    runner: CommandRunner,
    descent: Descent,
    /// CPU time of our own process and of the command that serves. Taken from the host's totals, it
    /// leaves what the rest of the host used.
    watch: CpuWatch,
}

impl Workshop {
    /// Makes a folder that only the commands' user may enter, with these files.
    pub(crate) fn new(
        setup: &Setup,
        files: &BTreeMap<String, String>,
        with_linerate: bool,
    ) -> Result<Self, Failure> {
        let doing = |what: &str, error: &io::Error| Failure {
            what: format!("a folder for the study's commands: {what}: {error}"),
            advice:
                "check free space and permissions below the folder for temporary files (TMPDIR)"
                    .to_owned(),
        };
        let descent = Descent::from_here().map_err(|error| doing("/proc/self/uid_map", &error))?;
        let workshop = Self {
            served: None,
            folder: OwnFolder::new(&std::env::temp_dir(), "study")?,
            runner: CommandRunner::new().map_err(|error| doing("watching commands", &error))?,
            descent,
            watch: CpuWatch::new(&[std::process::id()]),
        };
        for (file, text) in files {
            let written = workshop.write(file, text);
            written.map_err(|error| doing(&format!("writing {file}"), &error))?;
        }
        if with_linerate {
            let copied = workshop.copy(&setup.program);
            copied.map_err(|error| doing("copying Linerate", &error))?;
        }
        workshop
            .give(&workshop.folder.inside())
            .map_err(|error| doing("giving it away", &error))?;
        Ok(workshop)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, asked: &FolderCommand, cpus: &CpuSplit) -> Result<Ran, Failure> {
        let cpus = match asked.cpus {
            // The CPU that a server would have, not one on which our clients work.
            CpuUse::One => cpus.server.first().copied().into_iter().collect(),
            CpuUse::All => Vec::new(),
        };
        let command = self.command(asked, cpus)?;
        self.watch.open();
        let begun_ns = clock::monotonic_ns();
        let ran = self.runner.run_prepared(Prepared {
            command,
            timeout_ms: Some(asked.timeout_ms),
            keep_bytes: KEPT_BYTES,
            ends_group: true,
        });
        let window_ns = clock::monotonic_ns() - begun_ns;
        self.watch.close();
        match ran {
            Ok((reading, kept)) => Ok(Ran {
                meanwhile: self.meanwhile(&reading, window_ns),
                reading,
                output: String::from_utf8_lossy(&kept.bytes).into_owned(),
                is_cut: kept.is_cut,
            }),
            Err(CommandTrouble::Failed(failure)) => Err(failure),
            Err(CommandTrouble::Stopped) => Err(Failure::plain(format!(
                "`{}` was ended by a signal to us",
                asked.words.join(" ")
            ))),
        }
    }

    /// Starts the command that the timed one speaks with, on the CPUs that the timed one leaves
    /// free. Returns the port at which it listens.
    pub(crate) fn serve(&mut self, asked: &FolderCommand, cpus: &CpuSplit) -> Result<u16, Failure> {
        self.served = None;
        let cpus = match asked.cpus {
            CpuUse::One => cpus.client.clone(),
            CpuUse::All => Vec::new(),
        };
        let (name, within) = (
            asked.words.join(" "),
            Duration::from_millis(asked.timeout_ms),
        );
        let served = Served::start(self.command(asked, cpus)?, &name, within)?;
        self.watch = CpuWatch::new(&[std::process::id(), served.id()]);
        let port = served.port;
        self.served = Some(served);
        Ok(port)
    }

    /// Ends the command that serves.
    pub(crate) fn end_serving(&mut self) -> Result<(), Failure> {
        self.watch = CpuWatch::new(&[std::process::id()]);
        self.served.take().map_or(Ok(()), Served::end)
    }

    fn meanwhile(&self, reading: &CommandReading, window_ns: u64) -> Meanwhile {
        let counts = self.watch.counts(window_ns);
        Meanwhile {
            window_ns,
            own_ns: reading.cpu_ns() + counts.server_ns.unwrap_or(0) + counts.ksoftirqd_ns,
            busy_ns: counts.machine.map(|machine| machine.busy_ns()),
            psi_some_share: counts.psi_some_share,
        }
    }

    fn command(&self, asked: &FolderCommand, cpus: Vec<usize>) -> Result<Command, Failure> {
        let (program, arguments) = asked.words.split_first().ok_or_else(|| Failure {
            what: "an empty command".to_owned(),
            advice: "give a program".to_owned(),
        })?;
        let mut command = Command::new(program);
        crate::environment::little(&mut command);
        command
            .args(arguments)
            // The child is still root when it enters the folder, and the commands could put
            // something else at the folder's ordinary path.
            .current_dir(self.folder.inside())
            .env("HOME", self.folder())
            .env("TMPDIR", self.folder())
            // We parse what they print, so it must not depend on a language.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let setup = ChildSetup {
            cpus,
            descent: self.descent,
            ..ChildSetup::default()
        };
        sys::process::prepare_child(&mut command, setup);
        Ok(command)
    }

    /// Writes a file that the commands may read and change, with the folders that lead to it.
    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let mut path = self.folder.inside();
        let leads_out = |part: Component<'_>| !matches!(part, Component::Normal(_));
        if Path::new(file).components().any(leads_out) {
            return Err(io::Error::other("it leads out of the folder"));
        }
        let mut parts = Path::new(file).iter().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            if parts.peek().is_some() && !path.exists() {
                fs::create_dir(&path)?;
                self.give(&path)?;
            }
        }
        fs::write(&path, text)?;
        self.give(&path)
    }

    /// Copies Linerate into the folder, because the original may lie where only root may go.
    fn copy(&self, program: &Path) -> io::Result<()> {
        let path = self.folder.inside().join(LINERATE);
        fs::copy(program, &path)?;
        self.give(&path)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        match self.descent.owner() {
            Some(owner) => chown(path, Some(owner), Some(owner)),
            None => Ok(()),
        }
    }
}
