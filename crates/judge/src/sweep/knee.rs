//! The knee: the level at which power, throughput over response time, is highest (Kleinrock 1979).

use model::random::SplitMix64;

use super::Level;
use super::draws::{DRAWS, Draws};

/// The interval of the knee; where it reaches the edge of the sweep, power may go on rising there.
const CENTRAL: [f64; 2] = [0.025, 0.975];

/// Where more load buys less than it costs in waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// Power is highest at this load; drawing blocks again, it is between the two in 95 of 100. They
    /// are the levels next to those at which it was highest: between levels nothing was measured.
    At { load: f64, low: f64, high: f64 },
    /// Power may still rise at the highest level.
    Above,
    /// Power may fall from the lowest level on.
    Below,
    /// Fewer than three levels, or levels that may be either.
    NotSeen,
}

/// Finds the knee of levels in rising order of load.
pub fn knee(levels: &[Level], mut random: SplitMix64) -> Knee {
    let logs: Vec<Vec<f64>> = levels.iter().map(log_powers).collect();
    let Some(parts) = Draws::of(&logs).filter(|_| levels.len() > 2) else {
        return Knee::NotSeen;
    };
    let best = highest(parts.levels());
    let draw = |_| highest(&parts.draw(&mut random));
    let mut drawn: Vec<usize> = (0..DRAWS).map(draw).collect();
    drawn.sort_unstable();
    let [low, high] = CENTRAL.map(|share| drawn[rank(share, drawn.len())]);
    let last = levels.len() - 1;
    match (low == 0, high == last) {
        (true, true) => Knee::NotSeen,
        (true, false) => Knee::Below,
        (false, true) => Knee::Above,
        (false, false) => Knee::At {
            load: levels[best].load,
            low: levels[low - 1].load,
            high: levels[high + 1].load,
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

/// The level with the highest value; the first of none.
fn highest(means: &[f64]) -> usize {
    let levels = 0..means.len();
    levels
        .max_by(|one, other| means[*one].total_cmp(&means[*other]))
        .unwrap_or(0)
}
