//! Starts a command to look at where its time goes, until the command or the look ends.

use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::instruments::moments::Watchee;
use machine::look::Look;
use machine::targets;
use model::command::{CommandReading, CommandTrouble};
use model::failure::Failure;
use model::message::{BurstsAsk, ObserveAsk};
use model::observation::{Observation, Unseen};
use sys::clock;
use sys::descent::Descent;
use sys::process::ChildSetup;

use crate::bursts::Bursts;
use crate::command::{CommandRunner, Prepared};
use crate::environment;

/// Time before the bursts: by then the command has started up and mapped its libraries.
const BURSTS_AFTER: Duration = Duration::from_millis(300);
/// The fewest moments, seen in a fifth of a second, from which a share can be told.
const FEWEST_MOMENTS: f64 = 20.0;
/// By how much the look ends before the command is ended, ms.
const LOOK_ENDS_MS: u64 = 250;

/// Starts a command and looks at it until it ends, the look ends, or a signal comes.
pub(crate) fn at_work(
    words: &[String],
    ask: &ObserveAsk,
    cpus: &[usize],
) -> Result<Observation, Failure> {
    let name = words.join(" ");
    let mut runner = CommandRunner::new().map_err(|error| Failure {
        what: format!("commands cannot be watched: {error}"),
        advice: "check the limit of open files".to_owned(),
    })?;
    let setup = environment::ordinary(&[])?;
    let descent = setup.descent;
    let prepared = Prepared {
        command: command(words, setup)?,
        timeout_ms: Some(u64::from(ask.look_ms) + LOOK_ENDS_MS),
        keep_bytes: 0,
        ends_group: true,
    };
    let (whole, cpus) = (ask.clone(), cpus.to_vec());
    let mut looking = None;
    let ran = runner.run_beside(prepared, |pid| {
        looking = Some(std::thread::spawn(move || seen_of(pid, &whole, &cpus)));
    });
    let seen = looking.map(joined).unwrap_or_default();
    match ran {
        Ok((reading, _)) => with_end(&name, seen, reading),
        Err(CommandTrouble::Failed(failure)) => Err(as_whom(failure, descent)),
        Err(CommandTrouble::Stopped) => Err(Failure::plain(format!(
            "`{name}` was ended by a signal to us"
        ))),
    }
}

/// Adds how the command ended to what was seen. Fails where it ended too early.
fn with_end(
    name: &str,
    mut seen: Observation,
    reading: CommandReading,
) -> Result<Observation, Failure> {
    let moments: f64 = seen.moments.iter().map(|moment| moment.count).sum();
    if moments < FEWEST_MOMENTS {
        return Err(Failure {
            what: format!(
                "`{name}` {} after {:.1} ms, before enough was seen of it",
                reading.end.words(),
                reading.wall_ns as f64 / 1e6
            ),
            advice: "give it more to do, or have a shell repeat it: `linerate explain -- sh -c 'for i in $(seq 100); do …; done'`"
                .to_owned(),
        });
    }
    seen.command = Some(reading);
    Ok(seen)
}

/// The command as the user typed it, and in the same folder, but with other streams. Our own
/// standard output is the line to the asking process, so the command's output goes to standard
/// error.
fn command(words: &[String], setup: ChildSetup) -> Result<Command, Failure> {
    let (program, arguments) = words.split_first().ok_or_else(|| Failure {
        what: "an empty command".to_owned(),
        advice: "give a program".to_owned(),
    })?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(std::io::stderr()).stderr(Stdio::inherit());
    sys::process::prepare_child(&mut command, setup);
    Ok(command)
}

/// Adds to a failure that root's command runs as `nobody`, who may run less than root.
fn as_whom(failure: Failure, descent: Descent) -> Failure {
    match descent {
        Descent::Stay => failure,
        _ => Failure {
            advice: format!(
                "{}; under root the user `nobody` runs it: if that fails, start it yourself, and look at it with --pid",
                failure.advice
            ),
            ..failure
        },
    }
}

fn seen_of(pid: u32, ask: &ObserveAsk, cpus: &[usize]) -> Observation {
    let mut look = Look::prepare(Watchee {
        pids: vec![pid],
        is_short: true,
        ..Watchee::default()
    });
    look.begin(cpus, ask.seed);
    let bursts = std::thread::spawn(move || bursts_of(pid));
    clock::wait_until(Duration::from_millis(ask.look_ms.into()), || {
        !targets::is_alive(pid) || sys::stop::heard().is_some()
    });
    let mut seen = look.end();
    match joined(bursts) {
        Some(bursts) => bursts.keep(&mut seen),
        None => seen.unseen.push(Unseen {
            what: "functions, sleeps and system calls".to_owned(),
            why: format!("it ended within {BURSTS_AFTER:?}"),
        }),
    }
    seen
}

/// Runs the bursts within the look, since the command may end at any time; `None` where it ended
/// before them.
fn bursts_of(pid: u32) -> Option<Bursts> {
    let has_ended = || !targets::is_alive(pid) || sys::stop::heard().is_some();
    (!clock::wait_until(BURSTS_AFTER, has_ended)).then(|| Bursts::of(&[pid], BurstsAsk::All, false))
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
