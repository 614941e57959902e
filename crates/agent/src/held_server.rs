//! A server that was started for a measurement and is stopped when that is over.

use model::Doubt;
use model::failure::Failure;

use crate::children::ServerProcess;
use crate::service::RunningService;
use crate::service::register::Claim;

/// Our own server, or a service and its entry in the register. Dropping it stops it.
pub(crate) enum HeldServer {
    Ours(#[expect(dead_code, reason = "it is held, and dropped")] ServerProcess),
    Service(
        Box<RunningService>,
        #[expect(dead_code, reason = "what a crash of ours leaves is found by it")] Claim,
    ),
}

impl HeldServer {
    /// Checks that the server is still up, as far as that can be known. Returns a doubt about the
    /// measurement if there is one.
    pub(crate) fn check(&mut self) -> Result<Option<Doubt>, Failure> {
        match self {
            Self::Ours(_) => Ok(None),
            Self::Service(service, _) => service.check(),
        }
    }
}
