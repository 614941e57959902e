//! Our own servers as child processes: started with their levers, awaited, stopped.

use std::io::BufReader;
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use model::failure::Failure;
use sys::process::ChildSetup;

/// How long a server may take to drain before it is killed.
const DRAIN: Duration = Duration::from_millis(500);

/// The most that is read from the standard error of a server that does not come up, bytes: what a
/// pipe holds.
const MOST_WORDS: usize = 1 << 16;

/// A server of ours. Dropping it stops it.
pub(crate) struct ServerProcess {
    child: Child,
    /// Held open, since the server also writes to it when it ends.
    _output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    /// Starts a command and waits for the line that says where it listens.
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
            let mut output = BufReader::new(output);
            let line = foreign::line::next(&mut output, || false).ok()??;
            Some((listening(&String::from_utf8_lossy(&line))?, output))
        });
        match ready {
            Some((address, output)) => Ok(Self {
                child,
                _output: output,
                address,
            }),
            None => Err(last_words(child)),
        }
    }

    fn stop(&mut self) {
        // Once a process has been waited for, its number may belong to another one.
        if self.has_ended() {
            return;
        }
        let _ = sys::process::terminate(&self.child);
        if !sys::clock::wait_until(DRAIN, || self.has_ended()) {
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

/// Reads where a server listens from its first line: text for people or, with `--json`, JSON.
fn listening(line: &str) -> Option<SocketAddr> {
    if let Some(address) = line.strip_prefix("listening on ") {
        return address.trim().parse().ok();
    }
    let ready: serde_json::Value = serde_json::from_str(line).ok()?;
    ready["listening"].as_str()?.parse().ok()
}

/// The failure of a server that ends before it listens: it has said why on its standard error.
fn last_words(mut child: Child) -> Failure {
    let _ = child.kill();
    let errors = child.stderr.take();
    let words = errors.map(|errors| foreign::line::all(errors, MOST_WORDS));
    let words = words.map_or_else(String::new, |words| {
        words.unwrap_or_else(|error| error.to_string())
    });
    let _ = child.wait();
    Failure::plain(format!("the server did not come up: {}", words.trim()))
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
