//! Whether others use the CPUs.

use model::finding::{Finding, Severity};

use super::{Subject, fine, unknown};

const NAME: &str = "foreign-work";
/// Shares of all CPUs: from the first on it shows, from the second a study wants the owner's word.
const SHOWS: f64 = 0.03;
const TOO_MUCH: f64 = 0.10;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.watched.foreign_cpu_share))
}

fn judge(share: Option<f64>) -> Finding {
    let Some(share) = share else {
        return unknown(
            NAME,
            "Who uses the CPUs cannot be seen.",
            "/proc/stat cannot be read",
        );
    };
    let percent = share * 100.0;
    let evidence = format!("/proc/stat over 0.3 s, without our own time: {percent:.1} % busy");
    if share < SHOWS {
        return fine(NAME, "The CPUs are at rest.", evidence);
    }
    Finding {
        severity: if share > TOO_MUCH {
            Severity::Problem
        } else {
            Severity::Notice
        },
        cost: "throughput falls by more than what others use; CPU per request is far steadier"
            .to_owned(),
        advice: "stop the other work while you measure, or trust CPU per request before throughput"
            .to_owned(),
        ..fine(
            NAME,
            format!("Other work uses {percent:.0} % of the CPUs."),
            evidence,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_is_a_problem() {
        assert_eq!(judge(Some(0.01)).severity, Severity::Fine);
        assert_eq!(judge(Some(0.06)).severity, Severity::Notice);
        assert_eq!(judge(Some(0.5)).severity, Severity::Problem);
        assert_eq!(judge(None).severity, Severity::Unknown);
    }
}
