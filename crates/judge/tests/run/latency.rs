//! Latency blocks in, pooled quantiles and curves out.

use crate::built_run::{block, ladder};
use judge::judge;
use model::reading::LatencyReading;
use model::run::Phase;
use model::{BlockRecord, Doubt};

/// A latency block with `requests` even response times of 1 µs to `longest_us`.
fn latency_block(round: u32, arm: &str, requests: u64, longest_us: u64) -> BlockRecord {
    let mut block = block(round, 0, arm, 20.0);
    block.phase = Phase::Latency;
    block.reading.window_ns = 1_000_000_000;
    block.reading.answered = requests;
    let mut latency = LatencyReading {
        offered_rps: requests as f64 * 1.01,
        ..LatencyReading::default()
    };
    for request in 1..=requests {
        let response_ns = request * longest_us * 1000 / requests;
        latency.response.record(response_ns);
        latency.service.record(response_ns / 2);
        latency.lateness.record(100);
    }
    block.reading.latency = Some(latency);
    block
}

#[test]
fn blocks_of_an_arm_are_pooled_and_those_of_other_arms_are_not() {
    let mut blocks: Vec<BlockRecord> = (0..4)
        .map(|round| latency_block(round, "baseline", 5000, 1000))
        .collect();
    blocks.push(latency_block(0, "step-2", 500, 400));
    let latency = judge(&ladder(2, 16), &blocks).latency;
    let [baseline, last] = latency.try_into().unwrap();
    assert_eq!(
        (baseline.arm.as_str(), baseline.requests),
        ("baseline", 20_000)
    );
    assert_eq!((last.arm.as_str(), last.requests), ("step-2", 500));
    assert_eq!(
        (baseline.offered_rps, baseline.achieved_rps),
        (5050.0, 5000.0)
    );
    let shown: Vec<f64> = baseline.response.iter().map(|q| q.quantile).collect();
    assert_eq!(shown, [0.5, 0.99, 0.999]);
    let p99 = baseline.response[1];
    assert!(p99.value_ns.abs_diff(990_000) < 9000, "{p99:?}");
    assert!(p99.low_ns <= p99.value_ns && p99.value_ns <= p99.high_ns);
    assert!(baseline.service[1].value_ns.abs_diff(495_000) < 5000);
    assert!(baseline.lateness.iter().all(|q| q.value_ns == 100));
    assert_eq!(baseline.response_curve.len(), 60);
}

#[test]
fn latency_blocks_do_not_mix_with_throughput() {
    let blocks: Vec<BlockRecord> = (0..16)
        .map(|round| latency_block(round, "baseline", 100, 100))
        .collect();
    let judgement = judge(&ladder(2, 16), &blocks);
    assert_eq!(judgement.rounds_done, 0);
    assert_eq!(judgement.arms[0].throughput_rps, None);
}

#[test]
fn the_worst_late_sends_of_the_latency_blocks_are_one_doubt() {
    let late = |lateness_ns_p99| Doubt::LateSends {
        lateness_ns_p99,
        response_ns_p50: 100_000,
    };
    let mut blocks: Vec<BlockRecord> = (0..3)
        .map(|round| latency_block(round, "baseline", 100, 100))
        .collect();
    blocks[0].reading.doubts.push(late(200_000));
    blocks[1].reading.doubts.push(late(900_000));
    let doubts = judge(&ladder(2, 16), &blocks).doubts;
    let is_late = |doubt: &&Doubt| matches!(doubt, Doubt::LateSends { .. });
    let found: Vec<&Doubt> = doubts.iter().filter(is_late).collect();
    assert_eq!(found, [&late(900_000)]);
}
