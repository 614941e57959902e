//! The knee: the level at which power, throughput over response time, is highest (Kleinrock 1979).

use model::judgement::KneeShape;
use model::random::SplitMix64;

use super::Level;
use super::draws::{DRAWS, Draws};

/// The interval of the knee; where it reaches the edge of the sweep, power may still rise beyond
/// that edge.
const CENTRAL: [f64; 2] = [0.025, 0.975];

/// Finds the knee of levels in rising order of load. In 95 of 100 draws of other blocks it lies
/// between the two ends: the levels next to those at which power was highest, since nothing was
/// measured between levels.
pub fn knee(levels: &[Level], mut random: SplitMix64) -> KneeShape {
    let elsewhere = |is| KneeShape {
        is,
        load: None,
        low: None,
        high: None,
    };
    let logs: Vec<Vec<f64>> = levels.iter().map(log_powers).collect();
    let Some(parts) = Draws::of(&logs).filter(|_| levels.len() > 2) else {
        return elsewhere("not_seen");
    };
    let best = highest(parts.levels());
    let draw = |_| highest(&parts.draw(&mut random));
    let mut drawn: Vec<usize> = (0..DRAWS).map(draw).collect();
    drawn.sort_unstable();
    let [low, high] = CENTRAL.map(|share| drawn[rank(share, drawn.len())]);
    let last = levels.len() - 1;
    match (low == 0, high == last) {
        (true, true) => elsewhere("not_seen"),
        // Power may fall from the lowest level onwards.
        (true, false) => elsewhere("below"),
        // Power may still rise at the highest level.
        (false, true) => elsewhere("above"),
        (false, false) => KneeShape {
            is: "within",
            load: Some(levels[best].load),
            low: Some(levels[low - 1].load),
            high: Some(levels[high + 1].load),
        },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share of the length")]
fn rank(share: f64, length: usize) -> usize {
    (share * (length as f64 - 1.0)).round() as usize
}

fn log_powers(level: &Level) -> Vec<f64> {
    let blocks = level.blocks.iter();
    blocks
        .map(|block| (block.throughput_rps / block.response).ln())
        .collect()
}

/// Index of the highest value, the last of equal ones; 0 for an empty slice.
fn highest(means: &[f64]) -> usize {
    let levels = 0..means.len();
    levels
        .max_by(|one, other| means[*one].total_cmp(&means[*other]))
        .unwrap_or(0)
}
