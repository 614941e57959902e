//! What went on around the measurement: other work, pressure, and a machine whose speed shifted.

use std::net::IpAddr;

use model::gate::Unit;
use model::study::{Program, Role};
use model::{Doubt, RunRecord};

use crate::median;
use crate::metric::Metric;
use crate::rounds::Rounds;

/// Share of all CPUs that other work may take without a doubt, on average over the blocks.
pub(crate) const FOREIGN_SHARE: f64 = 0.10;
/// Share of the time in which some task may wait for a CPU without a doubt. Client, server and the
/// kernel's threads wait for one another a little on a quiet machine too.
pub(crate) const PRESSURE_SHARE: f64 = 0.25;
/// Change of the baseline between the first and the last third of a run above which a doubt is
/// raised.
const SHIFT: f64 = 0.05;
/// Fewest baseline blocks for a comparison of thirds.
const FEWEST_BLOCKS_FOR_THIRDS: usize = 9;

/// The doubts that the blocks' surroundings raise.
pub(crate) fn doubts(run: &RunRecord, rounds: &Rounds<'_>) -> Vec<Doubt> {
    [
        foreign_work(run, rounds),
        pressure(rounds),
        shift(run, rounds),
        one_machine(run, rounds),
        missed(rounds),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn foreign_work(run: &RunRecord, rounds: &Rounds<'_>) -> Option<Doubt> {
    let cpus = f64::from(run.facts.cpus_online.max(1));
    let cpu_share = mean(rounds.blocks().filter_map(|block| {
        let reading = &block.reading;
        let foreign_ns = reading.cpu.foreign_ns? as f64;
        (reading.window_ns > 0).then(|| foreign_ns / (reading.window_ns as f64 * cpus))
    }))?;
    (cpu_share > FOREIGN_SHARE).then_some(Doubt::ForeignWork { cpu_share })
}

fn pressure(rounds: &Rounds<'_>) -> Option<Doubt> {
    let share = mean(
        rounds
            .blocks()
            .filter_map(|block| block.reading.cpu.psi_some_share),
    )?;
    (share > PRESSURE_SHARE).then_some(Doubt::CpuPressure {
        waiting_percent: share * 100.0,
    })
}

/// Compares the baseline's CPU per request in the first third of the run with the last. It takes
/// the target's CPU, or the load generator's where the target's is hidden.
fn shift(run: &RunRecord, rounds: &Rounds<'_>) -> Option<Doubt> {
    let baseline = run.arms.iter().find(|arm| arm.role == Role::Baseline)?;
    let values = [Metric::ServerCpu, Metric::ClientCpu]
        .map(|metric| rounds.values(metric).of_arm(&baseline.name))
        .into_iter()
        .find(|values| values.len() >= FEWEST_BLOCKS_FOR_THIRDS)?;
    let share = shift_of(&values)?;
    Some(match run.is_watched() {
        true => Doubt::TrafficShifted { share },
        false => Doubt::MachineShifted { share },
    })
}

/// The share by which the last third of some values differs from the first, if it is large enough
/// for a doubt.
pub(crate) fn shift_of(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST_BLOCKS_FOR_THIRDS {
        return None;
    }
    let third = values.len() / 3;
    let first = median::of(&values[..third])?;
    let last = median::of(&values[values.len() - third..])?;
    let share = (last / first).ln().abs().exp_m1();
    (share > SHIFT).then_some(share)
}

/// The doubt that both sides share one machine. Servers that we start run beside the client. A
/// server of the user's does too if it is reached over loopback, or if its CPU time could be read
/// here.
fn one_machine(run: &RunRecord, rounds: &Rounds<'_>) -> Option<Doubt> {
    let unit = run.study.gate.as_ref().map(|gate| gate.unit);
    if unit == Some(Unit::Run) || run.is_watched() {
        return None;
    }
    if let Some(client) = &run.client {
        return client.same_machine.then_some(Doubt::OneMachine);
    }
    let is_local = |program: &Program| match program {
        Program::Serve | Program::Echo | Program::Service(_) | Program::Built(_) => true,
        Program::Url(url) | Program::Watched(url) => is_loopback(url),
        Program::Request(request) => is_loopback(&request.url),
    };
    let local = run.arms.iter().any(|arm| is_local(&arm.program))
        || rounds
            .blocks()
            .any(|block| block.reading.cpu.server_ns.is_some());
    local.then_some(Doubt::OneMachine)
}

fn missed(rounds: &Rounds<'_>) -> Option<Doubt> {
    let counts = rounds.blocks().map(|block| block.reading.cpu.missed_before);
    let (missed, counted) = counts.fold((0, 0), |(sum, count), missed| (sum + missed, count + 1));
    (missed > 0).then_some(Doubt::BlocksMissed { missed, counted })
}

fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    let host = match authority[..end].strip_prefix('[') {
        Some(ipv6) => ipv6.split(']').next(),
        None => authority[..end].split(':').next(),
    };
    host.is_some_and(|host| {
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        for url in [
            "http://127.0.0.1:8080/",
            "http://localhost/x",
            "http://[::1]:80/",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://192.0.2.7/127.0.0.1",
            "http://example.org/?localhost",
            "http://localhost.example.org/",
            "http://127.example.org:8080/",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
