//! Whole runs in, judgements out.

#[path = "../built_run/mod.rs"]
mod built_run;

mod between_boots;
mod doubts;
mod figures;
mod latency;
mod verdicts;
mod whole_ladder;
mod withheld;

use built_run::{block, ladder};
use judge::judge;
use model::{BlockRecord, Doubt, Judgement, Verdict};

/// A little noise that differs between blocks and repeats in every test.
fn noise(round: u32, position: u32) -> f64 {
    1.0 + f64::from((round * 31 + position * 17) % 23) / 2300.0 - 0.005
}

/// Rounds of a ladder in which each arm costs its µs per request, with a noise of ±0.5 %.
pub(crate) fn rounds(count: u32, costs: &[(&str, f64)]) -> Vec<BlockRecord> {
    (0..count)
        .flat_map(|round| {
            (0_u32..).zip(costs).map(move |(position, (arm, cost))| {
                block(round, position, arm, cost * noise(round, position))
            })
        })
        .collect()
}

pub(crate) const LADDER: [(&str, f64); 4] = [
    ("baseline", 20.0),
    ("control", 20.0),
    ("step-1", 16.0),
    ("step-2", 16.0),
];

pub(crate) fn judged(blocks: &[BlockRecord]) -> Judgement {
    judge(&ladder(2, 16), blocks)
}

pub(crate) fn verdicts(judgement: &Judgement) -> Vec<Verdict> {
    let whole = judgement.whole.iter();
    judgement
        .steps
        .iter()
        .chain(whole)
        .map(|step| step.verdict)
        .collect()
}

pub(crate) fn change(blocks: &mut [BlockRecord], arm: &str, change: impl Fn(&mut BlockRecord)) {
    blocks.iter_mut().filter(|b| b.arm == arm).for_each(change);
}

pub(crate) fn has(judgement: &Judgement, is_kind: impl Fn(&Doubt) -> bool) -> bool {
    judgement.doubts.iter().any(is_kind)
}
