//! Doubts as they are saved in runs, together with their texts for a reader.

use schemars::JsonSchema;
use serde::Serialize;

use super::Doubt;

/// Something that a sceptic would ask about.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WordedDoubt {
    #[serde(flatten)]
    pub doubt: Doubt,
    /// What was seen, in one sentence.
    what: String,
    /// What to do about it.
    advice: &'static str,
}

/// Pairs each doubt with its texts.
pub fn worded(doubts: &[Doubt]) -> Vec<WordedDoubt> {
    let one = |doubt: &Doubt| WordedDoubt {
        doubt: doubt.clone(),
        what: doubt.what(),
        advice: doubt.advice(),
    };
    doubts.iter().map(one).collect()
}
