//! Threads that are held on a CPU while a probe runs.

use std::panic;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::ProbeError;

/// Starts a thread that ends within the scope.
pub(super) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    what: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, ProbeError> {
    let builder = thread::Builder::new();
    builder
        .spawn_scoped(scope, what)
        .map_err(ProbeError::Thread)
}

/// Returns the result of a thread, or resumes its panic.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| panic::resume_unwind(panic))
}

/// Holds the calling thread on a CPU.
pub(super) fn hold(cpu: usize) -> Result<(), ProbeError> {
    sys::cpu::pin(&[cpu]).map_err(|source| ProbeError::Pin { cpu, source })
}

/// Runs threads at the same time, and returns their results or the first error.
pub(super) fn at_once<T: Send, F>(all: impl Iterator<Item = F>) -> Result<Vec<T>, ProbeError>
where
    F: FnOnce() -> Result<T, ProbeError> + Send,
{
    thread::scope(|scope| {
        let mut started = Vec::new();
        started.extend(all.map(|one| start(scope, one)));
        started.into_iter().map(|thread| joined(thread?)).collect()
    })
}
