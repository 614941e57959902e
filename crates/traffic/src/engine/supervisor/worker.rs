//! One worker process: how it is started, when it is ready, how it ended.

use std::io::{self, BufReader};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use sys::process::{ChildSetup, prepare_child};

use super::Obituary;

/// How a worker is started, and restarted.
pub struct Recipe {
    /// Becomes its standard input: the one descriptor that every process is given anyway.
    pub listener: Arc<TcpListener>,
    pub cpu: usize,
    pub command: Box<dyn Fn() -> Command>,
    /// Other descriptors that it inherits.
    pub handed_over: Vec<Arc<OwnedFd>>,
}

pub(super) struct Worker {
    pub(super) child: Child,
    output: Option<BufReader<ChildStdout>>,
    cpu: usize,
    ended: OwnedFd,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    pub(super) fn start(recipe: &Recipe) -> io::Result<Self> {
        let setup = ChildSetup {
            cpus: vec![recipe.cpu],
            handed_over: recipe.handed_over.clone(),
            ..ChildSetup::default()
        };
        let mut command = (recipe.command)();
        prepare_child(&mut command, setup);
        let listener = recipe.listener.as_fd().try_clone_to_owned()?;
        command.stdin(Stdio::from(listener)).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let ended = sys::pidfd::open(&child)?;
        let output = child.stdout.take().map(BufReader::new);
        Ok(Self {
            child,
            output,
            cpu: recipe.cpu,
            ended,
        })
    }

    /// A descriptor that is readable once the worker has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Waits for the line that the worker writes when it is ready; `false` when it ended without
    /// one.
    pub(super) fn says_ready(&mut self) -> io::Result<bool> {
        let output = self.output.as_mut();
        let line = output.map_or(Ok(None), |output| foreign::line::next(output, || false))?;
        Ok(line.is_some())
    }

    /// Whether the worker, which has ended, did so in good order.
    pub(super) fn ended_well(&mut self) -> io::Result<bool> {
        Ok(self.child.wait()?.success())
    }

    /// The obituary of a worker that has ended.
    pub(super) fn obituary(&mut self) -> io::Result<Obituary> {
        Ok(Obituary {
            cpu: self.cpu,
            pid: self.child.id(),
            status: self.child.wait()?,
        })
    }
}
