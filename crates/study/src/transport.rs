//! How a study reaches an agent: a process that reads asks and writes tells, a line each.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use model::message::Failure;
use model::run::ClientHost;
use model::study::Program;
use model::{Ask, Tell};

use crate::words::Words;

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
    #[error("the agent went away; its servers and levers went with it{}", after(.words))]
    Gone {
        /// What was said on its way out; may be empty.
        words: String,
    },
    #[error("the agent did not answer within {limit_s} s; does the machine hang?")]
    Silent { limit_s: u64 },
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

impl AgentError {
    /// Whether the agent is well and said no.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::At { source, .. } => source.is_refusal(),
            _ => false,
        }
    }
}

fn words(failure: &Failure) -> String {
    if failure.advice.is_empty() {
        failure.what.clone()
    } else {
        format!("{}; {}", failure.what, failure.advice)
    }
}

fn after(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}

/// How often a wait for an answer looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How often an agent across a network is told that the line holds.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After so long without a word the line has been cut, as such an agent must take it.
pub const SILENCE: Duration = Duration::from_secs(12);
/// How long an answer from across a network may take beyond what was asked for.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a service may take to come up: the most that its file can grant, and connecting.
const STARTING: Duration = Duration::from_secs(630);
/// How long an agent across a network may take to undo everything.
const UNDOING: Duration = Duration::from_secs(10);

/// An agent at the other end of a process's standard streams: of our own program, or of one that
/// leads to it. Dropping it ends its input, at which it undoes everything and goes.
pub struct LineAgent {
    child: Child,
    asks: Option<Arc<Mutex<ChildStdin>>>,
    tells: Receiver<io::Result<String>>,
    words: Words,
    is_stopped: fn() -> bool,
    /// Whether a network lies between, on which a line can be cut without an end.
    is_far: bool,
}

impl LineAgent {
    /// Starts an agent by its command. An ask whose answer is still out when `is_stopped` turns
    /// true ends with [`AgentError::Stopped`]. What is said on a standard error that the command
    /// pipes is kept for the error of a line that broke.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(command: &mut Command, is_stopped: fn() -> bool) -> Result<Self, AgentError> {
        Self::start_beside(command, is_stopped, Words::default())
    }

    /// The same beside somebody else whose words may tell why the line broke.
    pub(crate) fn start_beside(
        command: &mut Command,
        is_stopped: fn() -> bool,
        words: Words,
    ) -> Result<Self, AgentError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(AgentError::Start)?;
        if let Some(errors) = child.stderr.take() {
            words.listen_to(errors);
        }
        let asks = child.stdin.take().map(|asks| Arc::new(Mutex::new(asks)));
        let output = child.stdout.take().ok_or_else(|| gone(&words))?;
        Ok(Self {
            child,
            asks,
            tells: lines(output),
            words,
            is_stopped,
            is_far: false,
        })
    }

    /// The same with a network between: the agent is told that the line holds, and is not waited
    /// for without end.
    #[must_use]
    pub fn across_a_network(mut self) -> Self {
        self.is_far = true;
        if let Some(asks) = &self.asks {
            let asks = Arc::downgrade(asks);
            std::thread::spawn(move || keep_alive(&asks));
        }
        self
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> &Child {
        &self.child
    }

    /// The next line, unless the wait is to end.
    fn next_line(&self, limit: Duration) -> Result<String, AgentError> {
        let mut waited = Duration::ZERO;
        while !(self.is_stopped)() {
            match self.tells.recv_timeout(LOOK_INTERVAL) {
                Ok(line) => return line.map_err(AgentError::Line),
                Err(RecvTimeoutError::Disconnected) => return Err(gone(&self.words)),
                Err(RecvTimeoutError::Timeout) => waited += LOOK_INTERVAL,
            }
            if self.is_far && waited >= limit {
                let limit_s = limit.as_secs();
                return Err(AgentError::Silent { limit_s });
            }
        }
        Err(AgentError::Stopped)
    }

    fn send(&self, mut line: String) -> Result<(), AgentError> {
        line.push('\n');
        let asks = self.asks.as_ref().ok_or_else(|| gone(&self.words))?;
        let sent = locked(asks).write_all(line.as_bytes());
        sent.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => gone(&self.words),
            _ => AgentError::Line(error),
        })
    }
}

fn gone(words: &Words) -> AgentError {
    AgentError::Gone {
        words: words.said(),
    }
}

fn locked(asks: &Mutex<ChildStdin>) -> std::sync::MutexGuard<'_, ChildStdin> {
    asks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says an empty line again and again, for as long as there is somebody to say it to.
fn keep_alive(asks: &Weak<Mutex<ChildStdin>>) {
    // Nothing is ever sent: it is a wait.
    let (_open, tick) = mpsc::channel::<()>();
    loop {
        let _ = tick.recv_timeout(HEARTBEAT);
        let Some(asks) = asks.upgrade() else { return };
        if locked(&asks).write_all(b"\n").is_err() {
            return;
        }
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

/// How long the answer to an ask may take across a network.
fn limit_of(ask: &Ask) -> Duration {
    let asked = |ms: u32| Duration::from_millis(ms.into());
    PATIENCE
        + match ask {
            Ask::Block(block) | Ask::Load(block) => asked(block.settle_ms) + asked(block.score_ms),
            Ask::Watch { watch_ms } => asked(*watch_ms),
            Ask::Start {
                program: Program::Service(_),
                ..
            } => STARTING,
            _ => Duration::ZERO,
        }
}

impl Agent for LineAgent {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        let line =
            serde_json::to_string(ask).map_err(|error| AgentError::Garbled(error.to_string()))?;
        self.send(line)?;
        let answer = self.next_line(limit_of(ask))?;
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
        if self.is_far {
            // One that does not answer any more is let go: it undoes by itself once it finds that
            // the line was cut.
            let mut waited = Duration::ZERO;
            while waited < UNDOING {
                match self.tells.recv_timeout(LOOK_INTERVAL) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => waited += LOOK_INTERVAL,
                    Ok(_) => {}
                }
            }
            let _ = self.child.kill();
        }
        // Waiting is how we know that everything is undone before we go on.
        let _ = self.child.wait();
    }
}
