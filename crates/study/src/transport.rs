//! How a study reaches an agent: a process that reads asks and writes tells, a line each.

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
    #[error("the agent spoke before it was asked; both ends must be of one version")]
    Unasked,
    #[error(
        "what the agent is to be told takes {} MiB, and a line to it holds {}: give smaller bodies, of which a byte \
         takes up to four there",
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
    /// Whether the agent is well and said no.
    pub fn is_refusal(&self) -> bool {
        self.refusal().is_some()
    }

    /// What an agent that is well said no with.
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

/// The words of another host, of which no line can be taken for one of ours.
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

/// The most that is shown of what an agent says went wrong, in letters: the ends of some logs.
const SHOWN: usize = 20_000;
/// The most that is shown of what is no answer.
const SHOWN_GARBLED: usize = 80;
/// The most lines that wait to be looked at: an ask has one answer. Who says more waits.
const MOST_WAITING: usize = 1;
/// The largest number that an answer may have: as many ns are 36 years, and some of them can be added
/// up.
const LARGEST: f64 = (1_u64 << 60) as f64;
/// The longest text that an answer may have, in bytes, but for the output of a command.
const LONGEST: usize = 1 << 16;
/// The longest answer, in bytes, but for that of a command: three full histograms take a quarter of it.
/// What is read takes up to a hundred times as much memory as the line.
const LONGEST_ANSWER: usize = 1 << 19;
/// The most values that a list of an answer may have: more than a histogram has buckets.
const MOST_VALUES: usize = 1 << 12;
/// The most doubts of an answer: a run keeps those of each block.
const MOST_DOUBTS: usize = 64;
/// How often a wait for an answer looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// So many looks, at a tenth of that interval, are for last words.
const LAST_LOOKS: u32 = 100;
/// How often an agent across a network is told that the line holds.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After so long without a word the line has been cut, as such an agent must take it.
pub const SILENCE: Duration = Duration::from_secs(12);
/// How long an agent across a network may take to undo everything.
const UNDOING: Duration = Duration::from_secs(10);

/// An agent at the other end of a process's standard streams: of our own program, or of one that
/// leads to it. Dropping it ends its input, at which it undoes everything and goes.
pub struct LineAgent {
    child: Child,
    asks: Option<Arc<Sender<String>>>,
    tells: Receiver<io::Result<Vec<u8>>>,
    words: Words,
    /// Who listens to its standard error, until that ends.
    listener: Option<JoinHandle<()>>,
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
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(AgentError::Start)?;
        let errors = child.stderr.take();
        let words = Words::default();
        let listener = errors.map(|errors| words.listen_to(errors));
        let asks = child.stdin.take().map(|input| Arc::new(written(input)));
        let output = child.stdout.take();
        let output = output.ok_or_else(|| AgentError::Start(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            child,
            asks,
            tells: lines(output),
            words,
            listener,
            is_stopped,
            is_far: false,
        })
    }

    /// A line with a network between: the agent is told that it holds, and is not waited
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
    pub fn process(&self) -> &Child {
        &self.child
    }

    /// The next line, unless the wait is to end.
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

    /// One whose line is not read to its end because it said too much is gone by that.
    fn why_broken(&self) -> AgentError {
        match self.tells.recv_timeout(LOOK_INTERVAL) {
            Ok(Err(error)) => AgentError::Line(error),
            _ => self.gone(),
        }
    }

    /// With its last words, which may come a moment after its line has ended.
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

/// Writes lines in a thread of its own, so that an agent which does not read them is waited for as one that does not
/// answer. Where a line cannot be written, the input ends.
fn written(mut input: ChildStdin) -> Sender<String> {
    let (sender, lines) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        let _ = lines
            .iter()
            .try_for_each(|line| input.write_all(line.as_bytes()));
    });
    sender
}

/// Says an empty line again and again, for as long as there is somebody to say it to.
fn keep_alive(asks: &Weak<Sender<String>>) {
    // Nothing is ever sent: it is a wait.
    let (_open, tick) = mpsc::channel::<()>();
    loop {
        let _ = tick.recv_timeout(HEARTBEAT);
        let Some(asks) = asks.upgrade() else { return };
        if asks.send("\n".to_owned()).is_err() {
            return;
        }
    }
}

/// Reads lines in a thread of its own, so that waiting for one can end. The first that cannot be read
/// is the last.
fn lines(output: ChildStdout) -> Receiver<io::Result<Vec<u8>>> {
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

/// The answer in a line, if it is one to this ask and can be true.
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
            "another answer than one to what was asked: {}",
            begin(line)
        ))),
        Err(error) => Err(garbled(&error, line)),
    }
}

/// Refuses a line that holds what no answer has.
fn check_believable(line: &[u8]) -> Result<(), AgentError> {
    let no_answer = |what: String| AgentError::Garbled(format!("{what} in {}", begin(line)));
    if line.len() > LONGEST_ANSWER {
        return Err(no_answer(format!("{} bytes at once", line.len())));
    }
    let value = serde_json::from_slice(line).map_err(|error| garbled(&error, line))?;
    let what = absurd(&value);
    what.map_or(Ok(()), |what| Err(no_answer(what)))
}

/// What no answer has, as it is: a number that nothing which is measured can come to, a text that
/// nobody reads to its end, or a list without end.
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

/// What a line begins with.
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
        // What is done with a run goes by its rig, which is not for a far host to say.
        let another = match &tell {
            Tell::Hello { rig, .. } if self.is_far && *rig != Rig::Hosts => Some(rig.kind().name()),
            _ => None,
        };
        another.map_or(Ok(tell), |rig| {
            let what = format!("that it is on the rig `{rig}`, and it was reached over SSH");
            Err(AgentError::Garbled(what))
        })
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
                    // What it still says is heard, as it may wait for that, but not without end.
                    Ok(_) | Err(RecvTimeoutError::Timeout) => waited += LOOK_INTERVAL,
                }
            }
            let _ = self.child.kill();
        }
        // Waiting is how we know that everything is undone before we go on.
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
