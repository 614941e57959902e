//! Refusals: errors that are only for people to read.

use crate::spec::SpecError;
use crate::transport::AgentError;

/// The reason why something was not done, in words; code cannot tell one reason from another.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl From<SpecError> for Refusal {
    fn from(error: SpecError) -> Self {
        Self(error.to_string())
    }
}

impl From<AgentError> for Refusal {
    fn from(error: AgentError) -> Self {
        Self(error.to_string())
    }
}
