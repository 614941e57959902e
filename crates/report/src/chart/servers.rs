//! The charts of servers under load: what each step gains, response times by percentile, and every block
//! over time.

use model::judgement::{ArmResult, LatencyResult, Outcome, StepResult};
use model::run::Phase;
use model::{BlockRecord, Effect, Estimate, Judgement, RunRecord, Verdict};

use super::canvas::Ink;
use super::contrasts::{Contrast, Contrasts, Group};
use super::series::{Strip, series as strips};
use super::xy::{Curve, Curves, Panel, Rise};
use crate::{numbers, rows, sentences};

/// The fewest requests beyond a quantile that is shown.
const FEWEST_BEYOND: f64 = 10.0;

fn figure(arm: &ArmResult, outcome: Outcome) -> Option<Estimate> {
    match outcome {
        Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
            arm.server_cpu_us_per_request
        }
        Outcome::Throughput => arm.throughput_rps,
    }
}

/// Charts what each step gains here and in the article, on one scale: relative gains can be
/// compared between machines, absolute figures cannot.
pub(crate) fn gains(run: &RunRecord, judgement: &Judgement) -> Contrasts {
    let row = |step: &StepResult| {
        let article = step.published.and_then(|beside| beside.gain);
        Some(Contrast {
            title: step.title.clone(),
            ratio: Some(gain(step.effect.as_ref()?, judgement.outcome)),
            is_void: step.verdict == Verdict::Invalid,
            published: article.iter().map(|gain| 1.0 + gain).collect(),
        })
    };
    let noise = sentences::noise(judgement).map(|effect| gain(&effect, judgement.outcome));
    Contrasts {
        heading: match (judgement.outcome, sentences::unit(run)) {
            (Outcome::ServerCpuPerRequest, "run") => "Gain in runs for the same CPU",
            (Outcome::ServerCpuPerRequest, _) => "Gain in requests for the same server CPU",
            (Outcome::ServerCpuPerKilobyte, _) => "Gain in kB carried for the same server CPU",
            (Outcome::Throughput, "run") => "Gain in runs seen",
            (Outcome::Throughput, _) => "Gain in requests seen",
        }
        .to_owned(),
        remark: format!(
            "over {}; from pairs within rounds",
            sentences::compared_with(run)
        ),
        groups: vec![Group {
            title: String::new(),
            rows: judgement.steps.iter().filter_map(row).collect(),
        }],
        noise: noise.map(|[_, low, high]| [low, high]),
    }
}

/// Returns how many times as many requests there are, with the interval: a cost that falls to a
/// ratio r makes room for 1/r times as many.
fn gain(effect: &Effect, outcome: Outcome) -> [f64; 3] {
    match outcome {
        Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
            [effect.ratio, effect.high, effect.low].map(|at| 1.0 / at)
        }
        Outcome::Throughput => [effect.ratio, effect.low, effect.high],
    }
}

/// Charts response times by percentile. Each further nine is as wide as the one before it, so that
/// there is room for the tail, which users notice.
pub(crate) fn latency(results: &[LatencyResult]) -> Curves {
    let line = |(index, result): (usize, &LatencyResult)| Curve {
        title: result.title.clone(),
        ink: match results.len() - index {
            1 => Ink::Accent,
            _ => Ink::Muted,
        },
        path: carried(result),
        points: points(result),
    };
    let lines: Vec<Curve> = results.iter().enumerate().map(line).collect();
    let paths = lines.iter().flat_map(|line| &line.path);
    let most = paths.map(|at| at.0).fold(0.0, f64::max);
    let quantiles = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
    let named = quantiles.map(|quantile| (nines(quantile), numbers::quantile(quantile)));
    Curves {
        heading: "Response time".to_owned(),
        remark: "log scale".to_owned(),
        panels: vec![Panel {
            lines,
            ..Panel::default()
        }],
        columns: 1,
        height: 280.0,
        below: "share of requests answered within that time",
        places: named.into_iter().filter(|(at, _)| *at <= most).collect(),
        rise: Rise::Log,
        unit: "ns".to_owned(),
        resumed: Vec::new(),
    }
}

/// Returns the part of a curve that the data support, as nines (0.99 is 2) and ns.
fn carried(result: &LatencyResult) -> Vec<(f64, f64)> {
    let most = (result.requests as f64 / FEWEST_BEYOND).log10();
    let points = result.response_curve.iter();
    let points = points.map(|point| (nines(point.quantile), point.latency_ns.max(1) as f64));
    points.filter(|(nines, _)| *nines <= most).collect()
}

