//! Each arm's own figures over its blocks.

use model::judgement::{ArmResult, MachineResult};
use model::reading::MachineCpu;
use model::study::Role;
use model::{Arm, Estimate};

use crate::contrast::Contrast;
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::{median, signed_rank};

/// Two-sided error of the intervals beside figures that no verdict is about.
const ALPHA: f64 = 0.05;

/// The figures of every arm of the climb, in the study's order.
pub(crate) fn results(arms: &[Arm], rounds: &Rounds<'_>) -> Vec<ArmResult> {
    let floor = arms.iter().find(|arm| arm.role == Role::Floor);
    let climbed = arms.iter().filter(|arm| arm.role.is_of_the_climb());
    climbed.map(|arm| result(arm, floor, rounds)).collect()
}

/// The figures of one arm, with its ratio to the floor where there is one.
pub(crate) fn result(arm: &Arm, floor: Option<&Arm>, rounds: &Rounds<'_>) -> ArmResult {
    let over_blocks = |metric| median::estimate(&rounds.values(metric).of_arm(&arm.name), ALPHA);
    let server_cpu = over_blocks(Metric::ServerCpu);
    let busy_shares: Vec<f64> = rounds
        .blocks_of(&arm.name)
        .map(|block| block.reading.cpu.client_busy_share)
        .collect();
    ArmResult {
        name: arm.name.clone(),
        title: arm.title.clone(),
        role: arm.role,
        server_cpu_us_per_request: server_cpu,
        client_cpu_us_per_request: over_blocks(Metric::ClientCpu),
        machine: over_blocks(Metric::MachineCpu).map(|median| machine(median, arm, rounds)),
        throughput_rps: over_blocks(Metric::Throughput),
        implied_rps_per_cpu: server_cpu.map(implied_rps),
        share_of_floor: floor
            .filter(|floor| floor.name != arm.name)
            .and_then(|floor| share_of_floor(&floor.name, &arm.name, rounds)),
        client_busy_share: median::of(&busy_shares),
        published: arm.published,
    }
}

/// The whole machine's CPU time per request: its median, and its parts over all blocks together.
fn machine(cpu_us_per_request: Estimate, arm: &Arm, rounds: &Rounds<'_>) -> MachineResult {
    let (mut sum, mut units) = (MachineCpu::default(), 0.0);
    for block in rounds.blocks_of(&arm.name) {
        if let Some(spent) = block.reading.cpu.machine {
            sum.add(&spent);
            units += block.reading.units();
        }
    }
    let each_us = |ns: u64| ns as f64 / 1e3 / units;
    MachineResult {
        cpu_us_per_request,
        user_us_per_request: each_us(sum.user_ns),
        system_us_per_request: each_us(sum.system_ns),
        irq_us_per_request: each_us(sum.irq_ns),
        softirq_us_per_request: each_us(sum.softirq_ns),
        stolen_us_per_request: each_us(sum.stolen_ns),
    }
}

/// The requests that one CPU-second pays for; the highest cost gives the lowest rate.
fn implied_rps(cpu_us: Estimate) -> Estimate {
    Estimate {
        value: 1e6 / cpu_us.value,
        low: 1e6 / cpu_us.high,
        high: 1e6 / cpu_us.low,
        n: cpu_us.n,
    }
}

fn share_of_floor(floor: &str, arm: &str, rounds: &Rounds<'_>) -> Option<Estimate> {
    let pairs = Contrast::pair(floor, arm).log_ratios(rounds.values(Metric::ServerCpu));
    let effect = signed_rank::effect(&pairs, ALPHA)?;
    Some(Estimate {
        value: effect.ratio,
        low: effect.low,
        high: effect.high,
        n: effect.n,
    })
}
