//! How a study reaches an agent: a process that reads asks and writes tells, one per line.

use std::io::{self, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use model::failure::Failure;
use model::run::{ClientHost, Rig};
use model::{Ask, Saved as _, Tell};
use serde_json::Value;

use crate::patience;
use crate::words::Words;

/// An agent that answers each ask.
pub trait Agent: Send {
    /// Sends one ask and waits for its answer.
    ///
    /// # Errors
    /// If the line is broken, or the agent could not do what it was asked.
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError>;

    /// What the asks so far revealed about the client's host, if that is not the server's host.
    fn client(&self) -> Option<&ClientHost> {
        None
    }
}

/// Why an ask has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the agent could not be started: {0}")]
    Start(io::Error),
    #[error("the line to the agent broke: {0}")]
    Line(io::Error),
    #[error("the agent went away; its servers and levers went with it{}", after(.words))]
    Gone {
        /// Last words of the agent; may be empty.
        words: String,
    },
    #[error("the agent did not answer within {limit_s} s; does the machine hang?")]
    Silent { limit_s: u64 },
    #[error("the agent sent what is no answer: {0}")]
    Garbled(String),
    #[error("the agent spoke before it was asked; both ends must be of one version")]
    Unasked,
    #[error(
        "the request to the agent takes {} MiB, and a line to it holds {} MiB: give smaller bodies, \
         of which a byte takes up to four there",
        bytes >> 20,
        foreign::line::MOST_BYTES >> 20
    )]
    TooLong { bytes: usize },
    #[error("stopped by a signal")]
    Stopped,
    #[error("{}", words(.0))]
    Refused(Failure),
    #[error("{host}: {}", set_in(.why))]
    At { host: String, why: Box<AgentError> },
}

impl AgentError {
    /// Whether the agent works and refused the ask.
    pub fn is_refusal(&self) -> bool {
        self.refusal().is_some()
    }

    /// Returns the reason of an agent that works and refused the ask.
    pub fn refusal(&self) -> Option<&Failure> {
        match self {
            Self::Refused(failure) => Some(failure),
            Self::At { why, .. } => why.refusal(),
            _ => None,
        }
    }
}

fn words(failure: &Failure) -> String {
    let what = foreign::clipped(&failure.what, SHOWN);
    if failure.advice.is_empty() {
        return what.into_owned();
    }
    format!("{what}; {}", foreign::clipped(&failure.advice, SHOWN))
}

/// Indents the words of another host, so that none of their lines passes for one of ours.
fn set_in(why: &AgentError) -> String {
    why.to_string().replace('\n', "\n  | ")
}

fn after(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}

/// Most characters that are shown of an agent's error: enough for the ends of some logs.
const SHOWN: usize = 20_000;
/// Most characters that are shown of something that is no answer.
const SHOWN_GARBLED: usize = 80;
/// Most lines that wait to be read, because an ask has one answer. An agent that sends more must
/// wait.
const MOST_WAITING: usize = 1;
/// Largest number that an answer may have. In ns it is 36 years, and some such numbers can be added
/// up without overflow.
const LARGEST: f64 = (1_u64 << 60) as f64;
/// Longest text that an answer may have, bytes, except for the output of a command.
const LONGEST: usize = 1 << 16;
/// Longest answer, bytes, except for that of a command: three full histograms take a quarter of it.
/// The parsed answer takes up to a hundred times as much memory as the line.
const LONGEST_ANSWER: usize = 1 << 19;
/// Most values that a list in an answer may have: more than a histogram has buckets.
const MOST_VALUES: usize = 1 << 12;
/// Most doubts of an answer, because a run saves those of every block.
const MOST_DOUBTS: usize = 64;
/// Interval at which a wait for an answer checks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Number of checks for last words, at a tenth of that interval.
const LAST_LOOKS: u32 = 100;
/// Interval at which an agent across a network is sent a sign that the line holds.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence after which an agent across a network must assume that the line was cut.
pub const SILENCE: Duration = Duration::from_secs(12);
/// Longest time for an agent across a network to undo everything.
const UNDOING: Duration = Duration::from_secs(10);

