//! Whether the hypervisor gives our CPUs to others.

use model::finding::Finding;

use super::Subject;
use crate::cpu_ticks::{self, CpuTicks};

/// Share of the CPU time wanted since boot that was stolen; from this on it is reported.
const SHOWS: f64 = 0.01;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let stat = subject.tree.text("proc/stat").unwrap_or_default();
    Some(judge(cpu_ticks::parse(&stat)))
}

pub(super) fn judge(ticks: Option<CpuTicks>) -> Finding {
    let Some(CpuTicks { machine, .. }) = ticks else {
        return say!("stolen-time.hidden");
    };
    let stolen_ns = machine.stolen_ns;
    let share = stolen_ns as f64 / (machine.busy_ns() + stolen_ns).max(1) as f64;
    let percent = format!("{:.2}", share * 100.0);
    match share < SHOWS {
        true => say!("stolen-time.none", percent),
        false => say!("stolen-time.some", percent),
    }
}
