//! Runs a command once: starts it, watches and times it, and ends it by force when its time is up.

mod said;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use machine::instruments::cpu::MachineWatch;
use model::command::{CommandEnd, CommandInput, CommandOutput, CommandTrouble};
use model::failure::Failure;
use model::{CommandReading, CommandSpec};
use sys::epoll::{Epoll, Events, Interest};
use sys::launch::{self, Launcher, Stamp};
use sys::stop::{Again, StopSignal};
use sys::usage::{self, Usage};
use sys::{clock, pidfd};

pub use said::Kept;
use said::Running;
pub(crate) use said::{KEPT_ERRORS_BYTES, last_words};

/// The signals that end a command, and how long each may take, ns. The second works at once, except
/// for a process that waits for a device.
const ENDINGS: [(i32, u64); 2] = [
    (launch::SIGTERM, 1_000_000_000),
    (launch::SIGKILL, 10_000_000_000),
];
/// A pipe holds 64 KiB unless somebody made it larger (pipe(7)).
const PIPE_BYTES: usize = 65_536;
/// How often a full pipe is read after the command has ended: enough for all that one process left
/// in the pipes.
const READS_AFTER_END: usize = 4;

const STOP: u64 = 0;
const ENDED: u64 = 1;
const OUTPUT: u64 = 2;
const ERRORS: u64 = 3;

/// Runs commands one after another on this host. SIGINT and SIGTERM end the command that is
/// running.
#[derive(Debug)]
pub struct CommandRunner {
    launcher: Launcher,
    epoll: Epoll,
    stop: StopSignal,
    buffer: Vec<u8>,
    machine: MachineWatch,
}

/// A command that is about to be run.
#[derive(Debug)]
pub struct Prepared {
    pub command: Command,
    pub timeout_ms: Option<u64>,
    /// How many bytes of its standard output are kept, where that is a pipe.
    pub keep_bytes: usize,
    /// Whether processes that it leaves running in its process group are killed.
    pub ends_group: bool,
}

/// Why a wait returned.
enum Woken {
    Ended { at_ns: u64 },
    TimeUp,
    Stop,
}

