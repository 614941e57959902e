//! The conclusion from all findings: is this machine fit to measure, and what costs it speed?

use model::finding::{Finding, Severity};

/// The conclusion in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Whether measurements made here and now can be trusted.
    pub fit: bool,
    pub answer: String,
}

/// Sums up findings.
pub fn summary(findings: &[Finding]) -> Summary {
    let count = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let problems: Vec<_> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Problem)
        .map(|finding| as_clause(&finding.what))
        .collect();
    let fit = problems.is_empty();
    let verdict = if fit {
        "This machine is fit to measure".to_owned()
    } else {
        format!(
            "This machine is not fit to measure now: {}",
            problems.join("; ")
        )
    };
    let costs = costs(count(Severity::Notice));
    let unseen = unseen(count(Severity::Unknown));
    Summary {
        fit,
        answer: format!("{verdict}; {costs}{unseen}."),
    }
}

/// Turns a sentence into a clause of another sentence.
fn as_clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let first = letters
        .next()
        .map(|letter| letter.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn costs(count: usize) -> String {
    match count {
        0 => "nothing that was found costs you speed".to_owned(),
        1 => "one thing costs you speed, or may".to_owned(),
        several => format!("{} things cost you speed, or may", in_words(several)),
    }
}

fn unseen(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", and one could not be checked".to_owned(),
        several => format!(", and {} could not be checked", in_words(several)),
    }
}

/// Numbers up to twelve in words, larger ones in digits.
fn in_words(number: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS
        .get(number)
        .map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(severities: &[Severity]) -> Vec<Finding> {
        let finding = |severity: &Severity| Finding {
            name: "check".to_owned(),
            severity: *severity,
            what: "Other work uses 40 % of the CPUs.".to_owned(),
            evidence: String::new(),
            cost: String::new(),
            advice: String::new(),
        };
        severities.iter().map(finding).collect()
    }

    #[test]
    fn notices_cost_speed_and_leave_the_machine_fit() {
        let two = summary(&findings(&[
            Severity::Notice,
            Severity::Notice,
            Severity::Fine,
        ]));
        assert!(two.fit);
        let expected = "This machine is fit to measure; two things cost you speed, or may.";
        assert_eq!(two.answer, expected);
    }

    #[test]
    fn a_problem_is_named_in_the_answer() {
        let busy = summary(&findings(&[Severity::Problem, Severity::Unknown]));
        assert!(!busy.fit);
        assert_eq!(
            busy.answer,
            "This machine is not fit to measure now: other work uses 40 % of the CPUs; nothing \
             that was found costs you speed, and one could not be checked."
        );
    }
}
