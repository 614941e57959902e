//! Processes of ours for the hosts of a rig, each with one thing to do. The order for it is a JSON
//! line on standard input, what it says a JSON line each on standard output. One that goes on ends
//! when its input does, and all with whoever started them. Unlike targets they set up their host,
//! so they stay root over it.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;

use model::failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sys::process::ChildSetup;

/// The word with which this program is started to play a role; its name follows.
const PLAY: &str = "role";

/// What such a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Carries packets between two devices.
    Link,
    /// Carries packets between two TUN devices that it makes.
    TunLink,
    /// Has the kernel carry them.
    KernelLink,
    /// Answers with pages of an exact size.
    PageServer,
    /// Fetches them.
    PageClient,
}

impl Role {
    const ALL: [Self; 5] = [
        Self::Link,
        Self::TunLink,
        Self::KernelLink,
        Self::PageServer,
        Self::PageClient,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::TunLink => "tun-link",
            Self::KernelLink => "kernel-link",
            Self::PageServer => "page-server",
            Self::PageClient => "page-client",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|role| role.name() == text);
        found.ok_or_else(|| format!("there is no role `{text}`"))
    }
}

/// What is said: a value, or in words why there is none.
pub(crate) type Said<T> = Result<T, String>;

/// The other end of the line. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct RoleProcess {
    role: Role,
    child: Child,
    orders: Option<ChildStdin>,
    tells: BufReader<ChildStdout>,
}

impl RoleProcess {
    /// Starts a role with its order, where `put` has it start; `program` is Linerate.
    pub(crate) fn start(
        program: &Path,
        put: impl FnOnce(&mut Command) -> io::Result<()>,
        role: Role,
        order: &impl Serialize,
    ) -> Result<Self, Failure> {
        let started = Self::spawn(program, put, role).and_then(|mut process| {
            let orders = process.orders.as_mut();
            say(orders.ok_or(io::ErrorKind::BrokenPipe)?, order)?;
            Ok(process)
        });
        started.map_err(|error| role.failure(&error.to_string()))
    }

    fn spawn(
        program: &Path,
        put: impl FnOnce(&mut Command) -> io::Result<()>,
        role: Role,
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args([PLAY, role.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of reach of the terminal's Ctrl-C: it ends when we say so.
            .process_group(0);
        put(&mut command)?;
        sys::process::prepare_child(&mut command, ChildSetup::default());
        let mut child = command.spawn()?;
        let orders = child.stdin.take();
        let tells = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            role,
            child,
            orders,
            tells: BufReader::new(tells),
        })
    }

    /// The next thing it says.
    pub(crate) fn said<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let said: io::Result<Said<T>> = heard(&mut self.tells);
        let said = said.unwrap_or_else(|error| Err(silence(&error)));
        said.map_err(|why| self.role.failure(&why))
    }

    /// Ends its input, by which it knows that it is over.
    pub(crate) fn dismiss(&mut self) {
        drop(self.orders.take());
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Role {
    fn failure(self, what: &str) -> Failure {
        let (who, advice) = match self {
            Self::Link => (
                "the link",
                "it needs packet sockets (CONFIG_PACKET) and 8 MB for each of its two rings",
            ),
            Self::TunLink => (
                "the link",
                "`userspace` in its place carries the same without TUN devices",
            ),
            Self::KernelLink => (
                "the link",
                "`userspace` in its place carries the same without the kernel",
            ),
            Self::PageServer => ("the server of pages", "see what the kernel allows there"),
            Self::PageClient => (
                "the client",
                "see whether the link loses what it should not",
            ),
        };
        Failure {
            what: format!("{who}: {what}"),
            advice: advice.to_owned(),
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

/// Why nothing was heard from a process.
fn silence(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "its process has ended".to_owned()
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
            assert_eq!(why(said), "its process has ended");
        }
        for said in [&b"{\"Ok\":true}\n"[..], b"Segmentation fault\n"] {
            assert!(why(said).contains("not understood"), "{}", why(said));
        }
    }
}
