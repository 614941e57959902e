//! The processes that download, on the client's CPUs, each over the same number of connections.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use model::braces;
use model::failure::Failure;
use sys::clock;
use sys::epoll::{Epoll, Events, Interest};
use sys::group::Leader;
use sys::memory_file;
use sys::pidfd;

use super::{Fetching, failed};
use crate::environment;

/// How much is shown of the end of a client's standard error, bytes.
const SHOWN_BYTES: usize = 600;

/// Clients at work. Dropping them ends them.
pub(super) struct Clients {
    all: Vec<Client>,
    /// Reports which client has ended; the token is its index in `all`.
    ends: Epoll,
    /// Our end of the pipe that is their standard input. Clients that wait for it start when it is
    /// closed.
    hold: Option<PipeWriter>,
    /// The command of the first client, for messages.
    shown: String,
}

struct Client {
    process: Leader,
    /// Its standard error, a file in memory: a pipe that nobody reads would block a client that
    /// writes much.
    said: File,
    /// A pidfd, readable once the process has ended. It is watched for as long as it is open.
    _end: OwnedFd,
}

impl Clients {
    pub(super) fn start(fetching: &Fetching, url: &str, cpus: &[usize]) -> Result<Self, Failure> {
        let watching = |error| failed("watching clients", &error);
        let (input, hold) = io::pipe().map_err(watching)?;
        let mut clients = Self {
            all: Vec::new(),
            ends: Epoll::new().map_err(watching)?,
            hold: Some(hold),
            shown: words(fetching, url, 0).join(" "),
        };
        for number in 0..u64::from(fetching.connections / fetching.connections_each.max(1)) {
            let said = memory_file::empty().map_err(watching)?;
            let words = words(fetching, url, number);
            let process = clients.one(&words, &input, &said, cpus)?;
            let end = pidfd::open_any(process.id()).map_err(watching)?;
            let added = clients.ends.add(end.as_fd(), number, Interest::READ);
            added.map_err(watching)?;
            clients.all.push(Client {
                process,
                said,
                _end: end,
            });
        }
        Ok(clients)
    }

    fn one(
        &self,
        words: &[String],
        input: &PipeReader,
        said: &File,
        cpus: &[usize],
    ) -> Result<Leader, Failure> {
        let (program, arguments) = words.split_first().ok_or_else(|| Failure {
            what: "the client is an empty command".to_owned(),
            advice: "give a program".to_owned(),
        })?;
        let watching = |error| failed("watching clients", &error);
        let input = input.try_clone().map_err(watching)?;
        let said = said.try_clone().map_err(watching)?;
        let mut command = Command::new(program);
        environment::little(&mut command);
        command
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(said);
        sys::process::prepare_child(&mut command, environment::ordinary(cpus)?);
        Leader::start(&mut command).map_err(|error| Failure {
            what: format!("the client `{program}` could not be started: {error}"),
            advice: "give a program that every user may run, by its path or as it is on the PATH"
                .to_owned(),
        })
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        let ids = self.all.iter().map(|client| client.process.id());
        ids.collect()
    }

    /// Starts the clients that wait until all are connected.
    pub(super) fn let_go(&mut self) {
        self.hold = None;
    }

    /// Lets the clients work for `time`. Fails when one of them ends or a signal asks to stop.
    pub(super) fn work_for(&mut self, time: Duration) -> Result<(), Failure> {
        let mut events = Events::with_capacity(1);
        let deadline = clock::now() + time;
        loop {
            if sys::stop::heard().is_some() {
                return Err(failed("the download", &"it was stopped by a signal"));
            }
            let left = deadline.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Ok(());
            }
            let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            let waited = self.ends.wait(&mut events, Some(left_ns));
            waited.map_err(|error| failed("waiting", &error))?;
            if let Some(event) = events.iter().next() {
                return Err(self.ended(event.token));
            }
        }
    }

    /// Lets the clients work until `holds` returns true, which is asked after every `pause`, or
    /// until `limit` is over. Returns whether it held.
    pub(super) fn work_until(
        &mut self,
        limit: Duration,
        pause: Duration,
        mut holds: impl FnMut() -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let deadline = clock::now() + limit;
        while !holds()? {
            if clock::now() >= deadline {
                return Ok(false);
            }
            self.work_for(pause)?;
        }
        Ok(true)
    }

    /// Lets the clients work until `count`, which is asked after every `pause`, reaches `wanted`,
    /// or has not grown for `limit`. Returns whether it reached that.
    pub(super) fn work_until_all(
        &mut self,
        limit: Duration,
        pause: Duration,
        wanted: usize,
        mut count: impl FnMut() -> Result<usize, Failure>,
    ) -> Result<bool, Failure> {
        let mut found = count()?;
        while found < wanted {
            let before = found;
            let has_grown = self.work_until(limit, pause, || {
                found = count()?;
                Ok(found > before)
            })?;
            if !has_grown {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The failure for a client that has ended.
    fn ended(&mut self, number: u64) -> Failure {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let (how, words) = self.all.get_mut(index).map(end_of).unwrap_or_default();
        Failure {
            what: format!(
                "the client `{}` ended unexpectedly: {how}{words}",
                self.shown
            ),
            advice:
                "it must download until it is stopped: over and over, or something without an end"
                    .to_owned(),
        }
    }

    pub(super) fn got_nothing(&self, waited: Duration) -> Failure {
        Failure {
            what: format!(
                "`{}` got nothing from the server over one of its connections for {} s",
                self.shown,
                waited.as_secs()
            ),
            advice: "each process of the client must download `{url}` over `{connections}` \
                     connections"
                .to_owned(),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.all {
            let _ = client.process.end();
        }
    }
}

/// The command of one client, with its variables filled in.
fn words(fetching: &Fetching, url: &str, number: u64) -> Vec<String> {
    let value = |variable: &str| match variable {
        "url" => Some(url.to_owned()),
        "connections" => Some(fetching.connections_each.to_string()),
        "number" => Some(number.to_string()),
        _ => None,
    };
    let words = fetching.client.iter();
    words.map(|word| braces::fill(word, value)).collect()
}

/// Ends a client. Returns how it ended, and the last that it wrote to its standard error.
fn end_of(client: &mut Client) -> (String, String) {
    let how = match client.process.end() {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let said = String::from_utf8_lossy(&last_words(&client.said))
        .trim()
        .to_owned();
    let words = if said.is_empty() {
        said
    } else {
        format!(", after it had said `{}`", said.escape_debug())
    };
    (how, words)
}

fn last_words(said: &File) -> Vec<u8> {
    let all = said.metadata().map_or(0, |found| found.len());
    let mut last = vec![0; SHOWN_BYTES];
    let from = all.saturating_sub(SHOWN_BYTES as u64);
    let read = said.read_at(&mut last, from).unwrap_or(0);
    last.truncate(read);
    last
}
