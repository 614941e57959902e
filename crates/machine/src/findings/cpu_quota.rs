//! Whether the control group limits our CPU time, and whether the limit was hit.

use model::finding::{Finding, Severity};
use sys::cgroup::{Controller, Group, Throttling};

use super::{Subject, fine};

const NAME: &str = "cpu-quota";
/// Share of the periods in which the group was stopped, from which tails are the quota's work.
const OFTEN: f64 = 0.01;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let Some(group) = Group::below(subject.tree.path(""), Controller::Cpu) else {
        let what = "No control group limits our CPU time.";
        return Some(fine(NAME, what, "no CPU controller is mounted"));
    };
    Some(judge(group.cpu_quota(), group.throttling()))
}

fn judge(quota: Option<f64>, throttling: Option<Throttling>) -> Finding {
    let throttling = throttling.unwrap_or_default();
    let Some(quota) = quota else {
        return fine(
            NAME,
            "No quota limits our CPU time.",
            "cpu.max, or cpu.cfs_quota_us, of our group and those above it",
        );
    };
    let often = throttling.throttled_periods as f64 > OFTEN * throttling.periods as f64;
    let stopped = if often {
        ", and it was stopped for it"
    } else {
        ""
    };
    Finding {
        severity: if often {
            Severity::Problem
        } else {
            Severity::Notice
        },
        cost: "a group that has used its quota stands still for the rest of each period, up to \
               100 ms: no average shows it, p99 does"
            .to_owned(),
        advice: "run no more busy threads than the quota is worth, or ask for more".to_owned(),
        ..fine(
            NAME,
            format!("Our control group has a quota of {quota:.2} CPUs{stopped}."),
            format!(
                "nr_throttled {} of nr_periods {}",
                throttling.throttled_periods, throttling.periods
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_notice_and_a_quota_that_was_hit_a_problem() {
        let throttled = |throttled_periods| {
            Some(Throttling {
                periods: 1000,
                throttled_periods,
            })
        };
        assert_eq!(judge(None, throttled(0)).severity, Severity::Fine);
        assert_eq!(judge(Some(2.0), None).severity, Severity::Notice);
        assert_eq!(judge(Some(2.0), throttled(5)).severity, Severity::Notice);
        assert_eq!(judge(Some(2.0), throttled(200)).severity, Severity::Problem);
    }
}
