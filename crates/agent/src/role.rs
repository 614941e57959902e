//! Processes of ours for the hosts of a rig or for other machines, each with one task. An order is
//! a line of JSON on standard input, and each message of the process a line of JSON on standard
//! output. A process that goes on running ends when its input does, and all end with the process
//! that started them. Unlike targets they set up their host, so they stay root over it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use foreign::{clipped, shown};
use machine::rig::Host;
use model::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::process::ChildSetup;
use sys::stop::StopSignal;

use crate::held_line::HeldLine;
use crate::link::{self, LinkOrder};
use crate::packets::{self, FramesOrder};
use crate::page::{self, PageFetching, PageServing};
use crate::stream::{self, StreamAsking, StreamEndServing};
use crate::unless_gone;

/// The argument with which this program is started to play a role.
pub const PLAY: &str = "role";
/// Time between two signs of life: well below the silence after which a line counts as ended.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// How many letters of a process's message are shown.
const SHOWN_LETTERS: usize = 500;

/// The task of such a process, with its order.
#[derive(Serialize, Deserialize)]
pub(crate) enum Role {
    /// Carries packets between two devices, or has the kernel carry them.
    Link(LinkOrder),
    /// Answers with pages of an exact size.
    PageServer(PageServing),
    /// Fetches such pages.
    PageClient(PageFetching),
    /// Accepts streams.
    StreamServer(StreamEndServing),
    /// Asks a server for streams.
    StreamClient(StreamAsking),
    /// Sends raw frames from this host to another.
    Frames(FramesOrder),
    /// Sends packets to a receiver on another machine, as often as it is ordered to.
    PacketSender,
    /// Receives packets at an address of this machine, as often as it is ordered to.
    PacketReceiver(IpAddr),
}

/// Reads the order for a role from the input, and plays it.
///
/// # Errors
/// When the line fails, but not where nobody listens any more. What cannot be done is reported on
/// the line, not returned.
pub fn play(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    unless_gone(play_one(&mut input, &mut output))
}

fn play_one(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    match heard(input)? {
        Role::Link(order) => link::carry(&order, input, output),
        Role::PageServer(order) => page::serve(&order, input, output),
        Role::PageClient(order) => page::fetch_all(&order, output),
        Role::StreamServer(order) => stream::serve(&order, input, output),
        Role::StreamClient(order) => stream::ask(&order, output),
        Role::Frames(order) => packets::exchange(&order, output),
        Role::PacketSender => packets::apart::send(input, output),
        Role::PacketReceiver(address) => packets::apart::receive(address, input, output),
    }
}

/// A message: a value, or in words why there is none.
pub(crate) type Said<T> = Result<T, String>;

/// Makes the command that starts a process on a host of a rig, or on this machine where `host` is
/// `None`; `program` is Linerate.
pub(crate) fn here(program: &Path, host: Option<&Host>) -> Result<Command, Failure> {
    let mut command = Command::new(program);
    command.arg(PLAY);
    let put = host.map_or(Ok(()), |host| host.put(&mut command));
    put.map_err(|error| {
        failure(
            (
                "a process on a host of the rig",
                "see `linerate rig status`",
            ),
            &error.to_string(),
        )
    })?;
    Ok(command)
}

/// Pins this process to CPUs; where none are named, the kernel decides.
pub(crate) fn pin(cpus: &[usize]) -> io::Result<()> {
    match cpus {
        [] => Ok(()),
        cpus => sys::cpu::pin(cpus),
    }
}

/// A process that plays a role, and the line to it. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct RoleProcess {
    /// Its name in failures, and the advice to give then.
    name: (&'static str, &'static str),
    child: Child,
    orders: Arc<Mutex<Option<ChildStdin>>>,
    tells: BufReader<HeldLine<ChildStdout>>,
}

impl RoleProcess {
    /// Starts a process by a command, made by [`here`], and orders a role.
    pub(crate) fn start(command: Command, role: &Role) -> Result<Self, Failure> {
        Self::start_held(command, role, Duration::MAX)
    }

    /// Starts a process that is given up after `silence` without a message.
    pub(crate) fn start_held(
        command: Command,
        role: &Role,
        silence: Duration,
    ) -> Result<Self, Failure> {
        let name = role.name();
        let started = Self::spawn(command, name, silence);
        let mut process = started.map_err(|error| failure(name, &error.to_string()))?;
        process.order(role)?;
        Ok(process)
    }