impl CommandRunner {
    /// Makes a runner, which handles SIGINT and SIGTERM itself. Call it before the first thread
    /// starts.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files, `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let (epoll, stop) = (Epoll::new()?, StopSignal::listen(Again::Waits)?);
        epoll.add(stop.as_fd(), STOP, Interest::READ)?;
        Ok(Self {
            launcher: Launcher::new()?,
            epoll,
            stop,
            buffer: vec![0; PIPE_BYTES],
            machine: MachineWatch::new(),
        })
    }

    /// The peak memory of a child that does nothing: a smaller peak cannot be measured.
    ///
    /// # Errors
    /// At the limit of processes.
    pub fn memory_floor_bytes(&mut self) -> Result<u64, CommandTrouble> {
        self.launcher.memory_floor_bytes().map_err(|error| {
            cannot(
                format!("no process could be forked: {error}"),
                "raise the limit of processes (`ulimit -u`)",
            )
        })
    }

    /// Runs a command once, to its end.
    ///
    /// # Errors
    /// When it cannot be started, or when a signal asks us to stop. A command that fails or takes
    /// too long has a reading like any other.
    pub fn run(&mut self, spec: &CommandSpec) -> Result<CommandReading, CommandTrouble> {
        let prepared = Prepared {
            command: command(spec)?,
            timeout_ms: spec.timeout_ms,
            keep_bytes: 0,
            ends_group: false,
        };
        Ok(self.run_prepared(prepared)?.0)
    }

    /// Runs a command that the caller has prepared. Returns its reading and the beginning of its
    /// standard output.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_prepared(
        &mut self,
        prepared: Prepared,
    ) -> Result<(CommandReading, Kept), CommandTrouble> {
        self.run_beside(prepared, |_| {})
    }

    /// Does what [`Self::run_prepared`] does, and calls `begun` with the process number as soon as
    /// the command runs.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub(crate) fn run_beside(
        &mut self,
        prepared: Prepared,
        begun: impl FnOnce(u32),
    ) -> Result<(CommandReading, Kept), CommandTrouble> {
        let Prepared {
            command,
            timeout_ms,
            keep_bytes,
            ends_group,
        } = prepared;
        let program = command.get_program().to_string_lossy().into_owned();
        self.machine.open();
        let started = self.launcher.start(command);
        let (child, stamp) = started.map_err(|error| not_started(&program, &error))?;
        let leader = child.id();
        begun(leader);
        let mut running = self.watch(child, stamp).map_err(|error| broken(&error))?;
        running.kept.limit = keep_bytes;
        let limit_ns = timeout_ms.map(|ms| stamp.at_ns + ms * 1_000_000);
        let ended = self.watch_to_its_end(running, limit_ns, ends_group);
        if ended.is_err() && ends_group {
            // Nobody has waited for the process, so its number is still its own.
            let _ = launch::signal_group(leader, launch::SIGKILL);
        }
        ended.map_err(|error| broken(&error))?
    }

    fn watch_to_its_end(
        &mut self,
        mut running: Running,
        limit_ns: Option<u64>,
        ends_group: bool,
    ) -> io::Result<Result<(CommandReading, Kept), CommandTrouble>> {
        let woken = self.wait(&mut running, limit_ns)?;
        let (at_ns, end) = match woken {
            Woken::Ended { at_ns } => (at_ns, None),
            Woken::TimeUp | Woken::Stop => {
                let at_ns = self.end_by_force(&mut running)?;
                (at_ns, Some(CommandEnd::TimedOut))
            }
        };
        let reading = self.reading(running, at_ns, end, ends_group)?;
        Ok(match woken {
            Woken::Stop => Err(CommandTrouble::Stopped),
            Woken::Ended { .. } | Woken::TimeUp => Ok(reading),
        })
    }

    fn watch(&self, mut child: Child, stamp: Stamp) -> io::Result<Running> {
        let ended = pidfd::open(&child)?;
        self.epoll.add(ended.as_fd(), ENDED, Interest::READ)?;
        let output = child
            .stdout
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        let errors = child
            .stderr
            .take()
            .map(|pipe| File::from(OwnedFd::from(pipe)));
        for (pipe, token) in [(&output, OUTPUT), (&errors, ERRORS)] {
            if let Some(pipe) = pipe {
                self.epoll.add(pipe.as_fd(), token, Interest::READ)?;
            }
        }
        Ok(Running {
            child,
            stamp,
            ended,
            output,
            errors,
            said: Vec::new(),
            kept: Kept::default(),
        })
    }

    /// Waits for the end. Reads the output in the meantime, so that no writer blocks on a full
    /// pipe.
    fn wait(&mut self, running: &mut Running, limit_ns: Option<u64>) -> io::Result<Woken> {
        let mut events = Events::with_capacity(4);
        loop {
            let left_ns = limit_ns.map(|limit| limit.saturating_sub(clock::monotonic_ns()));
            self.epoll.wait(&mut events, left_ns)?;
            let at_ns = clock::monotonic_ns();
            let ready = |token| events.iter().any(|event| event.token == token);
            if ready(ENDED) {
                return Ok(Woken::Ended { at_ns });
            }
            if ready(STOP) {
                self.stop.acknowledge();
                return Ok(Woken::Stop);
            }
            if limit_ns.is_some_and(|limit| at_ns >= limit) {
                return Ok(Woken::TimeUp);
            }
            running.listen(&mut self.buffer, ready(OUTPUT), ready(ERRORS))?;
        }
    }

    /// Asks the whole process group to end, and kills it when it does not. Returns the time at
    /// which the command ended.
    fn end_by_force(&mut self, running: &mut Running) -> io::Result<u64> {
        for (signal, patience_ns) in ENDINGS {
            // This fails where the group has already ended, which is as good.
            let _ = launch::signal_group(running.child.id(), signal);
            let limit_ns = clock::monotonic_ns() + patience_ns;
            if let Woken::Ended { at_ns } = self.wait(running, Some(limit_ns))? {
                // Its children may have ignored the signal. The number of the group is still
                // theirs.
                let _ = launch::signal_group(running.child.id(), launch::SIGKILL);
                return Ok(at_ns);
            }
        }
        Err(io::Error::other("a killed process did not end"))
    }

    fn reading(
        &mut self,
        mut running: Running,
        at_ns: u64,
        end: Option<CommandEnd>,
        ends_group: bool,
    ) -> io::Result<(CommandReading, Kept)> {
        self.listen_to_the_rest(&mut running)?;
        let leader = running.child.id();
        // This must come before the wait: after it the number may belong to another group.
        let was_killed = ends_group && launch::kill_left_behind(leader);
        let usage = usage::wait(running.child)?;
        let end = end.unwrap_or_else(|| ended(usage.status));
        let (user_ns, system_ns) = without_the_fork(&usage, running.stamp);
        let reading = CommandReading {
            wall_ns: at_ns.saturating_sub(running.stamp.at_ns),
            user_ns,
            system_ns,
            peak_memory_bytes: usage.peak_memory_bytes,
            machine: self.machine.spent(),
            end,
            left_running: was_killed || !ends_group && launch::group_is_alive(leader),
            last_words: if end.is_success() {
                String::new()
            } else {
                last_words(&running.said)
            },
        };
        Ok((reading, running.kept))
    }

    /// Reads what is left in the pipes when the command has ended. Processes that it left behind
    /// may go on writing; we do not wait for them.
    fn listen_to_the_rest(&mut self, running: &mut Running) -> io::Result<()> {
        self.epoll.remove(running.ended.as_fd())?;
        if running.kept.limit == 0 {
            running.output = None;
        }
        let mut events = Events::with_capacity(4);
        for _ in 0..READS_AFTER_END {
            self.epoll.wait(&mut events, Some(0))?;
            let ready = |token| events.iter().any(|event| event.token == token);
            let (output, errors) = (ready(OUTPUT), ready(ERRORS));
            if !output && !errors {
                break;
            }
            running.listen(&mut self.buffer, output, errors)?;
        }
        Ok(())
    }
}

