//! Our own servers as child processes: started with their levers, awaited, stopped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use model::message::Failure;
use sys::process::ChildSetup;

/// How long a server may take to drain before it is killed.
const DRAIN: Duration = Duration::from_millis(500);
/// The same of one that is to say something at the end, which drains for 5 s at most.
const LAST_WORDS: Duration = Duration::from_secs(7);

/// A server of ours. Dropping it stops it.
pub(crate) struct ServerProcess {
    child: Child,
    output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    /// Starts a command and waits for the line in which it says where it listens.
    pub(crate) fn start(mut command: Command, setup: ChildSetup) -> Result<Self, Failure> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        sys::process::prepare_child(&mut command, setup);
        let mut child = command.spawn().map_err(|error| Failure {
            what: format!(
                "{} could not be started: {error}",
                command.get_program().display()
            ),
            advice: "a target never runs as root: under root it is the user `nobody`, who must \
                     be allowed to execute the program"
                .to_owned(),
        })?;
        let ready = child.stdout.take().and_then(|output| {
            let (mut output, mut line) = (BufReader::new(output), String::new());
            output.read_line(&mut line).ok()?;
            Some((listening(&line)?, output))
        });
        match ready {
            Some((address, output)) => Ok(Self {
                child,
                output,
                address,
            }),
            None => Err(last_words(child)),
        }
    }

    /// Ends it; what it has said on its standard output since it came up.
    pub(crate) fn end(mut self) -> String {
        self.stop(LAST_WORDS);
        let mut said = String::new();
        let _ = self.output.read_to_string(&mut said);
        said
    }

    fn stop(&mut self, patience: Duration) {
        // Of one that was waited for the number may be another's by now.
        if self.has_ended() {
            return;
        }
        let _ = sys::process::terminate(&self.child);
        if !sys::clock::wait_until(patience, || self.has_ended()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Where a server listens, by the line that says it to people or, with `--json`, to programs.
fn listening(line: &str) -> Option<SocketAddr> {
    if let Some(address) = line.strip_prefix("listening on ") {
        return address.trim().parse().ok();
    }
    let ready: serde_json::Value = serde_json::from_str(line).ok()?;
    ready["listening"].as_str()?.parse().ok()
}

/// A server that ends before it listens has said why on its standard error.
fn last_words(mut child: Child) -> Failure {
    let _ = child.kill();
    let mut words = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = errors.read_to_string(&mut words);
    }
    let _ = child.wait();
    Failure {
        what: format!("the server did not come up: {}", words.trim()),
        advice: String::new(),
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop(DRAIN);
    }
}
