//! The mapping of values to places on a chart.

use std::ops::Range;

/// A scale from values to CSS pixels, linear or logarithmic.
pub(crate) struct Scale {
    values: Range<f64>,
    pixels: Range<f64>,
    is_log: bool,
}

/// From this ratio of its ends on, a log scale has ticks at 1, 2 and 5 in each power of ten; below
/// it, evenly spaced values are rounder.
const WIDE: f64 = 6.0;

impl Scale {
    /// Makes a linear scale: `values.start` lies at `pixels.start`. An empty range is given an
    /// extent.
    pub(crate) fn new(values: Range<f64>, pixels: Range<f64>) -> Self {
        let extent = values.end - values.start;
        let values = if extent.is_finite() && extent > 0.0 {
            values
        } else {
            values.start..values.start + 1.0
        };
        Self {
            values,
            pixels,
            is_log: false,
        }
    }

    /// Makes a scale on which equal ratios are equally far apart. The values must be above zero;
    /// otherwise the scale is linear.
    pub(crate) fn logarithmic(values: Range<f64>, pixels: Range<f64>) -> Self {
        let is_log = values.start > 0.0;
        Self {
            is_log,
            ..Self::new(values, pixels)
        }
    }

    /// Returns the place of a value; values beyond the scale lie at its end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.values.start, self.values.end);
        let [value, start, end] = [value, self.values.start, self.values.end]
            .map(|value| if self.is_log { value.ln() } else { value });
        let share = (value - start) / (end - start);
        self.pixels.start + share * (self.pixels.end - self.pixels.start)
    }

    /// Returns at most `most` round values within the scale.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        let Range { start, end } = self.values;
        if self.is_log && end / start >= WIDE {
            return thinned(log_ticks(start, end), most);
        }
        even_ticks(start, end, most)
    }
}

/// Returns at most `most` multiples of 1, 2 or 5 times a power of ten.
fn even_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let smallest = ((high - low) / most.max(1) as f64).log10().floor() as i32;
    let steps = (smallest..).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit, power)));
    let ticks = steps.map(|(digit, power)| {
        // Below one, a division by a whole number gives the decimal that is meant.
        let tick = |count: i64| match power {
            0.. => count as f64 * digit * 10_f64.powi(power),
            _ => count as f64 * digit / 10_f64.powi(-power),
        };
        let step = digit * 10_f64.powi(power);
        let [first, last] = [(low / step - 1e-9).ceil(), (high / step + 1e-9).floor()];
        (first as i64..=last as i64).map(tick).collect()
    });
    let mut ticks = ticks.filter(|ticks: &Vec<f64>| ticks.len() <= most);
    ticks.next().unwrap_or_default()
}

/// Keeps only the powers of ten where there are too many ticks, or every other power of ten, and so
/// on.
fn thinned(ticks: Vec<f64>, most: usize) -> Vec<f64> {
    if ticks.len() <= most {
        return ticks;
    }
    let is_power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    let powers: Vec<f64> = ticks.into_iter().filter(is_power).collect();
    let step = powers.len().div_ceil(most.max(1)).max(1);
    powers.into_iter().step_by(step).collect()
}

/// Returns 1, 2 and 5 times the powers of ten between two positive values: the ticks of a log
/// scale.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
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
    fn on_a_log_scale_equal_ratios_are_equally_far_apart() {
        let scale = Scale::logarithmic(1.0..100.0, 0.0..200.0);
        let places = [1.0, 10.0, 100.0].map(|value| scale.at(value).round());
        assert_eq!(places, [0.0, 100.0, 200.0]);
        let even = Scale::logarithmic(0.0..10.0, 0.0..10.0);
        assert_eq!(even.at(5.0), 5.0);
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        assert_eq!(
            Scale::new(0.0..62.0, 0.0..1.0).ticks(5),
            [0.0, 20.0, 40.0, 60.0]
        );
        assert_eq!(log_ticks(18.0, 400.0), [20.0, 50.0, 100.0, 200.0]);
        let log = |low, high| Scale::logarithmic(low..high, 0.0..1.0).ticks(5);
        assert_eq!(log(0.5, 2.0), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(log(18.0, 400.0), [20.0, 50.0, 100.0, 200.0]);
        assert_eq!(log(0.9, 2e4), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(log(0.9, 2e9).len(), 5);
    }
}
