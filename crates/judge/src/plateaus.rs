//! Finds the plateaus of a rate that is read at regular times, and the moments at which it changes.
//!
//! Method: optimal partitioning of the logarithms (Jackson et al. 2005). Of all ways to cut the
//! series into flat pieces, it takes the one with the smallest sum of squares and penalties. The
//! penalty grows with the noise that neighbouring readings share, so that a slow wave is no change.
//! A change must happen at once, so that a drift is none either.

use std::ops::Range;

use crate::median;

/// Fewest readings of a plateau.
pub(crate) const FEWEST: usize = 8;
/// Plateaus whose levels are closer than this ratio count as one.
const CLOSEST: f64 = 1.15;
/// Penalty of a change, in variances of the noise per ln of the count of readings.
const PENALTY: f64 = 12.0;
/// Least share of a change that must happen within an eighth of a plateau to either side of it.
const AT_ONCE: f64 = 0.6;
/// A reading farther from the median around it, in standard deviations, is an outlier and clipped.
const FARTHEST_SIGMA: f64 = 3.0;
/// A rate below this part of the highest counts as zero; rates are raised to it before the
/// logarithm.
const NONE: f64 = 1e-6;
/// Floor of the variance of the logarithms: smaller noise cannot be told from none.
const LEAST_VARIANCE: f64 = 1e-8;

/// The plateaus in order, as ranges of readings: one where nothing changes, none for an empty
/// series.
pub(crate) fn of(rates: &[f64]) -> Vec<Range<usize>> {
    let top = rates.iter().copied().fold(0.0, f64::max);
    if top <= 0.0 {
        return Vec::from_iter((!rates.is_empty()).then_some(0..rates.len()));
    }
    let logs = rates.iter().map(|rate| rate.max(top * NONE).ln());
    let series = without_accidents(&logs.collect::<Vec<_>>());
    let mut cuts = cuts(&series);
    while let Some(at) = smallest_false_cut(&series, &cuts) {
        cuts.remove(at);
    }
    let ends = cuts.iter().copied().chain([series.len()]);
    let mut start = 0;
    ends.map(|end| std::mem::replace(&mut start, end)..end)
        .collect()
}

/// Clips each reading to the median of the five around it, plus or minus what noise explains.
fn without_accidents(series: &[f64]) -> Vec<f64> {
    let farthest = FARTHEST_SIGMA * step_sigma(series);
    let near = |at: usize| &series[at.saturating_sub(2)..series.len().min(at + 3)];
    let clipped = series.iter().enumerate().map(|(at, value)| {
        let middle = median::of(near(at)).unwrap_or(*value);
        value.clamp(middle - farthest, middle + farthest)
    });
    clipped.collect()
}

/// Standard deviation of the noise between neighbouring values; a few changes do not move it.
fn step_sigma(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    median::robust_sigma(&steps).unwrap_or(0.0) / std::f64::consts::SQRT_2
}

/// Variance of the noise for one reading, at the time scale at which it is largest, since
/// neighbours may share noise.
fn variance(series: &[f64]) -> f64 {
    let shortest = (series.len() / 40).max(2);
    let lengths = std::iter::successors(Some(shortest), |length| Some(length * 2));
    let of_length = |length: usize| {
        let pieces = series.chunks_exact(length);
        let means: Vec<f64> = pieces
            .map(|piece| piece.iter().sum::<f64>() / length as f64)
            .collect();
        length as f64 * step_sigma(&means).powi(2)
    };
    lengths
        .take_while(|length| *length <= series.len() / 8)
        .map(of_length)
        .fold(step_sigma(series).powi(2), f64::max)
        .max(LEAST_VARIANCE)
}

/// Running sums up to each reading, from which the squared deviations of any piece follow.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn of(series: &[f64]) -> Self {
        let up_to = |of: fn(f64) -> f64| {
            let mut sum = 0.0;
            let sums = series.iter().map(|value| {
                sum += of(*value);
                sum
            });
            std::iter::once(0.0)
                .chain(sums.collect::<Vec<_>>())
                .collect()
        };
        Self {
            values: up_to(|value| value),
            squares: up_to(|value| value * value),
        }
    }

    /// Sum of the squared distances from the piece's mean.
    fn cost(&self, piece: Range<usize>) -> f64 {
        let sum = self.values[piece.end] - self.values[piece.start];
        let squares = self.squares[piece.end] - self.squares[piece.start];
        squares - sum * sum / piece.len() as f64
    }
}

/// The places where the best pieces meet.
fn cuts(series: &[f64]) -> Vec<usize> {
    let count = series.len();
    let penalty = PENALTY * variance(series) * (count.max(2) as f64).ln();
    let sums = Sums::of(series);
    // For the readings before each place: the least cost, and where the last piece of that
    // partition begins.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0].0 = -penalty;
    for end in FEWEST..=count {
        for start in 0..=end - FEWEST {
            let cost = best[start].0 + penalty + sums.cost(start..end);
            if cost < best[end].0 {
                best[end] = (cost, start);
            }
        }
    }
    let starts = std::iter::successors(Some(best[count].1), |start| Some(best[*start].1));
    let mut cuts: Vec<usize> = starts.take_while(|start| *start > 0).collect();
    cuts.reverse();
    cuts
}

/// The cut with the smallest change among those that are no change or do not happen at once.
fn smallest_false_cut(series: &[f64], cuts: &[usize]) -> Option<usize> {
    let middle = |range: Range<usize>| median::of(&series[range]).unwrap_or(0.0);
    let changes = cuts.iter().enumerate().filter_map(|(at, cut)| {
        let start = at.checked_sub(1).map_or(0, |before| cuts[before]);
        let end = cuts.get(at + 1).copied().unwrap_or(series.len());
        let change = (middle(*cut..end) - middle(start..*cut)).abs();
        // The reading on either side of the cut may belong to both plateaus.
        let reach = |length: usize| (length / 8).max(FEWEST / 2);
        let before = start.max(cut - 1 - reach(cut - start))..cut - 1;
        let after = cut + 1..end.min(cut + 1 + reach(end - cut));
        let at_once = (middle(after) - middle(before)).abs();
        let is_one = change >= CLOSEST.ln() && at_once >= AT_ONCE * change;
        (!is_one).then_some((at, change))
    });
    let least = changes.min_by(|one, other| one.1.total_cmp(&other.1));
    least.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plateaus_are_told_apart_where_they_change_at_once_and_a_drift_or_an_accident_is_none() {
        let noisy = |at: usize| 1.0 + 0.01 * ((at * 37 % 11) as f64 - 5.0) / 5.0;
        let step: Vec<f64> = (0..100)
            .map(|at| noisy(at) * if at < 40 { 5.0 } else { 1.0 })
            .collect();
        assert_eq!(of(&step), [0..40, 40..100]);
        let drift: Vec<f64> = (0..100)
            .map(|at| noisy(at) * (5.0 - 0.02 * at as f64))
            .collect();
        assert_eq!(of(&drift).len(), 1);
        let mut accident: Vec<f64> = (0..100).map(noisy).collect();
        (accident[30], accident[31]) = (0.2, 0.0);
        assert_eq!(of(&accident).len(), 1);
    }

    #[test]
    fn series_of_nothing_have_one_plateau_or_none() {
        assert!(of(&[]).is_empty());
        assert_eq!(of(&[0.0; 20]).len(), 1);
        assert_eq!(of(&[1.0; 3]).len(), 1);
    }
}
