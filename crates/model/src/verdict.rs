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

/// How many times the one arm is of the other, from pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Hodges–Lehmann estimate of arm ÷ reference; 1 is no difference.
    pub ratio: f64,
    /// Exact signed-rank interval of the ratio at `alpha`; wider in a run with looks whose neighbouring pairs agree.
    pub low: f64,
    /// Upper end of the same interval.
    pub high: f64,
    /// Pairs, count.
    pub n: u32,
    /// Two-sided error that the interval was given, 0 to 1.
    pub alpha: f64,
    /// Two-sided p-value of the exact signed-rank test, 0 to 1; greater where the interval is wider.
    pub p_value: f64,
}

impl Effect {
    /// Whether the interval leaves out 1.
    pub fn is_clear_of_none(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// The whole interval is nearer to none than the smallest effect that matters.
    NoDifferenceThatMatters,
    /// The data could not tell.
    Inconclusive,
    /// The comparison is void; the doubts say why.
    Invalid,
}

impl Verdict {
    /// Whether it says that the one is not as good as the other.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// Whether nothing may be said.
    pub fn is_void(self) -> bool {
        self == Self::Invalid
    }

    /// The words for a reader.
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
