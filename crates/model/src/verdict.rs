//! Estimates with their intervals, and the five words for a comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate, in the unit of the property that holds it.
    pub value: f64,
    /// Lower end of its interval, same unit.
    pub low: f64,
    /// Upper end of its interval, same unit.
    pub high: f64,
    /// Independent observations behind it.
    pub n: u32,
}

/// The ratio of one arm to another with its interval, from pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Hodges–Lehmann estimate of arm ÷ reference; 1 is no difference.
    pub ratio: f64,
    /// Lower end of the exact signed-rank interval of the ratio at `alpha`; the interval is wider
    /// in a run with looks whose neighbouring pairs agree.
    pub low: f64,
    /// Upper end of the same interval.
    pub high: f64,
    /// Pairs, count.
    pub n: u32,
    /// Two-sided error of the interval, 0 to 1.
    pub alpha: f64,
    /// Two-sided p-value of the exact signed-rank test, 0 to 1; greater where the interval was
    /// widened.
    pub p_value: f64,
}

impl Effect {
    /// Whether the interval excludes 1.
    pub fn is_clear_of_none(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// The whole interval is closer to no difference than the smallest effect that matters.
    NoDifferenceThatMatters,
    /// The data could not tell.
    Inconclusive,
    /// The comparison is void; the doubts say why.
    Invalid,
}

impl Verdict {
    /// Whether the verdict says that one arm is better than the other.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// Whether the comparison is void.
    pub fn is_void(self) -> bool {
        self == Self::Invalid
    }

    /// Returns the verdict in words for a reader.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceThatMatters => "no difference that matters",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
        }
    }
}
