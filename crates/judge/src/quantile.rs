//! Quantiles of latency over blocks, with intervals that allow for requests that depend on one
//! another.

use model::Histogram;
use model::judgement::{CurvePoint, QuantileEstimate};

use crate::student;

/// The quantiles that a report asks for.
pub const REPORTED: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
/// A quantile with fewer observations beyond it is not shown.
const FEWEST_BEYOND: u64 = 10;
/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;
/// Points of a curve: far more than the width of a chart can show.
const CURVE_POINTS: u32 = 60;

/// One latency distribution over several blocks: pooled, and by block.
#[derive(Clone, Debug)]
pub struct Pooled<'a> {
    blocks: Vec<&'a Histogram>,
    whole: Histogram,
}

impl<'a> Pooled<'a> {
    /// Pools the histograms of an arm's blocks.
    pub fn of(blocks: Vec<&'a Histogram>) -> Self {
        let mut whole = Histogram::default();
        for block in &blocks {
            whole.merge(block);
        }
        Self { blocks, whole }
    }

    /// Number of durations in all blocks.
    pub fn total(&self) -> u64 {
        self.whole.total()
    }

    /// Estimates of those quantiles of [`REPORTED`] for which there are enough observations.
    pub fn reported(&self) -> Vec<QuantileEstimate> {
        REPORTED
            .iter()
            .filter_map(|quantile| self.estimate(*quantile))
            .collect()
    }

    /// A quantile with its order-statistic interval at 95 %; `None` with fewer than ten
    /// observations beyond it.
    ///
    /// Ranks are q ± t·√(q(1 − q)/n_eff) of the pooled order. `n_eff` is the number of requests
    /// divided by the design effect. t has one degree of freedom less than there are blocks, since
    /// the design effect is itself known from the blocks only. A single block says nothing of the
    /// spread between blocks, so its interval is the whole range.
    pub fn estimate(&self, quantile: f64) -> Option<QuantileEstimate> {
        if self.observations_beyond(quantile) < FEWEST_BEYOND {
            return None;
        }
        let value_ns = self.whole.quantile(quantile)?;
        let effective = self.total() as f64 / self.design_effect(value_ns);
        let freedom = self.filled_blocks() as f64 - 1.0;
        let reach = student::two_sided_quantile(ALPHA, freedom)
            * (quantile * (1.0 - quantile) / effective).sqrt();
        Some(QuantileEstimate {
            quantile,
            value_ns,
            low_ns: self.whole.quantile(quantile - reach)?,
            high_ns: self.whole.quantile(quantile + reach)?,
        })
    }

    /// The curve up to the last quantile that has enough observations beyond it. Points are evenly
    /// spaced in ln(1/(1 − q)), so that each further nine gets as much room. Empty with ten
    /// observations or fewer.
    pub fn curve(&self) -> Vec<CurvePoint> {
        if self.total() <= FEWEST_BEYOND {
            return Vec::new();
        }
        let last_share_beyond = FEWEST_BEYOND as f64 / self.total() as f64;
        (0..CURVE_POINTS)
            .filter_map(|point| {
                let way = f64::from(point) / f64::from(CURVE_POINTS - 1);
                let quantile = 1.0 - last_share_beyond.powf(way);
                Some(CurvePoint {
                    quantile,
                    latency_ns: self.whole.quantile(quantile)?,
                })
            })
            .collect()
    }