/// Builds the command for the standard library. Its standard error is a pipe, so that a failure can
/// be reported with the last lines that the command wrote.
fn command(spec: &CommandSpec) -> Result<Command, CommandTrouble> {
    let Some((program, arguments)) = spec.words.split_first() else {
        return Err(cannot("an empty command".to_owned(), "give a program"));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(&spec.environment);
    command.stdin(match &spec.input {
        CommandInput::Null => Stdio::null(),
        CommandInput::File(path) => Stdio::from(File::open(path).map_err(|error| {
            let what = format!("{} cannot be read: {error}", path.display());
            cannot(what, "give --input a file that can be read")
        })?),
    });
    command.stderr(Stdio::piped()).stdout(match &spec.output {
        CommandOutput::Null => Stdio::null(),
        CommandOutput::Pipe => Stdio::piped(),
        CommandOutput::Inherit => Stdio::inherit(),
        CommandOutput::File(path) => Stdio::from(File::create(path).map_err(|error| {
            let what = format!("{} cannot be written: {error}", path.display());
            cannot(what, "give --output a file that can be written")
        })?),
    });
    if spec.output == CommandOutput::Inherit {
        command.stderr(Stdio::inherit());
    }
    Ok(command)
}

fn ended(status: ExitStatus) -> CommandEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Killed {
            signal: signal.unwrap_or(0),
        },
    }
}

/// User and system time, without the time of the child before `exec`. That time was spent in the
/// kernel but for a few instructions.
fn without_the_fork(usage: &Usage, stamp: Stamp) -> (u64, u64) {
    let from_system = stamp.cpu_ns.min(usage.system_ns);
    let from_user = (stamp.cpu_ns - from_system).min(usage.user_ns);
    (usage.user_ns - from_user, usage.system_ns - from_system)
}

