//! The parent of the workers: starts them, sleeps, passes a stop on, reports a death.

use std::io::{self, BufReader};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use sys::epoll::{Epoll, Events, Interest};
use sys::process::{ChildSetup, prepare_child, terminate};

const STOP: u64 = u64::MAX;

/// Why the workers could not be kept running.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("cannot start a worker on CPU {cpu}: {source}")]
    Start { cpu: usize, source: io::Error },
    #[error(
        "the worker on CPU {cpu} (process {pid}) ended on its own, {status}; the others were stopped"
    )]
    Ended {
        cpu: usize,
        pid: u32,
        status: ExitStatus,
    },
    #[error("cannot watch the workers: {0}")]
    Watch(#[from] io::Error),
}

/// A worker process.
struct Worker {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    cpu: usize,
    ended: OwnedFd,
}

/// The workers of one server. Dropping it kills those that still run.
pub struct Workers {
    workers: Vec<Worker>,
}

impl Workers {
    /// Starts one process per listener, each bound to its CPU. A worker finds its listener as
    /// its standard input, the one descriptor that every process is given anyway, and writes a
    /// line to its standard output when it is ready; this returns when all have.
    ///
    /// # Errors
    /// When a process cannot be started or ends before it is ready.
    pub fn start(
        listeners: Vec<TcpListener>,
        cpus: &[usize],
        command: impl Fn() -> Command,
    ) -> Result<Self, SupervisorError> {
        let mut workers = Self {
            workers: Vec::with_capacity(listeners.len()),
        };
        for (listener, cpu) in listeners.into_iter().zip(cpus.iter().copied().cycle()) {
            let worker = start_worker(listener, cpu, command())
                .map_err(|source| SupervisorError::Start { cpu, source })?;
            workers.workers.push(worker);
        }
        workers.wait_until_ready()?;
        Ok(workers)
    }

    fn wait_until_ready(&mut self) -> Result<(), SupervisorError> {
        for index in 0..self.workers.len() {
            if !self.workers[index].says_ready()? {
                return Err(self.workers.remove(index).obituary()?);
            }
        }
        Ok(())
    }

    /// Sleeps until `stop` is readable or a worker ends. Then all are told to stop and have
    /// `drain_timeout` and a second more. What each has said since it was ready is returned.
    ///
    /// # Errors
    /// When a worker ended before anybody told it to.
    pub fn supervise(
        mut self,
        stop: BorrowedFd<'_>,
        drain_timeout: Duration,
    ) -> Result<Vec<String>, SupervisorError> {
        let outcome = self.wait_for_end(stop);
        for worker in &mut self.workers {
            // The number of one that was waited for may be another's by now.
            if let Ok(None) = worker.child.try_wait() {
                let _ = terminate(&worker.child);
            }
        }
        self.wait_for_all(drain_timeout + Duration::from_secs(1))?;
        outcome?;
        Ok(self.workers.iter_mut().map(Worker::last_words).collect())
    }

    fn wait_for_end(&mut self, stop: BorrowedFd<'_>) -> Result<(), SupervisorError> {
        let epoll = Epoll::new()?;
        epoll.add(stop, STOP, Interest::READ)?;
        for (token, worker) in (0_u64..).zip(&self.workers) {
            epoll.add(worker.ended.as_fd(), token, Interest::READ)?;
        }
        let mut events = Events::with_capacity(1);
        loop {
            epoll.wait(&mut events, None)?;
            match events.iter().next().map(|event| event.token) {
                None => {}
                Some(STOP) => return Ok(()),
                Some(token) => {
                    let index = usize::try_from(token).unwrap_or(0);
                    // In good order it ends when it was told to, as by a terminal that tells all of us at once.
                    if self.workers[index].child.wait()?.success() {
                        return Ok(());
                    }
                    return Err(self.workers.remove(index).obituary()?);
                }
            }
        }
    }

    fn wait_for_all(&mut self, timeout: Duration) -> io::Result<()> {
        let deadline = sys::clock::now() + timeout;
        for worker in &mut self.workers {
            let epoll = Epoll::new()?;
            epoll.add(worker.ended.as_fd(), 0, Interest::READ)?;
            let left = deadline.saturating_duration_since(sys::clock::now());
            let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            epoll.wait(&mut Events::with_capacity(1), Some(left_ns))?;
        }
        // Those that still run are killed when their last words are heard, or they are dropped.
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

impl Worker {
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its line; `false` when it ended without one.
    fn says_ready(&mut self) -> io::Result<bool> {
        let output = self.output.as_mut();
        let line = output.map_or(Ok(None), |output| foreign::line::next(output, || false))?;
        Ok(line.is_some())
    }

    /// What it has said since then, and ended.
    fn last_words(&mut self) -> String {
        self.end();
        let output = self.output.as_mut();
        let words = output.map(|output| foreign::line::all(output, foreign::line::MOST_BYTES));
        // What cannot be read was not said.
        words.and_then(Result::ok).unwrap_or_default()
    }

    fn obituary(mut self) -> io::Result<SupervisorError> {
        Ok(SupervisorError::Ended {
            cpu: self.cpu,
            pid: self.child.id(),
            status: self.child.wait()?,
        })
    }
}

fn start_worker(listener: TcpListener, cpu: usize, mut command: Command) -> io::Result<Worker> {
    let setup = ChildSetup {
        cpus: vec![cpu],
        ..ChildSetup::default()
    };
    prepare_child(&mut command, setup);
    let listener = OwnedFd::from(listener);
    command.stdin(Stdio::from(listener)).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let ended = sys::pidfd::open(&child)?;
    let output = child.stdout.take().map(BufReader::new);
    Ok(Worker {
        child,
        output,
        cpu,
        ended,
    })
}
