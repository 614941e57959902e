//! Processes of ours for the hosts of a rig or for other machines, each with one thing to do. The order for it is a JSON
//! line on standard input, what it says a JSON line each on standard output. One that goes on ends
//! when its input does, and all with whoever started them. Unlike targets they set up their host,
//! so they stay root over it.

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

/// The word with which this program is started to play a role.
pub const PLAY: &str = "role";
/// Well below the silence after which a line has ended.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// What is shown of the words of a process.
const SHOWN_LETTERS: usize = 500;

/// What such a process does, and with what.
#[derive(Serialize, Deserialize)]
pub(crate) enum Role {
    /// Carries packets between two devices, or has the kernel carry them.
    Link(LinkOrder),
    /// Answers with pages of an exact size.
    PageServer(PageServing),
    /// Fetches them.
    PageClient(PageFetching),
    /// Takes streams.
    StreamServer(StreamEndServing),
    /// Asks for them.
    StreamClient(StreamAsking),
    /// Sends raw frames from this host to another.
    Frames(FramesOrder),
    /// Sends packets to such a receiver elsewhere, as often as it is told.
    PacketSender,
    /// Receives packets at an address of this machine, as often as it is told.
    PacketReceiver(IpAddr),
}

/// Plays the role that is ordered on this end of the line.
///
/// # Errors
/// When the line breaks, but not where nobody listens any more. What cannot be done is told, not returned.
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

/// What is said: a value, or in words why there is none.
pub(crate) type Said<T> = Result<T, String>;

/// What starts a process on a host of a rig, or on this machine where there is none; `program` is Linerate.
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

/// Keeps this process on CPUs; where none are named it goes where the kernel lets it.
pub(crate) fn pin(cpus: &[usize]) -> io::Result<()> {
    match cpus {
        [] => Ok(()),
        cpus => sys::cpu::pin(cpus),
    }
}

/// The other end of the line. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct RoleProcess {
    /// What it is called where it fails, and what to do then.
    name: (&'static str, &'static str),
    child: Child,
    orders: Arc<Mutex<Option<ChildStdin>>>,
    tells: BufReader<HeldLine<ChildStdout>>,
}

impl RoleProcess {
    /// Has a role played by what a command starts, which is [`here`].
    pub(crate) fn start(command: Command, role: &Role) -> Result<Self, Failure> {
        Self::start_held(command, role, Duration::MAX)
    }

    /// One that is given up after so long without a word.
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

    /// Tells it the next thing to do.
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

    /// The next thing it says.
    pub(crate) fn said<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let said: io::Result<Said<T>> = heard(&mut self.tells);
        let said = said.unwrap_or_else(|error| Err(silence(&error)));
        said.map_err(|why| failure(self.name, &why))
    }

    /// The same. Once we are asked to stop its input ends, by which it comes to its end and says what there is.
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

    /// Ends its input, by which it knows that it is over.
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
    /// What a process is called where it fails, and what to do then.
    fn name(&self) -> (&'static str, &'static str) {
        match self {
            Self::Link(order) if order.plan.via.is_ours() => (
                "the link",
                "it needs packet sockets (CONFIG_PACKET) and 8 MB for each of its two rings",
            ),
            Self::Link(_) => (
                "the link",
                "`userspace` in its place carries the same without the kernel",
            ),
            Self::PageServer(_) => ("the server of pages", "see what the kernel allows there"),
            Self::StreamServer(_) => ("the server of streams", "see what the kernel allows there"),
            Self::StreamClient(_) => ("the client of streams", "see `linerate stream --help`"),
            Self::Frames(_) => ("raw frames", "see `linerate packets --help`"),
            Self::PacketSender => ("the sender of packets", "see `linerate packets --help`"),
            Self::PacketReceiver(_) => ("the receiver of packets", "see `linerate packets --help`"),
            Self::PageClient(_) => (
                "the client",
                "see whether the link loses what it should not",
            ),
        }
    }
}

/// The words may be another machine's.
fn failure((who, advice): (&str, &str), what: &str) -> Failure {
    let what = what.replace('\n', " ");
    let what = clipped(&what, SHOWN_LETTERS);
    Failure {
        what: format!("{who}: {}", shown(&what)),
        advice: advice.to_owned(),
    }
}

/// Says every now and then that the line holds, until it does not: on another machine its silence is its end.
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

/// The next line; `None` when there will be none.
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
        "its process has ended, or the line to it".to_owned()
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
            assert_eq!(why(said), "its process has ended, or the line to it");
        }
        for said in [&b"{\"Ok\":true}\n"[..], b"Segmentation fault\n"] {
            assert!(why(said).contains("not understood"), "{}", why(said));
        }
    }
}
