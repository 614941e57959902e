//! From `p99<5ms and errors<0.1%` to an objective; errors say where they are.

use std::str::FromStr;

use super::{Figure, Objective, Term};

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
/// Longer than this no load waits for an answer: a day.
const LONGEST_NS: f64 = 86_400e9;

/// What is wrong with a text that is no objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "at character {position}: {problem}; an objective looks like p99<5ms, or \
     p99<5ms and errors<0.1%, of p50 … p99.9, max, mean and errors"
)]
pub struct ObjectiveError {
    /// Which character, from 1 on; one behind the last where something is missing.
    pub position: usize,
    problem: String,
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut reader = Reader { text, at: 0 };
        let mut terms: Vec<Term> = Vec::new();
        loop {
            reader.skip_blanks();
            let begun = reader.at;
            let term = reader.term()?;
            if terms.iter().any(|known| is_of_same(known, &term)) {
                return Err(reader.wrong_at(begun, "the same figure stands there twice"));
            }
            terms.push(term);
            if !reader.joint()? {
                return Ok(Self { terms });
            }
        }
    }
}

fn is_of_same(one: &Term, other: &Term) -> bool {
    match (one, other) {
        (Term::Response { figure: one, .. }, Term::Response { figure: other, .. }) => one == other,
        (Term::Errors { .. }, Term::Errors { .. }) => true,
        _ => false,
    }
}

/// A text and how far it was read, in bytes.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// What a limit is about.
enum Subject {
    Response(Figure),
    Errors,
}

impl<'a> Reader<'a> {
    fn term(&mut self) -> Result<Term, ObjectiveError> {
        let subject = self.subject()?;
        self.skip_blanks();
        if !self.take("<") {
            return Err(self.wrong(&format!("expected `<`, found {}", self.found())));
        }
        self.skip_blanks();
        match subject {
            Subject::Response(figure) => Ok(Term::Response {
                figure,
                below_ns: self.time_ns()?,
            }),
            Subject::Errors => Ok(Term::Errors {
                below_share: self.share()?,
            }),
        }
    }

    fn subject(&mut self) -> Result<Subject, ObjectiveError> {
        let named = [
            ("errors", Subject::Errors),
            ("mean", Subject::Response(Figure::Mean)),
            ("max", Subject::Response(Figure::Max)),
        ];
        for (name, subject) in named {
            if self.take(name) {
                return Ok(subject);
            }
        }
        if self.take("p") {
            return self.percentile();
        }
        let found = self.found();
        Err(self.wrong(&format!("expected p99, max, mean or errors, found {found}")))
    }

    fn percentile(&mut self) -> Result<Subject, ObjectiveError> {
        let begun = self.at;
        let percent = self.number("a percentile such as 99 or 99.9")?;
        if percent > 0.0 && percent < 100.0 {
            Ok(Subject::Response(Figure::Quantile { percent }))
        } else {
            Err(self.wrong_at(begun, "a percentile lies above 0 and below 100"))
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a day in nanoseconds and less"
    )]
    fn time_ns(&mut self) -> Result<u64, ObjectiveError> {
        let begun = self.at;
        let number = self.number("a time such as 5ms")?;
        self.skip_blanks();
        let word = self.word();
        let unit = UNITS.iter().find(|(name, _)| *name == word);
        let Some((name, unit_ns)) = unit.or_else(|| self.unit_before_and(word)) else {
            let found = self.found();
            return Err(self.wrong(&format!("expected a unit, us, ms or s, found {found}")));
        };
        self.at += name.len();
        let time_ns = number * unit_ns;
        if (1.0..=LONGEST_NS).contains(&time_ns) {
            Ok(time_ns.round() as u64)
        } else {
            Err(self.wrong_at(begun, "a time lies above zero and within a day"))
        }
    }

    /// The unit in `5msand`, whose writer left out the blank.
    fn unit_before_and(&self, word: &str) -> Option<&'static (&'static str, f64)> {
        let unit = word.strip_suffix("and")?;
        UNITS.iter().find(|(name, _)| *name == unit)
    }

    fn share(&mut self) -> Result<f64, ObjectiveError> {
        let begun = self.at;
        let percent = self.number("a share such as 0.1%")?;
        self.skip_blanks();
        if !self.take("%") {
            return Err(self.wrong(&format!("expected `%`, found {}", self.found())));
        }
        if percent > 0.0 && percent <= 100.0 {
            Ok(percent / 100.0)
        } else {
            Err(self.wrong_at(begun, "a share of errors lies above 0 and is at most 100 %"))
        }
    }

    /// Whether another term follows.
    fn joint(&mut self) -> Result<bool, ObjectiveError> {
        self.skip_blanks();
        if self.rest().is_empty() {
            return Ok(false);
        }
        if self.take("and") {
            return Ok(true);
        }
        if self.take(",") {
            self.skip_blanks();
            return Ok(!self.rest().is_empty());
        }
        let found = self.found();
        Err(self.wrong(&format!("expected `and` or a comma, found {found}")))
    }

    fn number(&mut self, expected: &str) -> Result<f64, ObjectiveError> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let Ok(number) = rest[..length].parse::<f64>() else {
            return Err(self.wrong(&format!("expected {expected}, found {}", self.found())));
        };
        self.at += length;
        Ok(number)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The letters that come next.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphabetic());
        &rest[..end.unwrap_or(rest.len())]
    }

    fn take(&mut self, wanted: &str) -> bool {
        let next = self.rest().get(..wanted.len());
        let is_there = next.is_some_and(|next| next.eq_ignore_ascii_case(wanted));
        self.at += if is_there { wanted.len() } else { 0 };
        is_there
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// What stands there, for a message.
    fn found(&self) -> String {
        match self.rest().split_whitespace().next() {
            None => "nothing".to_owned(),
            Some(word) => format!("`{}`", word.chars().take(20).collect::<String>()),
        }
    }

    fn wrong(&self, problem: &str) -> ObjectiveError {
        self.wrong_at(self.at, problem)
    }

    fn wrong_at(&self, at: usize, problem: &str) -> ObjectiveError {
        ObjectiveError {
            position: self.text[..at].chars().count() + 1,
            problem: problem.to_owned(),
        }
    }
}
