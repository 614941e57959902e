//! A search for a capacity from its blocks to its judgement.

use model::BlockRecord;
use model::doubt::worded;
use model::judgement::{Likely, LoadSlo, SloBlock, TallyShape};
use model::load_run::SavedLoad;
use model::objective::Objective;

use super::course::{BlockVerdict, Course, Look, OFFERED};
use super::{Seen, TRUST, Tally};

/// Judges a search for the highest rate that holds an objective; `None` where it had not begun, or has
/// blocks that no such search asks for.
pub fn judge_capacity(
    run: &SavedLoad,
    objective: &Objective,
    blocks: &[BlockRecord],
) -> Option<LoadSlo> {
    let study = &run.study;
    let look = Look::of(blocks)?;
    let mut course = Course::begin(objective, study, run.seed, look).ok()?;
    let offered = blocks.iter().filter(|block| block.arm == OFFERED);
    let told: Option<Vec<SloBlock>> = offered
        .map(|block| Some(block_shape(block, course.saw(&block.reading)?)))
        .collect();
    // Asked once more, it knows that it is over.
    course.next_rps();
    let found = course.found();
    let [low, high] = found.likely_rps;
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
        blocks: told?,
        doubts: worded(&run.doubts),
        notes: study.notes.clone(),
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

fn block_shape(block: &BlockRecord, told: BlockVerdict) -> SloBlock {
    let reading = &block.reading;
    let micros = |quantile| {
        let response = &reading.latency.as_ref()?.response;
        Some(response.carried(quantile)? as f64 / 1e3)
    };
    let busy_share = reading.cpu.client_busy_share;
    SloBlock {
        rate_rps: told.rate_rps,
        purpose: told.purpose,
        seen: told.seen.name(),
        is_trusted: told.trust >= TRUST,
        throughput_rps: reading.throughput_rps(),
        response_us_p50: micros(0.5),
        response_us_p99: micros(0.99),
        failed_share: reading.failed_share(),
        client_occupied_share: reading.cpu.client_occupied_share.unwrap_or(busy_share),
    }
}
