//! A command that the timed one speaks with: started before it, and ended after it.

use std::io::Read;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::targets;
use model::failure::Failure;
use sys::clock;
use sys::group::Leader;
use sys::process::Signal;

use crate::command::{KEPT_ERRORS_BYTES, last_words};

/// How long it may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long we wait, once it has ended, for the rest of its standard error, still in the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A command that listens. Dropping it ends it with its group.
pub(super) struct Served {
    leader: Leader,
    /// Its command line, for messages.
    name: String,
    /// The TCP port at which it listens; 0 before that.
    pub(super) port: u16,
    /// The last bytes of its standard error. A process that escaped its group may hold the pipe
    /// open, so nobody waits long for its end.
    said: Arc<Mutex<Vec<u8>>>,
    /// The thread that reads its standard error.
    reader: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts the command, and waits until it listens on TCP.
    pub(super) fn start(
        mut command: Command,
        name: &str,
        within: Duration,
    ) -> Result<Self, Failure> {
        let mut leader = Leader::start(&mut command).map_err(|error| Failure {
            what: format!("`{name}` could not be started: {error}"),
            advice: "check its name and PATH".to_owned(),
        })?;
        let said = Arc::default();
        let (output, errors) = leader.pipes();
        if let Some(output) = output {
            drain(output, Arc::default());
        }
        let reader = errors.map(|errors| drain(errors, Arc::clone(&said)));
        let mut served = Self {
            leader,
            name: name.to_owned(),
            port: 0,
            said,
            reader,
        };
        let mut ended = None;
        let settled = clock::wait_for_long(within, || {
            ended = served.leader.try_wait().ok().flatten();
            let addresses = targets::nearest_addresses_of(served.leader.id());
            served.port = addresses.first().map_or(0, |address| address.port());
            ended.is_some() || sys::stop::heard().is_some() || served.port > 0
        });
        match ended {
            Some(status) => Err(served.gone(status, "it listened")),
            None if settled => Ok(served),
            None => Err(served.failure(&format!("does not listen on TCP within {within:?}"))),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.leader.id()
    }

    /// Asks it to end, and kills what is left of its group.
    ///
    /// # Errors
    /// When it had already ended by itself.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        if let Ok(Some(status)) = self.leader.try_wait() {
            return Err(self.gone(status, "the command that was timed"));
        }
        let _ = self.leader.ask_to_end(Signal::Terminate);
        clock::wait_until(GRACE, || !matches!(self.leader.try_wait(), Ok(None)));
        Ok(())
    }

    fn gone(&self, status: ExitStatus, before: &str) -> Failure {
        let is_read = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        clock::wait_until(LAST_WORDS, is_read);
        self.failure(&format!("ended before {before}: {status}"))
    }

    fn failure(&self, what: &str) -> Failure {
        let said = last_words(&self.said.lock().unwrap_or_else(PoisonError::into_inner));
        let said = match said.is_empty() {
            true => said,
            false => format!("; its last words:\n{said}\n"),
        };
        Failure {
            what: format!("the server `{}` {what}{said}", self.name),
            advice: "try it by hand, and fix it or the study".to_owned(),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.leader.end();
    }
}

/// Reads a pipe to its end in a thread, so that nobody waits for room in it; stores the last bytes.
fn drain(mut pipe: impl Read + Send + 'static, kept: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..read]);
            let surplus = kept.len().saturating_sub(KEPT_ERRORS_BYTES);
            kept.drain(..surplus);
        }
    })
}
