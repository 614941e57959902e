//! Our own servers as child processes: started with their levers, awaited, stopped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::message::Failure;
use sys::process::ChildSetup;

/// How long a server may take to drain before it is killed.
const DRAIN: Duration = Duration::from_millis(500);

/// A server of ours. Dropping it stops it.
pub(crate) struct ServerProcess {
    child: Child,
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
        let address = child.stdout.take().and_then(|output| {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).ok()?;
            line.trim().strip_prefix("listening on ")?.parse().ok()
        });
        match address {
            Some(address) => Ok(Self { child, address }),
            None => Err(last_words(child)),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
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
        let _ = sys::process::terminate(&self.child);
        let ended = || !matches!(self.child.try_wait(), Ok(None));
        if !sys::clock::wait_until(DRAIN, ended) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
