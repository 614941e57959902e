//! Whether tasks wait for a CPU.

use model::finding::{Finding, Severity};

use super::{Subject, fine, unknown};

const NAME: &str = "cpu-pressure";
/// Per cent of the last ten seconds in which a task waited; above it, a study wants the owner's word.
const TOO_MUCH: f64 = 5.0;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.watched.psi_cpu_some_avg10))
}

fn judge(some_avg10: Option<f64>) -> Finding {
    let Some(percent) = some_avg10 else {
        let evidence = "/proc/pressure/cpu cannot be read; the kernel may need psi=1 at boot";
        return unknown(
            NAME,
            "Whether tasks wait for a CPU cannot be seen.",
            evidence,
        );
    };
    let evidence = format!("/proc/pressure/cpu: some avg10 = {percent:.1}");
    if percent <= TOO_MUCH {
        return fine(NAME, "Hardly a task waits for a CPU.", evidence);
    }
    Finding {
        severity: Severity::Problem,
        cost: "waiting shows in every latency and in throughput; steal time need not show it"
            .to_owned(),
        advice: "wait ten seconds and look again, or stop the other work".to_owned(),
        ..fine(
            NAME,
            format!("Tasks wait for a CPU {percent:.0} % of the time."),
            evidence,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_more_than_a_twentieth_of_the_time_is_a_problem() {
        assert_eq!(judge(Some(4.0)).severity, Severity::Fine);
        assert_eq!(judge(Some(40.0)).severity, Severity::Problem);
        assert_eq!(judge(None).severity, Severity::Unknown);
    }
}
