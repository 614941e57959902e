//! The article that a study reproduces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The article that a study reproduces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title of the article.
    pub title: String,
    /// Address of the article.
    pub url: String,
    /// Year it was published.
    pub year: u32,
    /// The machine on which the article measured.
    pub machine: String,
    /// Steps of the article that the study leaves out: its published figures include their gains
    /// too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_crossed: Vec<NotCrossed>,
}

/// A step of the article that the study leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotCrossed {
    /// What the step does.
    pub title: String,
    /// Why the study leaves it out.
    pub why: String,
    /// Gain over the step before it, as a share, where the article gives it.
    #[serde(default)]
    pub gain: Option<f64>,
}
