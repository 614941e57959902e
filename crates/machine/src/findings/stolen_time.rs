//! Whether the hypervisor gave our CPUs to others.

use model::finding::{Finding, Severity};

use super::{Subject, fine, unknown};
use crate::cpu_ticks::{self, CpuTicks};

const NAME: &str = "stolen-time";
/// Share of the wanted time, since boot, that was not given.
const SHOWS: f64 = 0.01;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let stat = subject.tree.text("proc/stat").unwrap_or_default();
    Some(judge(cpu_ticks::parse(&stat)))
}

fn judge(ticks: Option<CpuTicks>) -> Finding {
    let Some(CpuTicks { machine, .. }) = ticks else {
        return unknown(
            NAME,
            "Stolen time cannot be seen.",
            "/proc/stat cannot be read",
        );
    };
    let stolen_ns = machine.stolen_ns;
    let share = stolen_ns as f64 / (machine.busy_ns() + stolen_ns).max(1) as f64;
    let evidence = format!(
        "/proc/stat since boot: {:.2} % of the time wanted was stolen",
        share * 100.0
    );
    if share < SHOWS {
        // Seen on a VM that others slowed fourfold: no steal does not prove that nobody took time.
        let what = "The hypervisor admits to no time taken from us, which proves little.";
        return fine(NAME, what, evidence);
    }
    Finding {
        severity: Severity::Notice,
        cost: "what is stolen is missing from throughput and shows in the tail".to_owned(),
        advice: "measure in pairs, and compare CPU per request; or take a dedicated host"
            .to_owned(),
        ..fine(NAME, "The hypervisor gave our CPUs to others.", evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::MachineCpu;

    #[test]
    fn a_hundredth_of_the_wanted_time_shows() {
        let ticks = |stolen_ns| {
            Some(CpuTicks {
                machine: MachineCpu {
                    user_ns: 1000,
                    stolen_ns,
                    ..MachineCpu::default()
                },
                idle_ns: 0,
            })
        };
        assert_eq!(judge(ticks(2)).severity, Severity::Fine);
        assert_eq!(judge(ticks(50)).severity, Severity::Notice);
        assert_eq!(judge(Some(CpuTicks::default())).severity, Severity::Fine);
        assert_eq!(judge(None).severity, Severity::Unknown);
    }
}
