//! Why something could not be done, for a reader.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an ask could not be carried out, for a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What is doubtful, in one sentence.
    pub what: String,
    /// What to do about it; may be empty.
    pub advice: String,
}

impl Failure {
    /// One that says itself what there is to do, or of which nobody knows that.
    pub fn plain(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            advice: String::new(),
        }
    }
}
