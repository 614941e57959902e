//! How a study reaches an agent: a child process that reads asks and writes tells, a line each.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use model::message::Failure;
use model::run::ClientHost;
use model::{Ask, Tell};

/// An agent that answers each ask.
pub trait Agent {
    /// Puts one ask and waits for its answer.
    ///
    /// # Errors
    /// When the line is broken, or the agent could not do it.
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError>;

    /// What the asks so far have told of the client's host, where it is another than the server's.
    fn client(&self) -> Option<&ClientHost> {
        None
    }
}

/// Why an ask has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the agent could not be started: {0}")]
    Start(io::Error),
    #[error("the line to the agent broke: {0}")]
    Line(io::Error),
    #[error("the agent went away; its servers and levers went with it")]
    Gone,
    #[error("the agent said what is no answer: {0}")]
    Garbled(String),
    #[error("stopped by a signal")]
    Stopped,
    #[error("{}", words(.0))]
    Refused(Failure),
    #[error("{host}: {source}")]
    At {
        host: String,
        source: Box<AgentError>,
    },
}

fn words(failure: &Failure) -> String {
    if failure.advice.is_empty() {
        failure.what.clone()
    } else {
        format!("{}; {}", failure.what, failure.advice)
    }
}

/// How often a wait for an answer looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// An agent at the other end of a process's standard streams: of our own program, or of one that
/// leads to it. Dropping it ends its input, at which it undoes everything and goes.
pub struct LineAgent {
    child: Child,
    asks: Option<ChildStdin>,
    tells: Receiver<io::Result<String>>,
    is_stopped: fn() -> bool,
}

impl LineAgent {
    /// Starts an agent by its command. An ask whose answer is still out when `is_stopped` turns
    /// true ends with [`AgentError::Stopped`].
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(command: &mut Command, is_stopped: fn() -> bool) -> Result<Self, AgentError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(AgentError::Start)?;
        let asks = child.stdin.take();
        let output = child.stdout.take().ok_or(AgentError::Gone)?;
        Ok(Self {
            child,
            asks,
            tells: lines(output),
            is_stopped,
        })
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> &Child {
        &self.child
    }

    /// The next line, unless the wait is to end.
    fn next_line(&self) -> Result<String, AgentError> {
        while !(self.is_stopped)() {
            match self.tells.recv_timeout(LOOK_INTERVAL) {
                Ok(line) => return line.map_err(AgentError::Line),
                Err(RecvTimeoutError::Disconnected) => return Err(AgentError::Gone),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Err(AgentError::Stopped)
    }
}

/// Reads lines in a thread of its own, so that waiting for one can end.
fn lines(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Agent for LineAgent {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        let mut line =
            serde_json::to_string(ask).map_err(|error| AgentError::Garbled(error.to_string()))?;
        line.push('\n');
        let asks = self.asks.as_mut().ok_or(AgentError::Gone)?;
        asks.write_all(line.as_bytes()).map_err(AgentError::Line)?;
        let answer = self.next_line()?;
        match serde_json::from_str(&answer) {
            Ok(Tell::Failed(failure)) => Err(AgentError::Refused(failure)),
            Ok(tell) => Ok(tell),
            Err(error) => Err(AgentError::Garbled(format!(
                "{error} in {}",
                answer.trim_end()
            ))),
        }
    }
}

impl Drop for LineAgent {
    fn drop(&mut self) {
        drop(self.asks.take());
        // Waiting is how we know that everything is undone before we go on.
        let _ = self.child.wait();
    }
}
