//! The quantiles that are shown, each only if there are enough observations for it.

use model::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// The quantiles that are shown, the median first.
pub(crate) const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// Quantiles of one distribution.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Quantiles {
    /// p50, µs; null where fewer than ten observations lie beyond it.
    p50: Option<f64>,
    /// p75, µs; null where fewer than ten observations lie beyond it.
    p75: Option<f64>,
    /// p90, µs; null where fewer than ten observations lie beyond it.
    p90: Option<f64>,
    /// p99, µs; null where fewer than ten observations lie beyond it.
    p99: Option<f64>,
    /// p99.9, µs; null where fewer than ten observations lie beyond it.
    p99_9: Option<f64>,
    /// p99.99, µs; null where fewer than ten observations lie beyond it.
    p99_99: Option<f64>,
    /// p99.999, µs; null where fewer than ten observations lie beyond it.
    p99_999: Option<f64>,
}

impl From<&Histogram> for Quantiles {
    fn from(histogram: &Histogram) -> Self {
        let micros = |quantile| histogram.carried(quantile).map(|ns| ns as f64 / 1e3);
        let [p50, p75, p90, p99, p99_9, p99_99, p99_999] = QUANTILES.map(micros);
        Self {
            p50,
            p75,
            p90,
            p99,
            p99_9,
            p99_99,
            p99_999,
        }
    }
}
