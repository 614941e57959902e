//! The figures of each level, with their intervals over the rounds.

use judge::quantile::Pooled;
use judge::signed_rank::SignedRank;
use model::judgement::QuantileEstimate;
use model::reading::MachineCpu;
use model::{Estimate, Histogram};

use super::{Axis, Block};

/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;

/// One level and what its blocks came to.
pub(super) struct LevelFigures {
    pub(super) load: f64,
    pub(super) throughput_rps: Option<Estimate>,
    pub(super) p50: Option<QuantileEstimate>,
    pub(super) p99: Option<QuantileEstimate>,
    pub(super) server_cpu_us: Option<Estimate>,
    pub(super) client_cpu_us: Option<Estimate>,
    /// Of all CPUs of this machine.
    pub(super) machine_cpu_us: Option<Estimate>,
    /// The same with its parts, over all blocks together, and the answers that it was for.
    pub(super) machine: Option<MachineCpu>,
    pub(super) answered: u64,
    /// In half of its blocks or more.
    pub(super) client_is_limit: bool,
    /// A block had not one right answer, so that no logarithm can be taken.
    pub(super) is_silent: bool,
    /// Throughput and mean time of each block.
    judged: Vec<judge::sweep::Block>,
}

impl LevelFigures {
    /// Whether knee and law are told from it too.
    pub(super) fn is_judged(&self) -> bool {
        !self.client_is_limit && !self.is_silent
    }
}

/// The figures of every level that has a block.
pub(super) fn of_levels(loads: &[f64], blocks: &[Block], axis: Axis) -> Vec<LevelFigures> {
    let of = |load: &f64| -> Vec<&Block> {
        let at = |block: &&Block| block.load.to_bits() == load.to_bits();
        blocks.iter().filter(at).collect()
    };
    let levels = loads.iter().map(|load| (*load, of(load)));
    let begun = levels.filter(|(_, blocks)| !blocks.is_empty());
    begun
        .map(|(load, blocks)| of_level(load, &blocks, axis))
        .collect()
}

/// What knee and law are told from.
pub(super) fn judged(levels: &[LevelFigures]) -> Vec<judge::sweep::Level> {
    let usable = levels.iter().filter(|level| level.is_judged());
    usable
        .map(|level| judge::sweep::Level {
            load: level.load,
            blocks: level.judged.clone(),
        })
        .collect()
}

fn of_level(load: f64, blocks: &[&Block], axis: Axis) -> LevelFigures {
    let times: Vec<&Histogram> = blocks.iter().map(|block| times(block, axis)).collect();
    let pooled = Pooled::of(times.clone());
    let limited = blocks.iter().filter(|block| block.client_is_limit).count();
    let judged = blocks.iter().zip(&times).filter_map(|(block, times)| {
        let response = times.mean().filter(|_| block.throughput_rps > 0.0)?;
        Some(judge::sweep::Block {
            throughput_rps: block.throughput_rps,
            response,
        })
    });
    let judged: Vec<judge::sweep::Block> = judged.collect();
    LevelFigures {
        load,
        throughput_rps: estimate(blocks, |block| Some(block.throughput_rps)),
        p50: pooled.estimate(0.5),
        p99: pooled.estimate(0.99),
        server_cpu_us: estimate(blocks, |block| block.server_cpu_us),
        client_cpu_us: estimate(blocks, |block| block.client_cpu_us),
        machine_cpu_us: estimate(blocks, machine_cpu_us),
        machine: machine(blocks),
        answered: blocks.iter().map(|block| block.answered).sum(),
        client_is_limit: 2 * limited >= blocks.len(),
        is_silent: judged.len() < blocks.len(),
        judged,
    }
}

/// A block may be too short for the ticks that it is counted in.
fn machine_cpu_us(block: &Block) -> Option<f64> {
    let busy_ns = block.machine?.busy_ns();
    let is_some = busy_ns > 0 && block.answered > 0;
    is_some.then(|| busy_ns as f64 / 1e3 / block.answered as f64)
}

fn machine(blocks: &[&Block]) -> Option<MachineCpu> {
    let mut sum = MachineCpu::default();
    for block in blocks {
        sum.add(&block.machine?);
    }
    Some(sum)
}

/// What a user waits in open loop; in closed loop nothing but the service time is measured.
fn times(block: &Block, axis: Axis) -> &Histogram {
    match axis {
        Axis::Connections => &block.latency.service,
        Axis::Rate => &block.latency.response,
    }
}

/// The Hodges–Lehmann estimate of the logarithms with its signed-rank interval, as figures again;
/// `None` where a block has none.
fn estimate(blocks: &[&Block], of: impl Fn(&Block) -> Option<f64>) -> Option<Estimate> {
    let values: Option<Vec<f64>> = blocks.iter().map(|block| of(block)).collect();
    let logs: Vec<f64> = values?.iter().map(|value| value.ln()).collect();
    let ranks = SignedRank::of(&logs)?;
    let interval = ranks.interval(ALPHA);
    Some(Estimate {
        value: ranks.estimate().exp(),
        low: interval.low.exp(),
        high: interval.high.exp(),
        n: u32::try_from(logs.len()).unwrap_or(u32::MAX),
    })
}
