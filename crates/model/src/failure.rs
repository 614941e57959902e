//! Why something could not be done, for a reader.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request could not be carried out, for a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What went wrong, in one sentence.
    pub what: String,
    /// What to do about it; may be empty.
    pub advice: String,
}

impl Failure {
    /// Creates a failure without advice: the sentence itself says what to do, or nobody knows.
    pub fn plain(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            advice: String::new(),
        }
    }
}
