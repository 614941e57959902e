//! A server that was started for a measurement, and goes when that is over.

use model::Doubt;
use model::failure::Failure;

use crate::children::ServerProcess;
use crate::service::RunningService;
use crate::service::register::Claim;

/// Dropping it stops it.
pub(crate) enum HeldServer {
    Ours(#[expect(dead_code, reason = "it is held, and dropped")] ServerProcess),
    Service {
        service: Box<RunningService>,
        /// What is left of it after a crash of ours is found by this.
        _found_by: Claim,
    },
}

impl HeldServer {
    pub(crate) fn ours(process: ServerProcess) -> Self {
        Self::Ours(process)
    }

    pub(crate) fn service(service: RunningService, found_by: Claim) -> Self {
        Self::Service {
            service: Box::new(service),
            _found_by: found_by,
        }
    }

    /// Whether it is still up, as far as that can be told, and what it makes doubtful.
    pub(crate) fn check(&mut self) -> Result<Option<Doubt>, Failure> {
        match self {
            Self::Ours(_) => Ok(None),
            Self::Service { service, .. } => service.check(),
        }
    }
}
