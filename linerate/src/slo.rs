//! The objective of `versus`, such as `p99<5ms`, and whether a latency result holds it.

use std::fmt;
use std::str::FromStr;

use judge::capacity::KEPT_UP_SHARE;
use model::judgement::{LatencyResult, QuantileEstimate};
use model::objective::{Figure, Objective, Term};
use schemars::JsonSchema;
use serde::Serialize;

/// The quantiles that a run has, in per cent.
const MEASURED: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// A quantile of the response time and the time it must stay below.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slo {
    /// In per cent, as it was typed: 99.9.
    percent: f64,
    below_ns: u64,
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let objective: Objective = text.parse().map_err(|error| format!("{error}"))?;
        let [
            Term::Response {
                figure: Figure::Quantile { percent },
                below_ns,
            },
        ] = *objective.terms()
        else {
            return Err(format!(
                "`{objective}` is measured only by `linerate load --slo`; for two servers give one \
                 quantile, such as p99<5ms"
            ));
        };
        if !MEASURED.contains(&percent) {
            return Err(format!(
                "p{percent} is not measured; expected p50, p99, p99.9 or p99.99"
            ));
        }
        Ok(Self { percent, below_ns })
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = Figure::Quantile {
            percent: self.percent,
        };
        let below_ns = self.below_ns;
        Term::Response { figure, below_ns }.fmt(formatter)
    }
}

impl Slo {
    /// Whether the result holds the objective; `None` where the data cannot tell. There is a
    /// verdict only if the whole interval is on one side. A failed request counts as slower than
    /// any limit.
    pub(crate) fn holds(&self, result: &LatencyResult) -> Option<bool> {
        let wanted = self.percent / 100.0;
        if result.lost_share > 1.0 - wanted + 1e-9 {
            return Some(false);
        }
        let found = self.found(result)?;
        if found.low_ns > self.below_ns {
            // What the client itself sent late says nothing against the server.
            return (!result.client_is_limit).then_some(false);
        }
        // The quantile of all requests is a higher one among those that have a time: the next
        // measured quantile bounds it from above.
        let among_timed = wanted / (1.0 - result.lost_share);
        let mut bounds = result.response.iter();
        let bound = bounds.find(|found| found.quantile > among_timed - 1e-9)?;
        let is_below = kept_up(result) && bound.high_ns < self.below_ns;
        is_below.then_some(true)
    }

    /// Returns the answer in words, with the figures.
    pub(crate) fn words(&self, result: &LatencyResult) -> String {
        let rate = format!("at {:.0} requests/s", result.offered_rps);
        let verdict = match self.holds(result) {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "cannot tell whether it holds",
        };
        let Some(found) = self.found(result) else {
            let why = if result.lost_share > 0.0 {
                format!("{:.1} % of the requests failed", 100.0 * result.lost_share)
            } else {
                "too few requests".to_owned()
            };
            return format!("{verdict} {self} {rate}: {why}");
        };
        let micros = |ns: u64| ns as f64 / 1e3;
        format!(
            "{verdict} {self} {rate}: {:.0} µs ({:.0} … {:.0}){}",
            micros(found.value_ns),
            micros(found.low_ns),
            micros(found.high_ns),
            beside(result)
        )
    }

    fn found<'a>(&self, result: &'a LatencyResult) -> Option<&'a QuantileEstimate> {
        let wanted = self.percent / 100.0;
        let mut found = result.response.iter();
        found.find(|found| (found.quantile - wanted).abs() < 1e-9)
    }
}

fn kept_up(result: &LatencyResult) -> bool {
    result.achieved_rps >= KEPT_UP_SHARE * result.offered_rps
}

/// Says what the times do not show: requests that failed, requests that were not answered at all,
/// and that the client was the limit.
fn beside(result: &LatencyResult) -> String {
    let lost = format!(
        " of those that did not fail, as {:.1} % did",
        100.0 * result.lost_share
    );
    let short = format!("; {:.0} requests/s were answered", result.achieved_rps);
    let lost = (result.lost_share > 0.0).then_some(lost);
    let short = (!kept_up(result)).then_some(short);
    let client = result
        .client_is_limit
        .then(|| "; the client was the limit".to_owned());
    [lost, short, client].into_iter().flatten().collect()
}

