//! The quantiles that are shown, where the data carry them.

use model::Histogram;

/// All of them, the median first.
pub(crate) const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// A quantile is shown when so many observations lie beyond it.
const BEYOND: f64 = 10.0;

/// The quantile in ns; `None` where fewer than ten observations lie beyond it.
pub(crate) fn carried(histogram: &Histogram, quantile: f64) -> Option<u64> {
    let beyond = histogram.total() as f64 * (1.0 - quantile);
    // The small sum is for 1 − 0.99, which is a little less than it should be.
    (beyond + 1e-6 >= BEYOND).then(|| histogram.quantile(quantile))?
}
