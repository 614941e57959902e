//! A service level objective as people type it: `p99<5ms`, `p99.9<20ms and errors<0.1%`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::as_text;

/// Limits that must all hold at once; there is at least one.
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
    /// The percentile as it was typed, above 0 and below 100, such as 99.9.
    Quantile {
        percent: f64,
    },
    Max,
    Mean,
}

impl Objective {
    /// The limits, in the order in which they were typed.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether one of the limits is on errors.
    pub fn limits_errors(&self) -> bool {
        let is_of_errors = |term: &Term| matches!(term, Term::Errors { .. });
        self.terms.iter().any(is_of_errors)
    }
}

/// Units of time and their length in ns.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
];
/// Longest limit of a time, ns: no load waits longer than a day for an answer.
const LONGEST_NS: f64 = 86_400e9;
/// An error message repeats no more than this of a wrong limit, letters.
const MOST_SHOWN: usize = 40;

/// What is wrong with a text that is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{limit}`: {problem}; an objective looks like p99<5ms, or \
     p99<5ms and errors<0.1%, of p50 … p99.9, max, mean and errors"
)]
pub struct ObjectiveError {
    limit: String,
    problem: &'static str,
}

/// Parses limits with commas or `and` between them, in upper or lower case.
impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim().to_lowercase();
        let text = text.strip_suffix(',').unwrap_or(&text).replace("and", ",");
        let mut terms: Vec<Term> = Vec::new();
        for limit in text.split(',').map(str::trim) {
            let wrong = |problem| ObjectiveError {
                limit: limit.chars().take(MOST_SHOWN).collect(),
                problem,
            };
            let term = term(limit).map_err(wrong)?;
            if terms.iter().any(|known| is_of_same(known, &term)) {
                return Err(wrong("the same figure is given twice"));
            }
            terms.push(term);
        }
        Ok(Self { terms })
    }
}

fn is_of_same(one: &Term, other: &Term) -> bool {
    match (one, other) {
        (Term::Response { figure: one, .. }, Term::Response { figure: other, .. }) => one == other,
        (Term::Errors { .. }, Term::Errors { .. }) => true,
        _ => false,
    }
}

fn term(text: &str) -> Result<Term, &'static str> {
    let (subject, limit) = text
        .split_once('<')
        .ok_or("expected a figure, `<` and a limit")?;
    let (subject, limit) = (subject.trim(), limit.trim());
    if subject == "errors" {
        let below_share = share(limit)?;
        return Ok(Term::Errors { below_share });
    }
    let figure = match subject {
        "mean" => Figure::Mean,
        "max" => Figure::Max,
        other => percentile(other)?,
    };
    let below_ns = time_ns(limit)?;
    Ok(Term::Response { figure, below_ns })
}

fn percentile(text: &str) -> Result<Figure, &'static str> {
    let percent = text.strip_prefix('p').and_then(number);
    let percent = percent.ok_or("expected a percentile such as p99, max, mean or errors")?;
    if percent > 0.0 && percent < 100.0 {
        return Ok(Figure::Quantile { percent });
    }
    Err("a percentile lies above 0 and below 100")
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a day in nanoseconds and less"
)]
fn time_ns(text: &str) -> Result<u64, &'static str> {
    let end = text.find(|letter| !is_of_number(letter));
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = number(digits).ok_or("expected a time such as 5ms")?;
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim());
    let (_, unit_ns) = unit.ok_or("expected a unit of time: us, ms or s")?;
    let time_ns = number * unit_ns;
    if (1.0..=LONGEST_NS).contains(&time_ns) {
        return Ok(time_ns.round() as u64);
    }
    Err("a time lies above zero and within a day")
}

fn share(text: &str) -> Result<f64, &'static str> {
    let percent = text.strip_suffix('%').map(str::trim).and_then(number);
    let percent = percent.ok_or("expected a share such as 0.1%")?;
    if percent > 0.0 && percent <= 100.0 {
        return Ok(percent / 100.0);
    }
    Err("a share of errors lies above 0 and is at most 100 %")
}

/// Parses a number without sign and exponent.
fn number(text: &str) -> Option<f64> {
    let number = text.parse().ok();
    number.filter(|_| text.chars().all(is_of_number))
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.'
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

as_text!(Objective);

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { figure, below_ns } => {
                let (unit_ns, unit) = unit_of(*below_ns);
                write!(formatter, "{figure}<{}{unit}", *below_ns as f64 / unit_ns)
            }
            // Rounded to the digits that can be typed: 0.1 % is 0.001, which is a little more than
            // 0.1 in per cent.
            Self::Errors { below_share } => {
                let percent = (below_share * 1e8).round() / 1e6;
                write!(formatter, "errors<{percent}%")
            }
        }
    }
}

/// The largest unit of which the time has at least one, and its length in ns.
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
    fn what_is_wrong_is_named_with_an_example() {
        for (wrong, expected) in [
            ("", "`<`"),
            ("p99", "`<`"),
            ("p99<", "a time such as 5ms"),
            ("p99<5", "unit"),
            ("p99<5parsecs", "unit"),
            ("p99<0ms", "above zero"),
            ("p99>5ms", "`<`"),
            ("99<5ms", "a percentile such as"),
            ("p100<5ms", "below 100"),
            ("p<5ms", "percentile"),
            ("p1e1<5ms", "percentile"),
            ("p99<5ms or max<1s", "unit"),
            ("p99<5ms and", "`<`"),
            ("errors<0.1", "0.1%"),
            ("errors<101%", "at most 100"),
            ("p99<5ms, p99<6ms", "twice"),
        ] {
            let said = wrong.parse::<Objective>().unwrap_err().to_string();
            assert!(said.contains(expected), "{wrong}: {said}");
            assert!(said.contains("looks like p99<5ms"), "{wrong}: {said}");
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
            drop(text.parse::<Objective>());
        }
    }
}
