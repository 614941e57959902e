//! The objective of `versus`, such as `p99<5ms`, and whether a latency result holds it.

use std::fmt;
use std::str::FromStr;

use model::judgement::{LatencyResult, QuantileEstimate};
use model::objective::{Figure, Objective, Term};

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
                "`{objective}` is measured by `linerate load --slo`; between two servers it is one \
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
    /// Whether the result holds it; `None` where the data cannot tell: a verdict only where the
    /// whole interval is on one side.
    pub(crate) fn holds(&self, result: &LatencyResult) -> Option<bool> {
        let found = self.found(result)?;
        if found.high_ns < self.below_ns {
            Some(true)
        } else if found.low_ns > self.below_ns {
            Some(false)
        } else {
            None
        }
    }

    /// The same in words, with the figures.
    pub(crate) fn words(&self, result: &LatencyResult) -> String {
        let rate = format!("at {:.0} requests/s", result.offered_rps);
        let Some(found) = self.found(result) else {
            return format!("cannot tell whether {self} holds {rate}: too few requests");
        };
        let verdict = match self.holds(result) {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "cannot tell whether it holds",
        };
        let micros = |ns: u64| ns as f64 / 1e3;
        format!(
            "{verdict} {self} {rate}: {:.0} µs ({:.0} … {:.0})",
            micros(found.value_ns),
            micros(found.low_ns),
            micros(found.high_ns)
        )
    }

    fn found<'a>(&self, result: &'a LatencyResult) -> Option<&'a QuantileEstimate> {
        let wanted = self.percent / 100.0;
        let mut found = result.response.iter();
        found.find(|found| (found.quantile - wanted).abs() < 1e-9)
    }
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