/// An agent at the other end of a process's standard streams; the process is our own program, or
/// one that leads to it. Dropping it ends the agent's input, at which the agent undoes everything
/// and exits.
pub struct LineAgent {
    child: Child,
    asks: Option<Arc<Sender<String>>>,
    tells: Receiver<io::Result<Vec<u8>>>,
    words: Words,
    /// The thread that reads its standard error, until that ends.
    listener: Option<JoinHandle<()>>,
    is_stopped: fn() -> bool,
    /// Whether there is a network in between, on which a line can be cut without our noticing.
    is_far: bool,
}

impl LineAgent {
    /// Starts an agent by its command. If `is_stopped` turns true while an answer is awaited, the
    /// ask ends with [`AgentError::Stopped`]. If the command pipes its standard error, what is said
    /// there is kept for the error about a broken line.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(command: &mut Command, is_stopped: fn() -> bool) -> Result<Self, AgentError> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(AgentError::Start)?;
        let errors = child.stderr.take();
        let words = Words::default();
        let listener = errors.map(|errors| words.listen_to(errors));
        let asks = child.stdin.take().map(|input| Arc::new(writer(input)));
        let output = child.stdout.take();
        let output = output.ok_or_else(|| AgentError::Start(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            child,
            asks,
            tells: reader(output),
            words,
            listener,
            is_stopped,
            is_far: false,
        })
    }

    /// Adapts to a line across a network: the agent regularly gets a sign that the line holds, and
    /// we do not wait for its answers without limit.
    #[must_use]
    pub fn across_a_network(mut self) -> Self {
        self.is_far = true;
        if let Some(asks) = &self.asks {
            let asks = Arc::downgrade(asks);
            std::thread::spawn(move || keep_alive(&asks));
        }
        self
    }

    /// Returns the agent's process.
    pub fn process(&self) -> &Child {
        &self.child
    }

    /// Returns the next line, unless the wait ends first.
    fn next_line(&self, limit: Duration) -> Result<Vec<u8>, AgentError> {
        let mut waited = Duration::ZERO;
        while !(self.is_stopped)() {
            match self.tells.recv_timeout(LOOK_INTERVAL) {
                Ok(line) => return line.map_err(AgentError::Line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
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
        let asks = self.asks.as_ref().ok_or_else(|| self.gone())?;
        asks.send(line).map_err(|_| self.why_broken())
    }

    /// Returns why the line is broken. If an answer was too long to be read, that is the reason.
    fn why_broken(&self) -> AgentError {
        match self.tells.recv_timeout(LOOK_INTERVAL) {
            Ok(Err(error)) => AgentError::Line(error),
            _ => self.gone(),
        }
    }

    /// Returns the error with the agent's last words, which may come a moment after its line has
    /// ended.
    fn gone(&self) -> AgentError {
        let is_heard = || self.listener.as_ref().is_none_or(JoinHandle::is_finished);
        for _ in 0..LAST_LOOKS {
            if is_heard() {
                break;
            }
            std::thread::park_timeout(LOOK_INTERVAL / 10);
        }
        AgentError::Gone {
            words: self.words.said(),
        }
    }
}

/// Writes lines in a thread of its own, so that an agent that does not read them only counts as one
/// that does not answer. If a line cannot be written, the input ends.
fn writer(mut input: ChildStdin) -> Sender<String> {
    let (sender, lines) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        let _ = lines
            .iter()
            .try_for_each(|line| input.write_all(line.as_bytes()));
    });
    sender
}

/// Sends an empty line at intervals, for as long as the agent's input is open.
fn keep_alive(asks: &Weak<Sender<String>>) {
    // Nothing is ever sent: this is only a wait.
    let (_open, tick) = mpsc::channel::<()>();
    loop {
        let _ = tick.recv_timeout(HEARTBEAT);
        let Some(asks) = asks.upgrade() else { return };
        if asks.send("\n".to_owned()).is_err() {
            return;
        }
    }
}

/// Reads lines in a thread of its own, so that waiting for one can be ended. It stops at the first
/// that cannot be read.
fn reader(output: ChildStdout) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(MOST_WAITING);
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Some(line) = foreign::line::next(&mut output, || false).transpose() {
            let was_last = line.is_err();
            if sender.send(line).is_err() || was_last {
                return;
            }
        }
    });
    receiver
}

