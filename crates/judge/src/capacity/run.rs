//! Judges a search for a capacity from its blocks.

use model::doubt::worded;
use model::judgement::{Likely, LoadSlo, SloBlock, TallyShape};
use model::load_run::SavedLoad;
use model::objective::Objective;
use model::{BlockRecord, Doubt};

use super::course::{BlockVerdict, Course, Look, OFFERED};
use super::{Capacity, Seen, TRUST, Tally};

/// Judges a search for the highest rate that holds an objective; `None` where it had not begun, or
/// where there are blocks that such a search does not ask for.
pub fn judge_capacity(
    run: &SavedLoad,
    objective: &Objective,
    blocks: &[BlockRecord],
) -> Option<LoadSlo> {
    let study = &run.study;
    let look = Look::of(blocks)?;
    let mut course = Course::begin(objective, study, run.seed, look).ok()?;
    let offered = blocks.iter().filter(|block| block.arm == OFFERED);
    let slo_blocks: Option<Vec<SloBlock>> = offered
        .map(|block| Some(block_shape(block, course.saw(&block.reading)?)))
        .collect();
    // Only this further question makes the search notice that it is over.
    course.next_rps();
    let found = course.found();
    let [low, high] = found.likely_rps;
    let mut doubts = run.doubts.clone();
    doubts.extend(disagreed_below(&found));
    Some(LoadSlo {
        linerate_version: run.linerate_version.clone(),
        target: study.target.clone(),
        address: study.address.clone(),
        objective: objective.to_string(),
        http: study.http,
        streams: study.streams,
        connections: study.connections,
        threads: study.threads,
        arrivals: study.arrivals,
        seed: run.seed,
        settle_seconds: study.settle_ns as f64 / 1e9,
        block_seconds: study.score_ns as f64 / 1e9,
        closed_loop_rps: look.closed_loop_rps,
        closed_loop_rps_at_four_times_the_connections: look.more_connections_rps,
        lowest_rps: course.range.lowest_rps,
        highest_rps: course.range.highest_rps,
        is_over: found.is_over,
        holds: found.holds.as_ref().map(tally),
        fails: found.fails.as_ref().map(tally),
        undecided: found.undecided.iter().map(tally).collect(),
        likely_rps: Likely { low, high },
        hysteresis: found.hysteresis,
        blocks: slo_blocks?,
        doubts: worded(&doubts),
        notes: study.notes.clone(),
    })
}

/// A doubt where blocks disagreed at rates below the one that holds. They say nothing against that
/// rate, yet it may have held by chance: the more so, the more rates were tried.
fn disagreed_below(found: &Capacity) -> Option<Doubt> {
    let holds_rps = found.holds?.rate_rps;
    let split = found.undecided.iter().filter(|tally| tally.is_over());
    let below = split.map(|tally| tally.rate_rps);
    let below: Vec<f64> = below.filter(|rate_rps| *rate_rps < holds_rps).collect();
    Some(Doubt::LowerRatesDisagreed {
        rates: u32::try_from(below.len()).unwrap_or(u32::MAX),
        lowest_rps: below.into_iter().min_by(f64::total_cmp)?,
        holds_rps,
    })
}

fn tally(tally: &Tally) -> TallyShape {
    TallyShape {
        rate_rps: tally.rate_rps,
        agreed: tally.agreed().map(Seen::name),
        blocks: tally.blocks(),
        held: tally.held,
        failed: tally.failed,
        not_offered: tally.not_offered,
    }
}

fn block_shape(block: &BlockRecord, verdict: BlockVerdict) -> SloBlock {
    let reading = &block.reading;
    let micros = |quantile| {
        let response = &reading.latency.as_ref()?.response;
        Some(response.carried(quantile)? as f64 / 1e3)
    };
    let busy_share = reading.cpu.client_busy_share;
    SloBlock {
        rate_rps: verdict.rate_rps,
        purpose: verdict.purpose,
        seen: verdict.seen.name(),
        is_trusted: verdict.trust >= TRUST,
        throughput_rps: reading.throughput_rps(),
        response_us_p50: micros(0.5),
        response_us_p99: micros(0.99),
        failed_share: reading.failed_share(),
        client_occupied_share: reading.cpu.client_occupied_share.unwrap_or(busy_share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate_rps: f64, [held, failed]: [u32; 2]) -> Tally {
        Tally {
            rate_rps,
            held,
            failed,
            not_offered: 0,
        }
    }

    #[test]
    fn a_rate_that_holds_above_others_at_which_the_blocks_disagreed_is_doubted() {
        let found = |undecided| Capacity {
            holds: Some(at(31_600.0, [7, 1])),
            fails: None,
            undecided,
            likely_rps: [11_600.0, 38_100.0],
            hysteresis: None,
            blocks: 160,
            is_over: true,
        };
        // One was given up before its blocks could disagree, one is above.
        let others = vec![at(29_000.0, [6, 0]), at(34_800.0, [2, 2])];
        assert_eq!(disagreed_below(&found(others.clone())), None);
        let split = vec![at(30_100.0, [3, 2]), at(15_300.0, [2, 3])];
        let doubt = Doubt::LowerRatesDisagreed {
            rates: 2,
            lowest_rps: 15_300.0,
            holds_rps: 31_600.0,
        };
        assert_eq!(
            disagreed_below(&found([split, others].concat())),
            Some(doubt)
        );
    }
}