fn points(result: &LatencyResult) -> Vec<(f64, [f64; 3])> {
    let response = result.response.iter();
    let point = response.map(|at| {
        let ends = [at.value_ns, at.low_ns, at.high_ns];
        (nines(at.quantile), ends.map(|ns| ns.max(1) as f64))
    });
    point.collect()
}

fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Charts every block's figure over time.
pub(crate) fn series(run: &RunRecord, blocks: &[BlockRecord], judgement: &Judgement) -> Curves {
    let outcome = judgement.outcome;
    let strip = |arm: &ArmResult| {
        let median = figure(arm, outcome)?.value;
        let name = arm.name.clone();
        let (shown, value): (_, fn(&BlockRecord) -> Option<f64>) = match outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
                (format!("{} µs", numbers::micros(median)), |block| {
                    block.reading.server_cpu_us_per_request()
                })
            }
            Outcome::Throughput => (numbers::rate(median), |block| {
                Some(block.reading.throughput_rps())
            }),
        };
        Some(Strip {
            title: rows::role_title(arm),
            role: arm.role,
            median: (median, shown),
            figure: Box::new(move |block: &BlockRecord| {
                let is_of_it = block.arm == name && block.phase == Phase::Throughput;
                is_of_it.then(|| value(block)).flatten()
            }),
        })
    };
    let heading = sentences::capitalised(sentences::outcome_of(run, outcome));
    let arms = judgement.arms.iter().filter_map(strip);
    strips(format!("{heading}, block by block"), "", blocks, arms)
}

#[cfg(test)]
mod tests {
    use super::super::{Chart as _, Form};
    use super::*;
    use crate::sample;
    use model::gate::{GateDesign, Unit};

    #[test]
    fn a_cost_cut_to_four_fifths_makes_room_for_a_quarter_more() {
        let mut effect = sample::effect(0.8, 0.0);
        (effect.low, effect.high) = (0.5, 1.0);
        let of = |outcome| gain(&effect, outcome);
        assert_eq!(of(Outcome::ServerCpuPerRequest), [1.25, 1.0, 2.0]);
        assert_eq!(of(Outcome::Throughput), [0.8, 0.5, 1.0]);
    }

    #[test]
    fn a_step_without_a_verdict_has_a_hollow_mark_and_says_so() {
        let mut judgement = sample::judgement();
        judgement.steps[0].verdict = Verdict::Invalid;
        let svg = gains(&sample::run(), &judgement);
        let svg = svg.draw("gains", Form::Wide).unwrap();
        assert_eq!(svg.matches("without a verdict").count(), 1);
        let hollow = "fill=\"var(--paper)\" stroke=\"var(--muted)\"";
        assert_eq!(svg.matches(hollow).count(), 1, "{svg}");
    }

    #[test]
    fn a_gate_of_commands_is_told_in_runs() {
        let (mut run, judgement) = (sample::run(), sample::judgement());
        run.study.gate = Some(GateDesign {
            bar: 0.03,
            unit: Unit::Run,
            most_ms: 0,
            builds: 2,
        });
        let gained = gains(&run, &judgement);
        assert_eq!(gained.heading, "Gain in runs for the same CPU");
        let strips = series(&run, &sample::blocks(&judgement), &judgement);
        assert_eq!(strips.heading, "CPU per run, block by block");
    }

    #[test]
    fn the_curve_ends_where_fewer_than_ten_requests_lie_beyond() {
        let mut result = sample::judgement().latency.remove(0);
        result.requests = 1000;
        let last = carried(&result).last().map(|(nines, _)| *nines).unwrap();
        assert!((1.9..=2.0).contains(&last), "{last}");
    }

    #[test]
    fn every_arm_has_a_strip_with_all_its_blocks() {
        let judgement = sample::judgement();
        let svg = series(&sample::run(), &sample::blocks(&judgement), &judgement);
        let svg = svg.draw("series", Form::Wide).unwrap();
        for arm in &judgement.arms {
            assert!(svg.contains(&rows::role_title(arm)), "{}", arm.title);
        }
        assert_eq!(svg.matches("<circle").count(), 16 * judgement.arms.len());
    }

    #[test]
    fn latency_blocks_are_no_part_of_the_strips() {
        let mut blocks = sample::blocks(&sample::judgement());
        for block in &mut blocks {
            block.phase = Phase::Latency;
        }
        let strips = series(&sample::run(), &blocks, &sample::judgement());
        assert_eq!(strips.draw("series", Form::Wide), None);
    }
}