/// Whether each of the two holds the objective.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldObjective {
    /// The objective, such as p99<5ms.
    pub(crate) objective: String,
    /// One entry for each server that was measured.
    pub(crate) arms: Vec<HeldBy>,
}

/// Whether a server holds the objective.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldBy {
    /// Name of the arm: `baseline` is A, `b` is B.
    pub(crate) arm: String,
    /// Whether it holds; null where the data cannot tell.
    pub(crate) holds: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(low_ns: u64, high_ns: u64) -> LatencyResult {
        LatencyResult {
            arm: "b".to_owned(),
            title: "B".to_owned(),
            offered_rps: 1000.0,
            achieved_rps: 1000.0,
            requests: 5000,
            lost_share: 0.0,
            client_is_limit: false,
            response: vec![QuantileEstimate {
                quantile: 0.99,
                value_ns: low_ns,
                low_ns,
                high_ns,
            }],
            service: Vec::new(),
            lateness: Vec::new(),
            response_curve: Vec::new(),
        }
    }

    #[test]
    fn an_objective_holds_or_fails_only_with_its_whole_interval() {
        let slo: Slo = "p99<5ms".parse().unwrap();
        assert!(
            slo.words(&result(1_000_000, 4_000_000))
                .starts_with("holds")
        );
        assert!(
            slo.words(&result(6_000_000, 9_000_000))
                .starts_with("fails")
        );
        assert!(
            slo.words(&result(4_000_000, 6_000_000))
                .starts_with("cannot tell")
        );
        let carried_by_no_data: Slo = "p99.99<5ms".parse().unwrap();
        assert!(carried_by_no_data.words(&result(1, 2)).contains("too few"));
    }

    #[test]
    fn what_a_client_at_its_limit_sent_late_fails_no_server() {
        let slo: Slo = "p99<5ms".parse().unwrap();
        let at_limit = |low_ns, high_ns| LatencyResult {
            client_is_limit: true,
            ..result(low_ns, high_ns)
        };
        assert_eq!(slo.holds(&at_limit(1_000_000, 4_000_000)), Some(true));
        assert_eq!(slo.holds(&at_limit(6_000_000, 9_000_000)), None);
        let words = slo.words(&at_limit(6_000_000, 9_000_000));
        assert!(words.ends_with("; the client was the limit"), "{words}");
    }

    #[test]
    fn what_failed_or_was_not_answered_holds_nothing() {
        let slo: Slo = "p99<5ms".parse().unwrap();
        let quick = result(1_000_000, 1_000_000);
        assert_eq!(slo.holds(&quick), Some(true));
        for (lost_share, answered, expected) in [
            (0.9, 1.0, Some(false)),
            (0.011, 1.0, Some(false)),
            (0.01, 1.0, None),
            (0.005, 1.0, None),
            (0.0, 0.8, None),
        ] {
            let achieved_rps = quick.offered_rps * answered;
            let result = LatencyResult {
                lost_share,
                achieved_rps,
                ..quick.clone()
            };
            assert_eq!(slo.holds(&result), expected, "{}", slo.words(&result));
        }
        let all_failed = LatencyResult {
            lost_share: 1.0,
            response: Vec::new(),
            ..quick.clone()
        };
        assert_eq!(slo.holds(&all_failed), Some(false));
        let words = slo.words(&all_failed);
        assert!(
            words.starts_with("fails") && words.contains("100.0 %"),
            "{words}"
        );
        let mut failing = LatencyResult {
            lost_share: 0.005,
            ..quick
        };
        let p999 = QuantileEstimate {
            quantile: 0.999,
            ..failing.response[0]
        };
        failing.response.push(p999);
        assert_eq!(slo.holds(&failing), Some(true), "p99.9 bounds it");
    }

    #[test]
    fn what_is_no_objective_is_refused_with_an_example() {
        for wrong in [
            "",
            "99<5ms",
            "p99",
            "p99<",
            "p99<5",
            "p98<5ms",
            "p99>5ms",
            "max<5ms",
            "p99<5ms,p50<1ms",
        ] {
            assert!(wrong.parse::<Slo>().unwrap_err().contains("p99"), "{wrong}");
        }
        assert_eq!(
            "p99.9 < 2ms".parse::<Slo>().unwrap().to_string(),
            "p99.9<2ms"
        );
    }
}
