//! The Universal Scalability Law in words.

use model::judgement::{PeakSeen, RoundsEstimate, UslShape};

use crate::numbers;

/// Heading of the law's coefficients.
pub(crate) const TITLE: &str = "Universal Scalability Law, intervals at 95 %";
/// Share by which the law may miss a level before it is called a rough approximation.
const ROUGH_MISS_SHARE: f64 = 0.15;

/// Lists the law's coefficients. `noun` names what its load counts, and `most` is the largest load
/// of the levels to which the law was fitted.
pub(crate) fn items(fit: &UslShape, noun: &str, most: f64) -> Vec<String> {
    let one = with_interval(fit.lambda_rps, numbers::rate);
    let contention = with_interval(fit.sigma, |value| format!("{value:.4}"));
    let coherency = with_interval(fit.kappa, |value| format!("{value:.2e}"));
    let rough = (fit.worst_miss_share > ROUGH_MISS_SHARE).then(|| {
        let missed = numbers::share(fit.worst_miss_share);
        format!("it misses a level by {missed}: take it as a rough approximation")
    });
    let peak = match (fit.peak, fit.peak_at) {
        (_, Some(at)) => {
            let at = with_interval(at, |load| numbers::rate(load.round()));
            format!("at {at} {noun}")
        }
        (PeakSeen::NotSeen, _) => {
            let most = numbers::rate(most);
            format!("none that these levels show, up to {most} {noun}")
        }
        _ => "perhaps outside the levels that the law was fitted to".to_owned(),
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
