//! Latency of the arms that were run in latency mode, pooled over their blocks.

use model::judgement::LatencyResult;
use model::reading::{LatencyReading, Ledger};
use model::run::Phase;
use model::{Arm, BlockRecord, Histogram};

use crate::doubts;
use crate::quantile::Pooled;

/// One result per arm with latency blocks, in the study's order.
pub(crate) fn results(arms: &[Arm], blocks: &[BlockRecord]) -> Vec<LatencyResult> {
    arms.iter()
        .filter_map(|arm| {
            let blocks: Vec<(&BlockRecord, &LatencyReading)> = blocks
                .iter()
                .filter(|block| block.phase == Phase::Latency && block.arm == arm.name)
                .filter_map(|block| Some((block, block.reading.latency.as_ref()?)))
                .collect();
            (!blocks.is_empty()).then(|| result(arm, &blocks))
        })
        .collect()
}

fn result(arm: &Arm, blocks: &[(&BlockRecord, &LatencyReading)]) -> LatencyResult {
    let pooled = |histogram: fn(&LatencyReading) -> &Histogram| {
        Pooled::of(
            blocks
                .iter()
                .map(|(_, latency)| histogram(latency))
                .collect(),
        )
    };
    let response = pooled(|latency| &latency.response);
    let window_s = |block: &BlockRecord| block.reading.window_ns as f64 / 1e9;
    let whole_s: f64 = blocks.iter().map(|(block, _)| window_s(block)).sum();
    let offered: f64 = blocks
        .iter()
        .map(|(block, latency)| latency.offered_rps * window_s(block))
        .sum();
    let answered = blocks.iter().map(|(block, _)| block.reading.answered);
    let answered = answered.fold(0, u64::saturating_add);
    // A reading without a window gives rates of 0, not 0 ÷ 0.
    let per_second = |amount: f64| if whole_s > 0.0 { amount / whole_s } else { 0.0 };
    LatencyResult {
        arm: arm.name.clone(),
        title: arm.title.clone(),
        offered_rps: per_second(offered),
        achieved_rps: per_second(answered as f64),
        requests: response.total(),
        lost_share: lost_share(blocks),
        client_is_limit: doubts::is_frequent(
            blocks.iter().map(|(block, _)| *block),
            doubts::is_client_limit,
        ),
        response: response.reported(),
        service: pooled(|latency| &latency.service).reported(),
        lateness: pooled(|latency| &latency.lateness).reported(),
        response_curve: response.curve(),
    }
}

fn lost_share(blocks: &[(&BlockRecord, &LatencyReading)]) -> f64 {
    let mut ledger = Ledger::default();
    for (block, _) in blocks {
        ledger.add(&block.reading.ledger);
    }
    let lost = ledger.errors.failed() - ledger.errors.timeout;
    lost as f64 / ledger.sent.max(1) as f64
}