/// Returns the answer in a line, if it answers this ask and is plausible.
fn answer_in(line: &[u8], ask: &Ask) -> Result<Tell, AgentError> {
    if !matches!(ask, Ask::Run(_)) {
        check_believable(line)?;
    }
    match Tell::from_json(line) {
        Ok(Tell::Failed(failure)) => Err(AgentError::Refused(failure)),
        Ok(tell) if tell.doubts().len() > MOST_DOUBTS => Err(AgentError::Garbled(format!(
            "{} doubts at once",
            tell.doubts().len()
        ))),
        Ok(tell) if ask.is_answered_by(&tell) => Ok(tell),
        Ok(_) => Err(AgentError::Garbled(format!(
            "another answer than the one asked for: {}",
            begin(line)
        ))),
        Err(error) => Err(garbled(&error, line)),
    }
}

/// Refuses a line with content that no answer has.
fn check_believable(line: &[u8]) -> Result<(), AgentError> {
    let no_answer = |what: String| AgentError::Garbled(format!("{what} in {}", begin(line)));
    if line.len() > LONGEST_ANSWER {
        return Err(no_answer(format!("{} bytes at once", line.len())));
    }
    let value = serde_json::from_slice(line).map_err(|error| garbled(&error, line))?;
    let what = absurd(&value);
    what.map_or(Ok(()), |what| Err(no_answer(what)))
}

/// Describes content that no answer has: a number that no measurement can reach, a text that is too
/// long to be read, or an endless list.
fn absurd(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let fits = number
                .as_f64()
                .is_some_and(|number| number.abs() <= LARGEST);
            (!fits).then(|| format!("the number {number}"))
        }
        Value::String(text) => {
            (text.len() > LONGEST).then(|| format!("a text of {} bytes", text.len()))
        }
        Value::Array(values) if values.len() > MOST_VALUES => {
            Some(format!("a list of {} values", values.len()))
        }
        Value::Array(values) => values.iter().find_map(absurd),
        Value::Object(fields) => fields.values().find_map(absurd),
        Value::Null | Value::Bool(_) => None,
    }
}

fn garbled(error: &serde_json::Error, line: &[u8]) -> AgentError {
    let why = error.to_string();
    let why = foreign::clipped(&why, SHOWN_GARBLED);
    AgentError::Garbled(format!("{why} in {}", begin(line)))
}

/// Returns the beginning of a line.
fn begin(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN_GARBLED)]);
    format!("`{}`", foreign::clipped(text.trim(), SHOWN_GARBLED))
}

impl Agent for LineAgent {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        let line =
            serde_json::to_string(ask).map_err(|error| AgentError::Garbled(error.to_string()))?;
        if line.len() > foreign::line::MOST_BYTES {
            return Err(AgentError::TooLong { bytes: line.len() });
        }
        if let Ok(line) = self.tells.try_recv() {
            return Err(line.map_or_else(AgentError::Line, |_| AgentError::Unasked));
        }
        self.send(line)?;
        let tell = answer_in(&self.next_line(patience::limit_of(ask))?, ask)?;
        // Later steps rely on the rig of the run, so a far host may not choose it.
        let another = match &tell {
            Tell::Hello { rig, .. } if self.is_far && *rig != Rig::Hosts => Some(rig.kind().name()),
            _ => None,
        };
        another.map_or(Ok(tell), |rig| {
            let what =
                format!("it says that it is on the rig `{rig}`, but it was reached over SSH");
            Err(AgentError::Garbled(what))
        })
    }
}

impl Drop for LineAgent {
    fn drop(&mut self) {
        drop(self.asks.take());
        if self.is_far {
            // An agent that no longer answers is abandoned: it undoes everything by itself once it
            // notices that the line was cut.
            let mut waited = Duration::ZERO;
            while waited < UNDOING {
                match self.tells.recv_timeout(LOOK_INTERVAL) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    // Its output is still read, as it may wait for that, but not without limit.
                    Ok(_) | Err(RecvTimeoutError::Timeout) => waited += LOOK_INTERVAL,
                }
            }
            let _ = self.child.kill();
        }
        // We wait, so that everything is undone before we continue.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use model::lever::LeverSetting;

    use super::*;

    #[test]
    fn an_agent_that_does_not_read_what_it_is_asked_keeps_nobody_from_stopping() {
        let mut agent = LineAgent::start(Command::new("sleep").arg("1"), || true).unwrap();
        // More than a pipe holds.
        let wanted = LeverSetting {
            name: "x".repeat(1 << 20),
            value: None,
        };
        let told = agent.ask(&Ask::Boot { wanted });
        assert!(matches!(told, Err(AgentError::Stopped)), "{told:?}");
    }
}
