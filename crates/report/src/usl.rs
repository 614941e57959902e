//! The Universal Scalability Law in words.

use model::judgement::{PeakSeen, RoundsEstimate, UslShape};

use crate::numbers;

/// Its heading.
pub(crate) const TITLE: &str = "Universal Scalability Law, intervals at 95 %";
/// A law that misses a level by more than this is a rough likeness.
const ROUGH_MISS_SHARE: f64 = 0.15;

/// The law's coefficients over so many of what `noun` says, up to `most` of which levels tell.
pub(crate) fn items(fit: &UslShape, noun: &str, most: f64) -> Vec<String> {
    let one = with_interval(fit.lambda_rps, numbers::rate);
    let contention = with_interval(fit.sigma, |value| format!("{value:.4}"));
    let coherency = with_interval(fit.kappa, |value| format!("{value:.2e}"));
    let rough = (fit.worst_miss_share > ROUGH_MISS_SHARE).then(|| {
        let missed = numbers::share(fit.worst_miss_share);
        format!("it misses a level by {missed}: take it for a rough likeness")
    });
    let peak = match (fit.peak, fit.peak_at) {
        (_, Some(at)) => {
            let at = with_interval(at, |load| numbers::rate(load.round()));
            format!("at {at} {noun}")
        }
        (PeakSeen::NotSeen, _) => {
            let most = numbers::rate(most);
            format!("none that these levels tell of, up to {most} {noun}")
        }
        _ => "perhaps outside the levels that the law has".to_owned(),
    };
    let mut items = vec![
        format!("λ, one alone: {one} requests/s"),
        format!("σ, contention: {contention}"),
        format!("κ, coherency: {coherency}"),
        format!("peak: {peak}"),
    ];
    items.extend(rough);
    items
}

fn with_interval(found: RoundsEstimate, shown: impl Fn(f64) -> String) -> String {
    let interval = numbers::interval(&found.into(), &shown);
    format!("{} ({interval})", shown(found.value))
}
