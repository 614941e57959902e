//! The ceilings of servers under load, from what their blocks spent.

use model::ceiling::{AnswerDemand, ArmCeilings};
use model::cpus::CpuShare;
use model::explanation::ResourceBound;
use model::study::Role;
use model::{Arm, RunRecord};

use super::{Served, bounds};
use crate::median;
use crate::rounds::Rounds;

/// The ceilings of every arm of the climb but control and floor; none for a server that others
/// load.
pub(crate) fn of_arms(run: &RunRecord, rounds: &Rounds<'_>) -> Vec<ArmCeilings> {
    if run.is_watched() {
        return Vec::new();
    }
    let asked =
        |arm: &&Arm| arm.role.is_of_the_climb() && !matches!(arm.role, Role::Control | Role::Floor);
    let arms = run.arms.iter().filter(asked);
    let of_arm = |arm: &Arm| ArmCeilings {
        arm: arm.name.clone(),
        bounds: of_arm(run, arm, rounds),
    };
    arms.map(of_arm)
        .filter(|it| !it.bounds.is_empty())
        .collect()
}

fn of_arm(run: &RunRecord, arm: &Arm, rounds: &Rounds<'_>) -> Vec<ResourceBound> {
    let readings = || rounds.blocks_of(&arm.name).map(|block| &block.reading);
    let answered: f64 = readings().map(|reading| reading.answered as f64).sum();
    if answered <= 0.0 {
        return Vec::new();
    }
    let cpu_ns = readings().map(|it| it.cpu.server_ns.map(|ns| ns as f64));
    let busy_shares: Vec<f64> = readings().map(|it| it.cpu.client_busy_share).collect();
    bounds(&Served {
        answered,
        window_ns: readings().map(|it| it.window_ns as f64).sum(),
        cpu_ns: cpu_ns.sum(),
        client_busy_share: median::of(&busy_shares),
        demand: &demand(run, arm),
        probed: &run.probed,
    })
}

/// What an answer of the arm demands: as it was observed, or as follows from how the server was
/// started.
fn demand(run: &RunRecord, arm: &Arm) -> AnswerDemand {
    let seen = run.demands.iter().find(|demand| demand.arm == arm.name);
    if let Some(seen) = seen {
        return seen.clone();
    }
    let cpus = run.cpus.as_ref().map(|cpus| workers(run, arm, cpus));
    AnswerDemand {
        cpus,
        // One worker is one thread that does all the work, and has one CPU.
        busiest_share: (cpus == Some(1)).then_some(1.0),
        ..AnswerDemand::default()
    }
}

/// How many CPUs the workers use: one each, as far as the server has CPUs.
fn workers(run: &RunRecord, arm: &Arm, cpus: &CpuShare) -> u32 {
    let of_all = || run.study.workload.workers.counts(1).first().copied();
    let workers = arm.workers.or_else(of_all).unwrap_or(1);
    workers.min(cpus.server_cpus.max(1))
}