    /// Sends it an order.
    pub(crate) fn order(&mut self, order: &impl Serialize) -> Result<(), Failure> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let told = orders.as_mut().ok_or_else(gone);
        let told = told.and_then(|orders| say(orders, order));
        told.map_err(|error| failure(self.name, &error.to_string()))
    }

    fn spawn(
        mut command: Command,
        name: (&'static str, &'static str),
        silence: Duration,
    ) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of reach of the terminal's Ctrl-C: it ends when we say so.
            .process_group(0);
        sys::process::prepare_child(&mut command, ChildSetup::default());
        let mut child = command.spawn()?;
        let orders = Arc::new(Mutex::new(child.stdin.take()));
        let beating = Arc::downgrade(&orders);
        thread::Builder::new().spawn(move || keep_alive(&beating))?;
        let tells = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            name,
            child,
            orders,
            tells: BufReader::new(HeldLine::new(tells, silence)?.past_stops()),
        })
    }

    /// Waits for its next message.
    pub(crate) fn said<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let said: io::Result<Said<T>> = heard(&mut self.tells);
        let said = said.unwrap_or_else(|error| Err(silence(&error)));
        said.map_err(|why| failure(self.name, &why))
    }

    /// Waits for its next message. When we are asked to stop, ends its input, so that it finishes
    /// and reports what it has.
    pub(crate) fn said_or_stopped<T: DeserializeOwned>(
        &mut self,
        stop: &StopSignal,
    ) -> Result<T, Failure> {
        if self.tells.buffer().is_empty() {
            let waited = self.tells.get_ref().wait_or_stop(stop);
            waited.map_err(|error| failure(self.name, &silence(&error)))?;
        }
        if sys::stop::heard().is_some() {
            self.dismiss();
        }
        self.said()
    }

    /// Ends its input, which tells it to finish.
    pub(crate) fn dismiss(&mut self) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        drop(orders.take());
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Role {
    /// The name of a process in failures, and the advice to give then.
    fn name(&self) -> (&'static str, &'static str) {
        match self {
            Self::Link(order) if order.plan.via.is_ours() => (
                "the link",
                "it needs packet sockets (CONFIG_PACKET) and 8 MB for each of its two rings",
            ),
            Self::Link(_) => (
                "the link",
                "`userspace` instead carries the same without the kernel",
            ),
            Self::PageServer(_) => ("the server of pages", "check what the kernel allows there"),
            Self::StreamServer(_) => (
                "the server of streams",
                "check what the kernel allows there",
            ),
            Self::StreamClient(_) => ("the client of streams", "see `linerate stream --help`"),
            Self::Frames(_) => ("raw frames", "see `linerate packets --help`"),
            Self::PacketSender => ("the sender of packets", "see `linerate packets --help`"),
            Self::PacketReceiver(_) => ("the receiver of packets", "see `linerate packets --help`"),
            Self::PageClient(_) => (
                "the client",
                "check whether the link loses packets that it should not",
            ),
        }
    }
}

/// The failure of a process. The words may come from another machine, so they are clipped and
/// escaped.
fn failure((who, advice): (&str, &str), what: &str) -> Failure {
    let what = what.replace('\n', " ");
    let what = clipped(&what, SHOWN_LETTERS);
    Failure {
        what: format!("{who}: {}", shown(&what)),
        advice: advice.to_owned(),
    }
}

/// Sends signs of life until the line has ended: to a process on another machine, silence is the
/// end of the line.
fn keep_alive(orders: &Weak<Mutex<Option<ChildStdin>>>) {
    loop {
        thread::park_timeout(KEEP_ALIVE);
        let Some(orders) = orders.upgrade() else {
            return;
        };
        let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
        let said = orders.as_mut().map(|orders| orders.write_all(b"\n"));
        if !matches!(said, Some(Ok(()))) {
            return;
        }
    }
}

/// Writes one line.
pub(crate) fn say(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads one line; `UnexpectedEof` at the end of the input, `InvalidData` for what is no `T`.
pub(crate) fn heard<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let line = foreign::line::next(input, || false)?;
    let line = line.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_slice(&line)?)
}

/// Reads the next message; `None` at the end of the input.
pub(crate) fn next<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    match heard(input) {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why nothing was heard from a process.
fn silence(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "its process has ended, or the line to it has".to_owned()
    } else {
        format!("what it says is not understood: {error}")
    }
}

/// Waits for the end of the input.
pub(crate) fn dismissed(input: &mut impl BufRead) -> io::Result<()> {
    io::copy(input, &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_told_from_one_that_says_what_is_not_understood() {
        let why = |mut said: &[u8]| silence(&heard::<Said<u32>>(&mut said).unwrap_err());
        // Also in the middle of a line.
        for said in [&b""[..], b"{\"Ok\":"] {
            assert_eq!(why(said), "its process has ended, or the line to it has");
        }
        for said in [&b"{\"Ok\":true}\n"[..], b"Segmentation fault\n"] {
            assert!(why(said).contains("not understood"), "{}", why(said));
        }
    }
}
