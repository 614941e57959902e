//! Whether a fixed piece of work takes the same time again and again.

use model::finding::{Finding, Severity};

use super::{Subject, fine};

const NAME: &str = "steady-speed";
/// Robust spread of the work's duration that a quiet machine stays below, and one above which
/// pairs of blocks can see only large effects.
const STEADY: f64 = 0.02;
const UNSTEADY: f64 = 0.15;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.watched.spin_robust_cv))
}

fn judge(robust_cv: f64) -> Finding {
    let evidence = format!(
        "1 ms of fixed work repeated for 0.3 s on one CPU: robust spread {:.1} %",
        robust_cv * 100.0
    );
    if robust_cv < STEADY {
        return fine(NAME, "The CPU's speed is steady.", evidence);
    }
    Finding {
        severity: if robust_cv > UNSTEADY {
            Severity::Problem
        } else {
            Severity::Notice
        },
        cost: "the less steady the speed, the more pairs it takes to see a small effect".to_owned(),
        advice: "look for throttling, other work or spent burst credit; give studies more rounds"
            .to_owned(),
        ..fine(NAME, "The CPU's own speed is not steady.", evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_a_notice_and_much_of_it_a_problem() {
        assert_eq!(judge(0.004).severity, Severity::Fine);
        assert_eq!(judge(0.05).severity, Severity::Notice);
        assert_eq!(judge(0.4).severity, Severity::Problem);
    }
}
