//! What the line on a terminal says about a load under way.

use std::collections::VecDeque;

use model::Histogram;
use report::numbers;
use traffic::load::SoFar;

/// How far back the readings go that rate and latency are computed from.
const LOOKS_BACK_NS: u64 = 1_000_000_000;

/// The last readings of a block, as far back as they are needed.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<(u64, SoFar)>);

impl Recent {
    /// Adds a reading, and says what went on lately.
    pub(super) fn words(
        &mut self,
        now_ns: u64,
        so_far: &SoFar,
        left_ns: u64,
        bulk: bool,
    ) -> String {
        self.0.push_back((now_ns, so_far.clone()));
        let is_old = |moment_ns: u64| moment_ns + LOOKS_BACK_NS <= now_ns;
        while self.0.get(1).is_some_and(|second| is_old(second.0)) {
            self.0.pop_front();
        }
        let (since_ns, earlier) = &self.0[0];
        let lately = so_far.since(earlier);
        let seconds = now_ns.saturating_sub(*since_ns).max(1) as f64 / 1e9;
        let mut parts = Vec::new();
        parts.extend(match bulk {
            true => gbit_per_second(&lately, seconds),
            false => Some(rate(&lately, seconds)),
        });
        parts.extend(latency(&lately));
        let failed = so_far.ledger.errors.failed();
        parts.push(format!("{} failed", numbers::whole(failed as f64)));
        parts.push(format!("{} s left", left_ns.div_ceil(1_000_000_000)));
        parts.join(", ")
    }
}

fn rate(lately: &SoFar, seconds: f64) -> String {
    let answered = lately.ledger.answered as f64;
    format!("{} requests/s", numbers::rate(answered / seconds))
}

/// Throughput lately; `None` outside the scored window, in which alone bytes are counted.
fn gbit_per_second(lately: &SoFar, seconds: f64) -> Option<String> {
    let bits = lately.received_bytes as f64 * 8.0;
    (bits > 0.0).then(|| format!("{} Gbit/s", numbers::rate(bits / 1e9 / seconds)))
}

/// Quantiles of the response time in open loop, of the service time in closed loop; only within the
/// scored window.
fn latency(lately: &SoFar) -> Option<String> {
    let latency = lately.latency.as_ref()?;
    let shown: &Histogram = match latency.response.total() {
        0 => &latency.service,
        _ => &latency.response,
    };
    let quantile = |quantile| shown.carried(quantile).map(numbers::duration);
    let half = format!("p50 {}", quantile(0.5)?);
    Some(match quantile(0.99) {
        Some(most) => format!("{half}, p99 {most}"),
        None => half,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let mut recent = Recent::default();
        let mut counted = SoFar::default();
        for (at_ms, answered) in [(0, 0), (500, 100), (1_000, 200), (1_500, 900)] {
            counted.ledger.answered = answered;
            let words = recent.words(at_ms * 1_000_000, &counted, 2_100_000_000, false);
            assert!(words.ends_with("requests/s, 0 failed, 3 s left"), "{words}");
            if at_ms == 1_500 {
                assert!(words.starts_with("800 requests/s"), "{words}");
            }
        }
    }
}
