//! Decides whether one block of load met an objective.

use model::objective::{Figure, Objective, Term};
use model::reading::{LatencyReading, Ledger};

/// What a block tells about an objective.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// Response times, from when each request was due, and service times.
    pub latency: &'a LatencyReading,
    /// Fates of the requests of the whole block, settling included.
    pub ledger: &'a Ledger,
    /// What a failed request counts as in a mean, ns.
    pub timeout_ns: u64,
}

/// Least number of requests of a block that must lie beyond a quantile. With ten, the p99 of a
/// block in front of a queue is too low more often than not, since slow requests come together:
/// simulated searches then bracketed the truth in 89 of 100 cases, with twenty in 97.
const BEYOND: f64 = 20.0;

/// The fewest requests with which a block can tell whether the objective was held: twenty beyond
/// each quantile, and twenty errors at the allowed share.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a percentile is at most 100 less what f64 tells apart; `as` saturates"
)]
pub fn fewest_requests(objective: &Objective) -> u64 {
    let of_term = |term: &Term| match term {
        Term::Response {
            figure: Figure::Quantile { percent },
            ..
        } => BEYOND / (1.0 - percent / 100.0),
        Term::Response { .. } => 10.0 * BEYOND,
        Term::Errors { below_share } => BEYOND / below_share,
    };
    let most = objective.terms().iter().map(of_term).fold(0.0, f64::max);
    // Subtracts a hair, since 1 − 0.9 is a little less than 0.1 in floating point.
    (most - 1e-6).ceil() as u64
}

/// Whether the block met every term of the objective.
///
/// A request that failed counts as one that took longer than any limit: p99 < 5 ms says that 99 %
/// of all requests were answered correctly within 5 ms, and a server that refuses quickly is not
/// fast. A block without answers meets no objective.
pub fn holds(objective: &Objective, served: &Served<'_>) -> bool {
    let mut terms = objective.terms().iter();
    served.ledger.answered > 0 && terms.all(|term| term_holds(term, served))
}

/// Whether the objective would have been met without the waits for a free connection or for the
/// client itself: judges by service times instead of response times.
pub fn holds_by_service(objective: &Objective, served: &Served<'_>) -> bool {
    let latency = LatencyReading {
        response: served.latency.service.clone(),
        ..LatencyReading::default()
    };
    let latency = &latency;
    holds(objective, &Served { latency, ..*served })
}

fn term_holds(term: &Term, served: &Served<'_>) -> bool {
    let Ledger { sent, errors, .. } = served.ledger;
    let share = |count: u64| count as f64 / (*sent).max(1) as f64;
    match *term {
        Term::Errors { below_share } => share(errors.failed()) < below_share,
        Term::Response { figure, below_ns } => {
            // Requests that timed out are already in the distribution, with their wait.
            let lost = share(errors.failed() - errors.timeout);
            let below = |ns: u64| ns < below_ns;
            let response = &served.latency.response;
            match figure {
                Figure::Quantile { percent } => {
                    // A lost request never counts as in time, so a higher quantile of the timed
                    // ones is needed.
                    let among_timed = percent / 100.0 / (1.0 - lost).max(f64::MIN_POSITIVE);
                    among_timed <= 1.0 && response.quantile(among_timed).is_some_and(below)
                }
                Figure::Max => errors.failed() == 0 && response.quantile(1.0).is_some_and(below),
                Figure::Mean => response.mean().is_some_and(|mean| {
                    mean * (1.0 - lost) + served.timeout_ns as f64 * lost < below_ns as f64
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::Errors;

    const MS: u64 = 1_000_000;

    /// A block of 1,000 requests: each pair is a count and a duration, ns; `failed` come on top.
    fn block(times: &[(u64, u64)], failed: u64) -> (LatencyReading, Ledger) {
        let mut latency = LatencyReading::default();
        for (count, ns) in times {
            (0..*count).for_each(|_| latency.response.record(*ns));
            (0..*count).for_each(|_| latency.service.record(MS / 10));
        }
        let answered = latency.response.total();
        let errors = Errors {
            closed: failed,
            ..Errors::default()
        };
        let sent = answered.saturating_add(failed);
        (
            latency,
            Ledger {
                sent,
                answered,
                errors,
            },
        )
    }

    fn held(objective: &str, times: &[(u64, u64)], failed: u64) -> bool {
        let (latency, ledger) = block(times, failed);
        let served = Served {
            latency: &latency,
            ledger: &ledger,
            timeout_ns: 5_000 * MS,
        };
        holds(&objective.parse().unwrap(), &served)
    }

    #[test]
    fn a_quantile_holds_up_to_its_share_of_slow_requests() {
        assert!(held("p99<5ms", &[(990, MS), (10, 9 * MS)], 0));
        assert!(!held("p99<5ms", &[(989, MS), (11, 9 * MS)], 0));
        assert!(held("p99.9<5ms", &[(999, MS), (1, 9 * MS)], 0));
        assert!(!held("p99.9<5ms", &[(998, MS), (2, 9 * MS)], 0));
        assert!(!held("p99<5ms,max<8ms", &[(990, MS), (10, 9 * MS)], 0));
        assert!(held("mean<2ms", &[(900, MS), (100, 9 * MS)], 0));
    }

    #[test]
    fn a_failed_request_is_slower_than_any_limit() {
        assert!(held("p99<5ms", &[(991, MS)], 9));
        assert!(!held("p99<5ms", &[(985, MS)], 15));
        assert!(!held("max<5ms", &[(999, MS)], 1));
        assert!(!held("mean<2ms", &[(990, MS)], 10));
        assert!(!held("p50<5ms", &[], 10) && !held("p50<5ms", &[], 0));
        assert!(held("p50<5ms,errors<2%", &[(985, MS)], 15));
        assert!(!held("p50<5ms,errors<1%", &[(985, MS)], 15));
    }

    #[test]
    fn a_request_that_timed_out_counts_once() {
        let held = |objective: &str, in_time: u64, timed_out: u64| {
            let waited = (timed_out, 5_000 * MS);
            let (latency, mut ledger) = block(&[(in_time, MS), waited], 0);
            ledger.answered = in_time;
            ledger.errors.timeout = timed_out;
            let served = Served {
                latency: &latency,
                ledger: &ledger,
                timeout_ns: 5_000 * MS,
            };
            holds(&objective.parse().unwrap(), &served)
        };
        assert!(held("p99<5ms", 994, 6) && !held("p99<5ms", 989, 11));
        assert!(held("mean<32ms", 994, 6) && !held("mean<30ms", 994, 6));
        assert!(!held("max<5s", 999, 1) && !held("errors<0.1%", 999, 1));
    }

    #[test]
    fn waiting_for_a_connection_is_told_from_service() {
        let (latency, ledger) = block(&[(1000, 9 * MS)], 0);
        let served = Served {
            latency: &latency,
            ledger: &ledger,
            timeout_ns: MS,
        };
        let objective = "p99<5ms".parse().unwrap();
        assert!(!holds(&objective, &served) && holds_by_service(&objective, &served));
    }

    #[test]
    fn each_quantile_needs_twenty_requests_beyond_it() {
        let fewest = |text: &str| fewest_requests(&text.parse().unwrap());
        assert_eq!(fewest("p99<5ms"), 2_000);
        assert_eq!(fewest("p50<5ms and p99.9<9ms"), 20_000);
        assert_eq!(fewest("max<5ms"), 200);
        assert_eq!(fewest("errors<0.1%,p99<1s"), 20_000);
    }
}
