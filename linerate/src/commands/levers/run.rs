//! `linerate levers run`: becomes a program that has levers of its own.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use machine::levers::program::{self, Start};
use machine::levers::{AtStart, ProgramPart};
use model::lever::LeverSetting;
use sys::descent::Descent;

use super::find;
use crate::in_our_place::become_it;
use crate::ourselves::OURSELVES;

/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;
/// How long to wait until a control group is empty.
const PATIENCE: Duration = Duration::from_secs(3);

/// Start a program with levers of its own
///
/// They are set before the program takes our place, and end with it: nothing has to be undone. A
/// control group that was made for `cpu-weight` is removed when it is empty, and what
/// `cpu-dma-latency` holds for all CPUs, or `packet-programs` for a device, ends with the last
/// descriptor. Before the program starts, what the kernel shows is compared with what was asked
/// for. A lever that is refused is named with the errno or the reason, and the program is not
/// started.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  sudo linerate levers run scheduler=fifo:10 timer-slack=1us -- ./server
  linerate levers run nice=10 scheduler=batch -- make -j8
  A CPU share of its own for it and all that it starts:
    sudo linerate levers run cpu-weight=300 -- ./server
  No idle state that takes time to leave, on any CPU, for as long as it runs:
    sudo linerate levers run cpu-dma-latency=0s -- ./server
  An XDP program that lets each packet of a device pass, to see what that costs:
    sudo linerate levers run packet-programs=generic:eth0 -- ./server
  Which levers belong to programs, and what would one started from here have?
    linerate levers status | grep 'of a program'

The program takes our place: its exit code is ours, signals and the terminal are its own. Under root
the levers are set by root and the program then runs as the user `nobody`, like everything that
Linerate measures, without a controlling terminal; for another user, let the program switch to it.")]
pub(super) struct Arguments {
    /// Levers of programs, each with its value
    #[arg(required = true, value_name = "NAME=VALUE")]
    levers: Vec<LeverSetting>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Becomes the program; returns only when it could not be started.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (program, words) = arguments
        .command
        .split_first()
        .context("no program was given")?;
    let start = Start::prepare(parts(&arguments.levers)?)?;
    let descent = Descent::from_here().context("/proc/self/uid_map")?;
    if start.leaves_a_group() {
        start_sweeper()
            .context("starting the process that removes the control group afterwards")?;
    }
    start.take_on()?;
    let mut command = Command::new(program);
    command.args(words);
    sys::process::descend(&mut command, descent);
    let as_whom = match descent {
        Descent::Stay => "",
        Descent::ToNobody | Descent::ToOwn(_) | Descent::IntoNamespace => ", as the user `nobody`",
    };
    Err(become_it(&mut command)).with_context(|| format!("starting {}{as_whom}", program.display()))
}

fn parts(levers: &[LeverSetting]) -> anyhow::Result<Vec<ProgramPart>> {
    let mut names: Vec<&str> = levers.iter().map(|lever| lever.name.as_str()).collect();
    names.sort_unstable();
    let mut pairs = names.windows(2);
    if let Some([twice, _]) = pairs.find(|pair| pair[0] == pair[1]) {
        bail!("{twice} was given twice");
    }
    levers.iter().map(part).collect()
}

fn part(wanted: &LeverSetting) -> anyhow::Result<ProgramPart> {
    let lever = find(&wanted.name)?;
    match lever.at_start(wanted.value.as_deref()) {
        Some(Ok(AtStart::Program(part))) => Ok(part),
        Some(Ok(AtStart::Server(_))) => Err(anyhow!(
            "{} belongs to our own server alone: see `linerate help serve`",
            wanted.name
        )),
        Some(Err(obstacle)) => Err(obstacle.into()),
        None => Err(anyhow!(
            "{0} belongs to the {1}, not to a program: `linerate levers show {0}` says how it is set",
            wanted.name,
            lever.scope
        )),
    }
}

/// Starts a detached process that removes the control group afterwards. We become the program, so
/// we cannot clean up after it, and it must not find a child that it does not know.
fn start_sweeper() -> anyhow::Result<()> {
    let mut command = Command::new(OURSELVES);
    command
        .args(["levers", "sweep", &std::process::id().to_string()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::process::detach(&mut command);
    sys::process::disown(&mut command);
    command.spawn()?.wait()?;
    Ok(())
}

/// Waits for the end of a process that made a control group, and removes the group. It does not
/// wait long for processes left in the group: the group is removed when the next one is made.
pub(super) fn sweep(maker: u32) -> anyhow::Result<()> {
    match sys::pidfd::open_any(maker) {
        Ok(process) => sys::pidfd::wait(&process)?,
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => {}
        Err(error) => return Err(error.into()),
    }
    sys::clock::wait_until(PATIENCE, || program::sweep_after(maker).unwrap_or(false));
    Ok(())
}
