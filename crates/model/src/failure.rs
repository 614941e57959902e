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
