//! From values to places on a chart.

use std::ops::Range;

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

/// A linear scale between values and CSS pixels.
pub(crate) struct Scale {
    values: Range<f64>,
    pixels: Range<f64>,
}

impl Scale {
    /// `values.start` lies at `pixels.start`. A range without extent is given one.
    pub(crate) fn new(values: Range<f64>, pixels: Range<f64>) -> Self {
        let extent = values.end - values.start;
        let values = if extent.is_finite() && extent > 0.0 {
            values
        } else {
            values.start..values.start + 1.0
        };
        Self { values, pixels }
    }

    /// The place of a value; values beyond the scale lie at its end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.values.start, self.values.end);
        let share = (value - self.values.start) / (self.values.end - self.values.start);
        self.pixels.start + share * (self.pixels.end - self.pixels.start)
    }

    /// At most so many round values within the scale.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        RangedCoordf64::from(self.values.clone()).key_points(BoldPoints(most))
    }
}

/// 1, 2 and 5 times the powers of ten between two positive values: the ticks of a log scale.
pub(crate) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    powers
        .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_values_lie_at_the_ends_of_the_pixels() {
        let scale = Scale::new(0.0..10.0, 100.0..200.0);
        assert_eq!(
            [0.0, 5.0, 10.0, 99.0].map(|value| scale.at(value)),
            [100.0, 150.0, 200.0, 200.0]
        );
        assert!(Scale::new(3.0..3.0, 0.0..1.0).at(3.0).is_finite());
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        assert_eq!(
            Scale::new(0.0..62.0, 0.0..1.0).ticks(5),
            [0.0, 20.0, 40.0, 60.0]
        );
        assert_eq!(log_ticks(18.0, 400.0), [20.0, 50.0, 100.0, 200.0]);
    }
}
