//! A service level objective as people type it: `p99<5ms`, `p99.9<20ms and errors<0.1%`.

mod parse;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use parse::ObjectiveError;

/// Limits that all must hold at once; there is at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Objective {
    terms: Vec<Term>,
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// A figure of the response time must stay below a time.
    Response { figure: Figure, below_ns: u64 },
    /// Failed requests must stay below this share of those sent, above 0 and at most 1.
    Errors { below_share: f64 },
}

/// A figure of the distribution of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// In per cent as it was typed, above 0 and below 100: 99.9.
    Quantile {
        percent: f64,
    },
    Max,
    Mean,
}

impl Objective {
    /// In the order in which they were typed.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let joint = if index == 0 { "" } else { " and " };
            write!(formatter, "{joint}{term}")?;
        }
        Ok(())
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Self, ObjectiveError> {
        text.parse()
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { figure, below_ns } => {
                let (unit_ns, unit) = unit_of(*below_ns);
                write!(formatter, "{figure}<{}{unit}", *below_ns as f64 / unit_ns)
            }
            // Rounded to what can be typed: 0.1 % is 0.001, and that a little more in per cent.
            Self::Errors { below_share } => {
                let percent = (below_share * 1e8).round() / 1e6;
                write!(formatter, "errors<{percent}%")
            }
        }
    }
}

/// The largest unit of which there is at least one.
fn unit_of(time_ns: u64) -> (f64, &'static str) {
    match time_ns {
        1_000_000_000.. => (1e9, "s"),
        1_000_000.. => (1e6, "ms"),
        1_000.. => (1e3, "us"),
        _ => (1.0, "ns"),
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile { percent } => write!(formatter, "p{percent}"),
            Self::Max => formatter.write_str("max"),
            Self::Mean => formatter.write_str("mean"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Objective {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_term_is_understood_and_shown_as_it_can_be_typed_again() {
        for (typed, shown) in [
            ("p99<5ms", "p99<5ms"),
            (" p99.9 < 1.5 ms ", "p99.9<1.5ms"),
            ("P50<250µs", "p50<250us"),
            ("max<2s,mean<800us", "max<2s and mean<800us"),
            ("p99<5ms and errors<0.1%", "p99<5ms and errors<0.1%"),
            ("p99<5ms,errors<100%,", "p99<5ms and errors<100%"),
            ("errors<0.001%andmax<1m", "errors<0.001% and max<60s"),
        ] {
            assert_eq!(read(typed).to_string(), shown, "{typed}");
            assert_eq!(read(shown), read(typed), "{typed}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_position_and_an_example() {
        for (wrong, position, expected) in [
            ("", 1, "p99"),
            ("p99", 4, "`<`"),
            ("p99<", 5, "5ms"),
            ("p99<5", 6, "unit"),
            ("p99<5parsecs", 6, "unit"),
            ("p99<0ms", 5, "above zero"),
            ("p99>5ms", 4, "`<`"),
            ("99<5ms", 1, "p99"),
            ("p100<5ms", 2, "below 100"),
            ("p<5ms", 2, "percentile"),
            ("p99<5ms or max<1s", 9, "`and`"),
            ("p99<5ms and", 12, "p99"),
            ("errors<0.1", 11, "`%`"),
            ("errors<101%", 8, "at most 100"),
            ("µ99<5ms", 1, "p99"),
            ("p99<5ms, p99<6ms", 10, "twice"),
        ] {
            let error = wrong.parse::<Objective>().unwrap_err();
            assert_eq!(error.position, position, "{wrong}: {error}");
            let said = error.to_string();
            assert!(said.contains(expected), "{wrong}: {said}");
            assert!(said.contains("p99<5ms"), "{wrong}: {said}");
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        let pieces = [
            "p99", "<", "5ms", "%", "errors", ",", "and", " ", "µ", "1e9", ".",
        ];
        let mut random = crate::random::SplitMix64::new(1);
        for _ in 0..20_000 {
            let text: String = (0..random.below(8))
                .map(|_| pieces[random.below(pieces.len())])
                .collect();
            if let Err(error) = text.parse::<Objective>() {
                assert!(
                    error.position <= text.chars().count() + 1,
                    "{text}: {error}"
                );
            }
        }
    }
}