    /// The design effect: variance between blocks of the share beyond a value, over what
    /// independent requests would have. It is Pearson's statistic over its degrees of freedom, at
    /// least 1.
    fn design_effect(&self, value_ns: u64) -> f64 {
        let share = above(&self.whole, value_ns) as f64 / self.total() as f64;
        let variance_of_one = share * (1.0 - share);
        let freedom = self.filled_blocks() as f64 - 1.0;
        if variance_of_one <= 0.0 || freedom < 1.0 {
            return 1.0;
        }
        let pearson: f64 = self
            .blocks
            .iter()
            .filter(|block| block.total() > 0)
            .map(|block| {
                let n = block.total() as f64;
                (above(block, value_ns) as f64 - n * share).powi(2) / (n * variance_of_one)
            })
            .sum();
        (pearson / freedom).max(1.0)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rank lies between 0 and the total"
    )]
    fn observations_beyond(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.total() as f64).ceil() as u64;
        self.total().saturating_sub(rank)
    }

    fn filled_blocks(&self) -> usize {
        self.blocks.iter().filter(|block| block.total() > 0).count()
    }
}

fn above(histogram: &Histogram, value_ns: u64) -> u64 {
    histogram
        .buckets()
        .filter(|(upper_edge_ns, _)| *upper_edge_ns > value_ns)
        .map(|(_, count)| count)
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evenly spread durations of 1 to `count` µs, times `scale`.
    #[expect(clippy::cast_possible_truncation, reason = "durations of a test")]
    fn even(count: u64, scale: f64) -> Histogram {
        let mut histogram = Histogram::default();
        (1..=count).for_each(|us| histogram.record((us as f64 * 1e3 * scale) as u64));
        histogram
    }

    #[test]
    fn a_quantile_with_nine_observations_beyond_it_is_not_shown() {
        let (nine, ten) = (even(900, 1.0), even(1000, 1.0));
        assert_eq!(Pooled::of(vec![&nine]).estimate(0.99), None);
        assert!(Pooled::of(vec![&ten]).estimate(0.99).is_some());
        let shown: Vec<f64> = Pooled::of(vec![&ten])
            .reported()
            .iter()
            .map(|q| q.quantile)
            .collect();
        assert_eq!(shown, [0.5, 0.99]);
    }

    #[test]
    fn blocks_that_agree_give_an_interval_of_independent_requests() {
        let block = even(1000, 1.0);
        let found = Pooled::of(vec![&block; 10]).estimate(0.5).unwrap();
        // ± 2.262 × √(0.25 / 10,000) of the range: ± 1.13 %, and a bucket at each end.
        let half_width = (found.high_ns - found.low_ns) as f64 / 2.0 / 1e6;
        assert!((0.010..0.016).contains(&half_width), "{half_width}");
    }

    #[test]
    fn blocks_that_disagree_widen_the_interval_over_all_of_them() {
        let blocks: Vec<Histogram> = [0.8, 0.9, 1.0, 1.1, 1.2]
            .map(|scale| even(2000, scale))
            .into();
        let found = Pooled::of(blocks.iter().collect()).estimate(0.5).unwrap();
        assert!(
            found.low_ns < 900_000 && found.high_ns > 1_100_000,
            "{found:?}"
        );
    }

    #[test]
    fn a_single_block_gives_its_whole_range() {
        let block = even(1000, 1.0);
        let found = Pooled::of(vec![&block]).estimate(0.5).unwrap();
        assert_eq!(found.low_ns, block.quantile(0.0).unwrap());
        assert_eq!(found.high_ns, block.quantile(1.0).unwrap());
    }

    #[test]
    fn the_curve_ends_with_ten_observations_beyond_it_and_never_falls() {
        let block = even(100_000, 1.0);
        let curve = Pooled::of(vec![&block]).curve();
        assert_eq!(curve.len(), 60);
        assert!((curve[59].quantile - 0.9999).abs() < 1e-12);
        assert!(
            curve
                .windows(2)
                .all(|two| two[0].latency_ns <= two[1].latency_ns)
        );
    }

    #[test]
    fn nothing_counted_gives_nothing() {
        let empty = Histogram::default();
        let pooled = Pooled::of(vec![&empty]);
        assert!(pooled.reported().is_empty() && pooled.curve().is_empty());
        assert!(Pooled::of(Vec::new()).curve().is_empty());
    }
}
