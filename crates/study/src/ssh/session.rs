//! Runs commands on a host, each over a connection of its own.

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

/// Options of every connection, whatever the user's configuration says: host keys are checked and
/// none is learnt, nobody is asked for a password, a line that is cut is noticed, and nothing but
/// our command uses the connection.
const OPTIONS: [&str; 19] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "NoHostAuthenticationForLocalhost=no",
    // A known host may announce its other keys, which would be saved.
    "UpdateHostKeys=no",
    // Otherwise the key of a known name would be saved for its address too.
    "CheckHostIP=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    // A shared connection has the options of the process that opened it.
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    // `ClearAllForwardings` does not turn tunnels off.
    "Tunnel=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    // At this level `ssh` reports that a host does not answer.
    "LogLevel=INFO",
    "EscapeChar=none",
];
/// Most bytes that a command may print on its standard output; ours print two lines.
const MOST_SAID: usize = 4096;
/// Interval at which a wait checks whether it may end.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Exit status of `ssh` if it could not connect (ssh(1)); no command of ours ends with it.
const NOT_CONNECTED: i32 = 255;

/// A host that we reach by `ssh`.
pub(super) struct Far {
    pub(super) host: String,
    pub(super) prepare: Prepare,
    pub(super) is_stopped: fn() -> bool,
}

impl Far {
    /// Returns a command that runs a script of the POSIX shell on the host, whatever shell its user
    /// has.
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
    /// What it printed on its standard error, or that it took longer than `limit`.
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
        let said = output_of(&mut child, &words);
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

    /// Waits for the output of a command, and then for its end, because it may close its output
    /// long before.
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

    /// The error for a connection that could not be made or was lost, with what `ssh` reported.
    fn no_connection(&self, said: &Words) -> Refusal {
        let said = said.said();
        let words = match said.as_str() {
            "" => "ssh ended without a message",
            words => words,
        };
        Refusal(format!(
            "{}: no connection: {words}; {}",
            self.host,
            advice(&said)
        ))
    }

    /// The error for a command that failed, with what it reported, or else how it ended.
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
    format!("it ended with {status} and printed nothing")
}

/// Reads a command's standard output to its end in a thread, then waits for the end of its standard
/// error, which goes to `words`.
fn output_of(child: &mut Child, words: &Words) -> Receiver<io::Result<String>> {
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

/// Returns advice about a connection that could not be made.
fn advice(words: &str) -> &'static str {
    let says = |what: &str| words.contains(what);
    if says("ost key verification failed") || says("host key is known") {
        "connect once by hand with `ssh` and compare the key's fingerprint with the host's own"
    } else if says("ermission denied") {
        "`ssh -o BatchMode=yes HOST true` must work: with a key that needs no passphrase, or with \
         an agent that holds it"
    } else {
        "`ssh -o BatchMode=yes HOST true` must work"
    }
}
