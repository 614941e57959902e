//! The commands that run on a host, each over a connection of its own.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::Prepare;
use crate::refusal::Refusal;
use crate::transport::AgentError;
use crate::words::Words;

/// What holds for every connection, whatever the user's configuration says: host keys are checked
/// and none is learnt, nobody is asked for a password, a line that is cut is noticed, and nothing but
/// our command goes over it.
const OPTIONS: [&str; 19] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "NoHostAuthenticationForLocalhost=no",
    // A host that is known may tell its other keys, which would be written down.
    "UpdateHostKeys=no",
    // Nor is the key of a known name written down for its address.
    "CheckHostIP=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    // One that is shared has the options of whoever opened it.
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    // Which the option before this leaves as it is.
    "Tunnel=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    // It says when a host does not answer.
    "LogLevel=INFO",
    "EscapeChar=none",
];
/// The most that a command may say on its standard output, in bytes: ours say two lines.
const MOST_SAID: usize = 4096;
/// How often a wait looks whether what is waited for is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How `ssh` ends where it could not connect (ssh(1)); no command of ours ends so.
const NOT_CONNECTED: i32 = 255;

/// A host that is reached by `ssh`.
pub(super) struct Far {
    pub(super) host: String,
    pub(super) prepare: Prepare,
    pub(super) is_stopped: fn() -> bool,
}

impl Far {
    /// A script of the POSIX shell on the host, whatever shell its user has.
    pub(super) fn session(&self, script: &str) -> Command {
        let line = format!("exec sh -c {}", shell_words::quote(script));
        let mut command = Command::new("ssh");
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.args(["--", &self.host, &line]);
        command.stderr(Stdio::piped());
        (self.prepare)(&mut command);
        command
    }

    /// Runs a script of the POSIX shell to its end, with `input` as its standard input, and returns
    /// what it printed.
    ///
    /// # Errors
    /// What it said on its standard error, or that it took longer than `limit`.
    pub(super) fn run(
        &self,
        doing: &str,
        script: &str,
        input: Option<File>,
        limit: Duration,
    ) -> Result<String, Refusal> {
        let mut command = self.session(script);
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        command.stdout(Stdio::piped());
        let mut child = command.spawn().map_err(not_started)?;
        let words = Words::default();
        let said = said_by(&mut child, &words);
        let ended = self.wait(&mut child, &said, doing, limit);
        if ended.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        match ended? {
            (said, status) if status.success() => Ok(said),
            (_, status) if status.code() == Some(NOT_CONNECTED) => Err(self.no_connection(&words)),
            (_, status) => Err(self.failed(doing, &words, &without_a_word(status))),
        }
    }

    /// Waits for what a command says, and then for its end: it may close its output long before.
    fn wait(
        &self,
        child: &mut Child,
        said: &Receiver<io::Result<String>>,
        doing: &str,
        limit: Duration,
    ) -> Result<(String, ExitStatus), Refusal> {
        let mut left = limit.as_millis() / LOOK_INTERVAL.as_millis();
        let mut look = || -> Result<(), Refusal> {
            if (self.is_stopped)() {
                return Err(AgentError::Stopped.into());
            }
            left = left.checked_sub(1).ok_or_else(|| {
                Refusal(format!(
                    "{}: {doing} took longer than {} s; does the machine hang?",
                    self.host,
                    limit.as_secs()
                ))
            })?;
            Ok(())
        };
        let said = loop {
            look()?;
            if let Ok(said) = said.recv_timeout(LOOK_INTERVAL) {
                break said;
            }
        };
        let too_much = |error: io::Error| self.failed(doing, &Words::default(), &error.to_string());
        let said = said.map_err(too_much)?;
        loop {
            if let Some(status) = child.try_wait().map_err(not_started)? {
                return Ok((said, status));
            }
            look()?;
            std::thread::park_timeout(LOOK_INTERVAL);
        }
    }

    /// What `ssh` said of a connection that did not come about, or is no more.
    fn no_connection(&self, said: &Words) -> Refusal {
        let said = said.said();
        let words = match said.as_str() {
            "" => "ssh ended without a word",
            words => words,
        };
        Refusal(format!(
            "{}: no connection: {words}; {}",
            self.host,
            advice(&said)
        ))
    }

    /// What was said of something that failed, or else how it did.
    fn failed(&self, doing: &str, said: &Words, how: &str) -> Refusal {
        let said = said.said();
        let words = match said.as_str() {
            "" => how,
            words => words,
        };
        Refusal(format!("{}: {doing} failed: {words}", self.host))
    }
}

fn not_started(error: impl Display) -> Refusal {
    Refusal(format!(
        "`ssh` could not be started: {error}; install the OpenSSH client"
    ))
}

fn without_a_word(status: ExitStatus) -> String {
    format!("it ended with {status} and without a word")
}

/// What a command says on its standard output, and then keeps on its standard error, to their ends.
fn said_by(child: &mut Child, words: &Words) -> Receiver<io::Result<String>> {
    let output = child.stdout.take();
    let errors = child.stderr.take().map(|errors| words.listen_to(errors));
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let said = output.map_or(Ok(String::new()), |it| foreign::line::all(it, MOST_SAID));
        if let (Ok(_), Some(errors)) = (&said, errors) {
            let _ = errors.join();
        }
        sender.send(said)
    });
    receiver
}

/// What to do about a connection that did not come about.
fn advice(words: &str) -> &'static str {
    let told = |what: &str| words.contains(what);
    if told("ost key verification failed") || told("host key is known") {
        "connect once by hand with `ssh` and compare the key's fingerprint with the host's own"
    } else if told("ermission denied") {
        "`ssh -o BatchMode=yes HOST true` must work: with a key that needs no word typed, or with \
         an agent that holds it"
    } else {
        "`ssh -o BatchMode=yes HOST true` must work"
    }
}
