//! Judges a sweep from its blocks.

use model::doubt::worded;
use model::judgement::{LevelShape, LoadSweep, RoundsEstimate, SweepBlock};
use model::load_run::{self, SavedLoad};
use model::random::SplitMix64;
use model::reading::{MachineCpu, MachinePerUnit};
use model::sweep::{Axis, Sweep};
use model::{BlockRecord, Histogram, Reading};

use super::{Block, Level, fit, knee};
use crate::quantile::Pooled;
use crate::signed_rank::SignedRank;

/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;
/// The most rounds of a sweep, as `--rounds` allows.
const MOST_ROUNDS: u32 = 1000;

/// One level, its blocks, and the values from which knee and law are computed.
struct Measured<'a> {
    load: f64,
    blocks: Vec<&'a Reading>,
    level: Level,
    /// Whether the client was the limit in half of the level's blocks or more.
    client_is_limit: bool,
}

/// Judges a sweep of this range.
pub fn judge_sweep(
    run: &SavedLoad,
    (range, rounds): (Sweep, u32),
    blocks: &[BlockRecord],
) -> LoadSweep {
    let study = &run.study;
    let is_open = range.axis == Axis::Rate;
    // A run folder may come from a stranger: its range alone defines the levels.
    let levels = load_run::Level::all_of(&range);
    let blocks: Vec<(f64, &BlockRecord)> = blocks
        .iter()
        .filter(|block| block.round < rounds.min(MOST_ROUNDS))
        .filter_map(|block| {
            let level = levels.iter().find(|level| level.name == block.arm)?;
            Some((level.load, block))
        })
        .collect();
    let measured = levels.iter().map(|level| {
        let is_at = |(load, _): &&(f64, &BlockRecord)| load.to_bits() == level.load.to_bits();
        let of = blocks.iter().filter(is_at).map(|(_, block)| &block.reading);
        Measured::of(level.load, of.collect(), range.axis)
    });
    let measured: Vec<Measured<'_>> = measured.filter(|level| !level.blocks.is_empty()).collect();
    let usable = measured.iter().filter(|level| level.is_usable());
    let usable: Vec<Level> = usable.map(|level| level.level.clone()).collect();
    let random = SplitMix64::new(run.seed);
    let usl = fit(&usable, random.clone().stream(1)).filter(|_| !is_open);
    LoadSweep {
        linerate_version: run.linerate_version.clone(),
        target: study.target.clone(),
        address: study.address.clone(),
        sweep: range.to_string(),
        axis: range.axis,
        http: study.http,
        streams: study.streams,
        connections: is_open.then_some(study.connections),
        arrivals: is_open.then_some(study.arrivals),
        threads: study.threads,
        rounds,
        seed: run.seed,
        settle_seconds: study.settle_ns as f64 / 1e9,
        block_seconds: study.score_ns as f64 / 1e9,
        is_over: blocks.len() == levels.len() * rounds as usize,
        levels: measured
            .iter()
            .map(|level| level.shape(range.axis))
            .collect(),
        knee: knee(&usable, random.stream(2)),
        usl,
        blocks: blocks.iter().map(block_shape).collect(),
        doubts: worded(&run.doubts),
        notes: study.notes.clone(),
    }
}

impl<'a> Measured<'a> {
    fn of(load: f64, blocks: Vec<&'a Reading>, axis: Axis) -> Self {
        let judged = blocks.iter().filter_map(|reading| {
            let throughput_rps = reading.throughput_rps();
            let response = times(reading, axis)?
                .mean()
                .filter(|_| throughput_rps > 0.0)?;
            Some(Block {
                throughput_rps,
                response,
            })
        });
        let limited = blocks
            .iter()
            .filter(|block| block.client_is_limit())
            .count();
        Self {
            load,
            level: Level {
                load,
                blocks: judged.collect(),
            },
            client_is_limit: 2 * limited >= blocks.len(),
            blocks,
        }
    }

    /// Whether knee and law may use this level. A block without a correct answer has no logarithm.
    fn is_usable(&self) -> bool {
        !self.client_is_limit && self.level.blocks.len() == self.blocks.len()
    }

    fn shape(&self, axis: Axis) -> LevelShape {
        let times = self
            .blocks
            .iter()
            .filter_map(|reading| times(reading, axis));
        let pooled = Pooled::of(times.collect::<Vec<_>>());
        let answered: u64 = self.blocks.iter().map(|block| block.answered).sum();
        let per_request_us = |ns: u64| (answered > 0).then(|| ns as f64 / 1e3 / answered as f64);
        LevelShape {
            load: self.load,
            throughput_rps: self.estimate(&|block| Some(block.throughput_rps())),
            latency_us_p50: pooled.estimate(0.5).map(Into::into),
            latency_us_p99: pooled.estimate(0.99).map(Into::into),
            server_cpu_us_per_request: self.estimate(&Reading::server_cpu_us_per_request),
            client_cpu_us_per_request: self.estimate(&Reading::client_cpu_us_per_request),
            // A block may be shorter than the ticks in which this time is counted.
            machine_cpu_us_per_request: self
                .estimate(&|block| block.machine_cpu_us_per_request().filter(|us| *us > 0.0)),
            machine_us_per_request: MachinePerUnit::of(self.machine(), per_request_us),
            client_is_limit: self.client_is_limit,
        }
    }

    fn machine(&self) -> Option<MachineCpu> {
        let mut sum = MachineCpu::default();
        for block in &self.blocks {
            sum.add(&block.cpu.machine?);
        }
        Some(sum)
    }

    /// The Hodges–Lehmann estimate of the logarithms with its signed-rank interval, converted back
    /// to the figure's unit; `None` where a block has no figure.
    fn estimate(&self, of: &dyn Fn(&Reading) -> Option<f64>) -> Option<RoundsEstimate> {
        let values: Option<Vec<f64>> = self.blocks.iter().map(|block| of(block)).collect();
        let logs: Vec<f64> = values?.iter().map(|value| value.ln()).collect();
        let ranks = SignedRank::of(&logs)?;
        let interval = ranks.interval(ALPHA);
        Some(RoundsEstimate {
            value: ranks.estimate().exp(),
            low: interval.low.exp(),
            high: interval.high.exp(),
            rounds: crate::count(logs.len()),
        })
    }
}

/// The times of a block: in open loop what users wait; in closed loop the service times, since
/// nothing else is measured.
fn times(reading: &Reading, axis: Axis) -> Option<&Histogram> {
    let latency = reading.latency.as_ref()?;
    Some(match axis {
        Axis::Connections => &latency.service,
        Axis::Rate => &latency.response,
    })
}

fn block_shape(&(load, block): &(f64, &BlockRecord)) -> SweepBlock {
    let reading = &block.reading;
    SweepBlock {
        round: block.round + 1,
        load,
        throughput_rps: reading.throughput_rps(),
        server_cpu_us_per_request: reading.server_cpu_us_per_request(),
        client_cpu_us_per_request: reading.client_cpu_us_per_request(),
        client_is_limit: reading.client_is_limit(),
        failed_share: reading.failed_share(),
    }
}