fn not_started(program: &str, error: &io::Error) -> CommandTrouble {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "check its name and PATH; a shell's own commands need a shell",
        // `exec` also fails so where a folder of PATH may not be entered and no other has it.
        io::ErrorKind::PermissionDenied => {
            "make it executable, or check its name and who may run it"
        }
        io::ErrorKind::ArgumentListTooLong => "pass less on the command line",
        _ => "try it by hand",
    };
    cannot(format!("`{program}` could not be started: {error}"), advice)
}

fn cannot(what: String, advice: &str) -> CommandTrouble {
    CommandTrouble::Failed(Failure {
        what,
        advice: advice.to_owned(),
    })
}

/// The failure of a call that does not fail on a healthy machine.
fn broken(error: &io::Error) -> CommandTrouble {
    cannot(
        format!("a command could not be watched: {error}"),
        "check the limits of open files and processes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandSpec {
        CommandSpec {
            words: ["/bin/sh", "-c", script].map(str::to_owned).into(),
            ..CommandSpec::default()
        }
    }

    fn read(spec: &CommandSpec) -> CommandReading {
        CommandRunner::new().unwrap().run(spec).unwrap()
    }

    #[test]
    fn a_reading_has_time_memory_and_a_good_end() {
        let found = read(&shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
        assert!(found.wall_ns > 0 && found.cpu_ns() > 0, "{found:?}");
        assert!(found.peak_memory_bytes > 100_000, "{found:?}");
        assert_eq!(found.end, CommandEnd::Exited(0));
        assert!(!found.left_running && found.last_words.is_empty());
    }

    #[test]
    fn the_end_of_a_flood_is_reached_and_its_last_lines_are_kept() {
        let flood = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; \
                     echo >&2; echo the reason >&2; exit 3";
        let spec = CommandSpec {
            output: CommandOutput::Pipe,
            ..shell(flood)
        };
        let found = read(&spec);
        assert_eq!(found.end, CommandEnd::Exited(3));
        assert!(found.last_words.ends_with("the reason"), "{found:?}");
    }

    #[test]
    fn a_command_that_outstays_its_time_is_ended_with_its_children() {
        let spec = CommandSpec {
            timeout_ms: Some(50),
            ..shell("sleep 600 & sleep 600")
        };
        let found = read(&spec);
        assert_eq!(found.end, CommandEnd::TimedOut);
        assert!(found.wall_ns < 300_000_000_000);
    }

    #[test]
    fn one_that_ignores_the_request_to_end_is_killed() {
        let spec = CommandSpec {
            timeout_ms: Some(50),
            ..shell("trap '' TERM; while :; do sleep 0.05; done")
        };
        assert_eq!(read(&spec).end, CommandEnd::TimedOut);
    }

    #[test]
    fn one_killed_by_a_signal_says_which() {
        let found = read(&shell("kill -SEGV $$"));
        assert_eq!(found.end, CommandEnd::Killed { signal: 11 });
    }

    #[test]
    fn what_it_leaves_running_is_noticed_and_not_waited_for() {
        let mut runner = CommandRunner::new().unwrap();
        let left = runner.run(&shell("sleep 2 & exit 0")).unwrap();
        assert!(left.left_running);
        assert!(!runner.run(&shell("exit 0")).unwrap().left_running);
    }

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let spec = CommandSpec {
            words: vec!["no-such-program".to_owned()],
            ..CommandSpec::default()
        };
        let trouble = CommandRunner::new().unwrap().run(&spec).unwrap_err();
        let CommandTrouble::Failed(failure) = trouble else {
            panic!("{trouble:?}");
        };
        assert!(failure.what.contains("`no-such-program`"), "{failure:?}");
        assert!(failure.advice.contains("PATH"), "{failure:?}");
    }
}
