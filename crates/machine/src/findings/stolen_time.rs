//! Whether the hypervisor gave our CPUs to others.

use model::finding::Finding;

use super::Subject;
use crate::cpu_ticks::{self, CpuTicks};

/// Share of the wanted time, since boot, that was not given.
const SHOWS: f64 = 0.01;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let stat = subject.tree.text("proc/stat").unwrap_or_default();
    Some(judge(cpu_ticks::parse(&stat)))
}

fn judge(ticks: Option<CpuTicks>) -> Finding {
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

#[cfg(test)]
mod tests {
    use model::finding::Severity;

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
