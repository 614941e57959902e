//! Why something was not done, where that is only to be read.

use crate::spec::SpecError;
use crate::transport::AgentError;

/// Why something was not done, in words: there is nothing to tell one from another by.
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
