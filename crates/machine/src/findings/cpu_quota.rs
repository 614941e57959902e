//! Whether the control group limits our CPU time, and whether the limit was hit.

use model::finding::Finding;
use sys::cgroup::{Controller, Group, Throttling};

use super::Subject;

/// Share of the periods in which the group was throttled; above it, the quota causes slow tails.
const OFTEN: f64 = 0.01;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let group = Group::below(subject.tree.path(""), Controller::Cpu);
    Some(group.map_or_else(
        || say!("cpu-quota.no_group"),
        |group| judge(group.cpu_quota(), group.throttling()),
    ))
}

pub(super) fn judge(quota: Option<f64>, throttling: Option<Throttling>) -> Finding {
    let Some(quota) = quota.map(|cpus| format!("{cpus:.2}")) else {
        return say!("cpu-quota.none");
    };
    let seen = throttling.unwrap_or_default();
    let (throttled, periods) = (seen.throttled_periods, seen.periods);
    match throttled as f64 > OFTEN * periods as f64 {
        true => say!("cpu-quota.stopped", quota, throttled, periods),
        false => say!("cpu-quota.limits", quota, throttled, periods),
    }
}
