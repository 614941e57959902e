//! Checks whether this machine is fit to measure, and whether it may be loaded.

use model::Doubt;
use model::facts::{Facts, IrqTimeAccounting, Watched};
use model::run::ClientHost;

/// Share of all CPUs, 0 to 1. If foreign work uses more, the machine is busy.
const FOREIGN_CPU_SHARE: f64 = 0.10;
/// PSI of CPUs, per cent. A higher value means that tasks wait.
const PSI_PERCENT: f64 = 5.0;
/// CPU time that a busy client and a busy server use together, in CPUs.
const BOTH_SIDES_CPUS: f64 = 2.0;

/// Returns the doubts that come from watching the machine at rest. Any of them means that it is
/// busy, and that it should not be loaded without its owner's consent.
pub fn work_of_others(watched: &Watched) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(cpu_share) = watched
        .foreign_cpu_share
        .filter(|share| *share > FOREIGN_CPU_SHARE)
    {
        doubts.push(Doubt::ForeignWork { cpu_share });
    }
    // `avg10` still reflects a build that ended a moment ago, so the present pressure must agree.
    let fresh = watched.psi_cpu_some_now.is_none_or(|now| now > PSI_PERCENT);
    let pressed = watched
        .psi_cpu_some_avg10
        .filter(|psi| *psi > PSI_PERCENT && fresh);
    if let Some(waiting_percent) = pressed {
        doubts.push(Doubt::CpuPressure { waiting_percent });
    }
    if watched.foreign_served_connections > 0 {
        let connections = watched.foreign_served_connections;
        doubts.push(Doubt::ServingOthers { connections });
    }
    doubts
}

/// Returns the doubts about other work on the client's host, if that is another machine.
pub fn work_beside_the_client(client: &ClientHost) -> Vec<Doubt> {
    if client.same_machine {
        Vec::new()
    } else {
        work_of_others(&client.watched)
    }
}

/// Returns the doubt about a CPU quota below what both sides use: the kernel stops the processes
/// that run in it.
pub fn quota_doubt(facts: &Facts) -> Option<Doubt> {
    let cpus = facts.cpu_quota.filter(|cpus| *cpus < BOTH_SIDES_CPUS)?;
    Some(Doubt::CpuQuota { cpus })
}

/// Returns the doubt that interrupts count in no process's CPU time, on any of these machines.
pub fn irq_time_doubt<'a>(facts: impl IntoIterator<Item = &'a Facts>) -> Option<Doubt> {
    let is_on = |facts: &Facts| facts.irq_time_accounting == Some(IrqTimeAccounting::On);
    facts.into_iter().any(is_on).then_some(Doubt::IrqTimeApart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_at_rest_raises_no_doubt() {
        let watched = Watched {
            foreign_cpu_share: Some(0.02),
            psi_cpu_some_avg10: Some(1.0),
            ..Watched::default()
        };
        assert!(work_of_others(&watched).is_empty());
    }

    #[test]
    fn each_sign_of_work_raises_its_own_doubt() {
        let watched = Watched {
            foreign_cpu_share: Some(0.4),
            psi_cpu_some_avg10: Some(30.0),
            psi_cpu_some_now: Some(25.0),
            foreign_served_connections: 3,
            spin_robust_cv: 0.0,
        };
        assert_eq!(work_of_others(&watched).len(), 3);
    }

    #[test]
    fn pressure_that_has_just_ended_does_not_count() {
        let watched = Watched {
            psi_cpu_some_avg10: Some(60.0),
            psi_cpu_some_now: Some(0.5),
            ..Watched::default()
        };
        assert!(work_of_others(&watched).is_empty());
    }

    #[test]
    fn interrupts_kept_apart_on_either_host_are_a_doubt_and_otherwise_none() {
        let facts = |irq_time_accounting| Facts {
            irq_time_accounting,
            ..Facts::default()
        };
        let older = facts(None);
        let [on, off, unknown] = [
            IrqTimeAccounting::On,
            IrqTimeAccounting::Off,
            IrqTimeAccounting::Unknown,
        ]
        .map(|how| facts(Some(how)));
        assert_eq!(irq_time_doubt([&older, &off, &unknown]), None);
        assert_eq!(irq_time_doubt([&off, &on]), Some(Doubt::IrqTimeApart));
    }

    #[test]
    fn a_quota_below_what_both_sides_use_stops_them() {
        let doubt = |cpu_quota| {
            let facts = Facts {
                cpu_quota,
                ..Facts::default()
            };
            quota_doubt(&facts)
        };
        assert_eq!(doubt(None), None);
        assert_eq!(doubt(Some(2.0)), None);
        assert_eq!(doubt(Some(0.5)), Some(Doubt::CpuQuota { cpus: 0.5 }));
    }
}
