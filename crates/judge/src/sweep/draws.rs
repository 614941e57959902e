//! Resampling (bootstrap): what the levels might have come to with other blocks and rounds.

use model::random::SplitMix64;

use crate::{median, student};

/// Number of draws; ten of them lie beyond each end of an interval.
pub(super) const DRAWS: usize = 400;
/// Two-sided error of the intervals, and the normal quantile for it in standard deviations.
const ALPHA: f64 = 0.05;
const NORMAL_REACH: f64 = 1.96;

/// Logarithms of blocks by level and round, decomposed: log = level + round + rest.
///
/// A round that is slow as a whole moves all levels alike, so rounds are drawn for all levels
/// together. The rests are drawn for each level by itself.
#[derive(Debug)]
pub(super) struct Draws {
    levels: Vec<f64>,
    rounds: Vec<f64>,
    rests: Vec<Vec<f64>>,
}

impl Draws {
    /// Uses complete rounds alone; `None` without levels or with fewer than two rounds, which show
    /// no spread.
    pub(super) fn of(logs: &[Vec<f64>]) -> Option<Self> {
        let rounds = logs
            .iter()
            .map(Vec::len)
            .min()
            .filter(|rounds| *rounds > 1)?;
        let levels: Vec<f64> = logs.iter().map(|logs| mean(&logs[..rounds])).collect();
        let centre = mean(&levels);
        let of_round = |round: usize| {
            let of: Vec<f64> = logs.iter().map(|logs| logs[round]).collect();
            mean(&of) - centre
        };
        let of_rounds: Vec<f64> = (0..rounds).map(of_round).collect();
        let rest = |(logs, level): (&Vec<f64>, &f64)| -> Vec<f64> {
            let both = logs.iter().zip(&of_rounds);
            both.map(|(log, round)| log - level - round).collect()
        };
        Some(Self {
            rests: logs.iter().zip(&levels).map(rest).collect(),
            levels,
            rounds: of_rounds,
        })
    }

    /// The mean of each level.
    pub(super) fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The variance of a level's blocks, without what whole rounds do.
    pub(super) fn variance(&self, level: usize) -> f64 {
        let rest = &self.rests[level];
        let squares: f64 = rest.iter().map(|value| value * value).sum();
        squares / (rest.len() as f64 - 1.0)
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Draws the levels as they might have been.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> Vec<f64> {
        let freedom = self.rounds.len() as f64 - 1.0;
        // Six blocks show their spread only roughly, so Student's quantile replaces the normal one.
        let reach = student::two_sided_quantile(ALPHA, freedom) / NORMAL_REACH;
        let mut drawn_mean = |values: &[f64]| reach * mean_of_draw(values, random);
        let shift = drawn_mean(&self.rounds);
        let of = self.levels.iter().zip(&self.rests);
        of.map(|(level, rest)| level + shift + drawn_mean(rest))
            .collect()
    }
}

/// The mean of as many values as there are, drawn with replacement; the mean of the values
/// themselves is 0.
///
/// Means of draws vary by (n − 1)/n of what means of samples do, so they are scaled up by as much
/// (Davison and Hinkley 1997, §2.3).
fn mean_of_draw(values: &[f64], random: &mut SplitMix64) -> f64 {
    let n = values.len() as f64;
    let drawn: f64 = (0..values.len())
        .map(|_| values[random.below(values.len())])
        .sum();
    drawn / n * (n / (n - 1.0)).sqrt()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The central 95 % of the drawn values; `None` without draws.
pub(super) fn central(drawn: &[f64]) -> Option<[f64; 2]> {
    let beyond = ALPHA / 2.0;
    Some([
        median::quantile(drawn, beyond)?,
        median::quantile(drawn, 1.0 - beyond)?,
    ])
}
