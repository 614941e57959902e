//! The charts of servers under load: the figure of every arm, what each step gains, response times
//! by percentile, and every block over time.

use model::judgement::{ArmResult, LatencyResult, Outcome, StepResult};
use model::run::Phase;
use model::{BlockRecord, Effect, Estimate, Judgement, Role, RunRecord, Verdict};

use super::canvas::Ink;
use super::lanes::{Lane, Lanes, run_times};
use super::rows::{Dot, Group, Kind, Rows};
use super::xy::{Curve, Curves, Panel, Rise, Ticks};
use crate::{numbers, rows, sentences};

/// A quantile is shown where at least so many requests lie beyond it.
const FEWEST_BEYOND: f64 = 10.0;

/// What a request costs at each step, with its interval and the kernel's floor, and beside it what
/// the article has: its figures are of another machine, and on no scale with ours.
pub(crate) fn ladder(run: &RunRecord, judgement: &Judgement) -> Rows {
    let is_cost = judgement.outcome == Outcome::ServerCpuPerRequest;
    let (shown, heading, remark): (fn(f64) -> String, _, _) = if is_cost {
        let remark = "µs, median with interval; shorter is better";
        (numbers::micros, "Server CPU per request", remark)
    } else {
        let remark = "requests/s, median with interval; longer is better";
        (numbers::rate, "Throughput", remark)
    };
    let has_article = run.study.source.is_some();
    let row = |arm: &ArmResult| {
        let found = figure(arm, judgement.outcome);
        let rate = arm.published.map(|published| published.throughput_rps);
        Dot {
            title: arm.title.clone(),
            at: found.map(|found| [found.value, found.low, found.high]),
            is_void: false,
            published: Vec::new(),
            cells: [
                found.map_or_else(|| numbers::MISSING.to_owned(), |found| shown(found.value)),
                rate.filter(|_| has_article)
                    .map_or_else(String::new, thousands),
            ],
        }
    };
    let rungs = judgement
        .arms
        .iter()
        .filter(|arm| !rows::is_beside(arm.role));
    Rows {
        title: "The figure of every step",
        heading: heading.to_owned(),
        remark: remark.to_owned(),
        groups: vec![Group {
            title: String::new(),
            rows: rungs.map(row).collect(),
        }],
        kind: Kind::Bars {
            floor: floor(judgement).map(|floor| floor.value),
        },
        columns: ["here", "article, requests/s"],
        tick: Box::new(|value| numbers::axis(value, "")),
    }
}

/// What a bare echo costs, where costs are told: no step can take it away.
pub(crate) fn floor(judgement: &Judgement) -> Option<Estimate> {
    let floor = judgement.arms.iter().find(|arm| arm.role == Role::Floor)?;
    let is_cost = judgement.outcome == Outcome::ServerCpuPerRequest;
    floor.server_cpu_us_per_request.filter(|_| is_cost)
}

/// `224k`, `1.12M`: as articles write their figures.
fn thousands(rate: f64) -> String {
    if rate < 1e6 {
        format!("{:.0}k", rate / 1e3)
    } else {
        format!("{:.2}M", rate / 1e6)
    }
}

fn figure(arm: &ArmResult, outcome: Outcome) -> Option<Estimate> {
    match outcome {
        Outcome::ServerCpuPerRequest => arm.server_cpu_us_per_request,
        Outcome::Throughput => arm.throughput_rps,
    }
}

/// What each step gains here and in the article, on one scale: relative gains can be compared
/// between machines, absolute figures cannot.
pub(crate) fn gains(run: &RunRecord, judgement: &Judgement) -> Rows {
    let row = |step: &StepResult| {
        let [value, low, high] = gain(step.effect.as_ref()?, judgement.outcome);
        let article = step.published.and_then(|beside| beside.gain);
        Some(Dot {
            title: step.title.clone(),
            at: Some([value, low, high]),
            is_void: step.verdict == Verdict::Invalid,
            published: article.iter().map(|gain| 1.0 + gain).collect(),
            cells: [
                numbers::change(value),
                article.map_or_else(String::new, numbers::published_gain),
            ],
        })
    };
    let noise = sentences::noise(judgement).map(|effect| gain(&effect, judgement.outcome));
    Rows {
        title: "What each step gains",
        heading: match judgement.outcome {
            Outcome::ServerCpuPerRequest => "Gain in requests for the same server CPU",
            Outcome::Throughput => "Gain in requests seen",
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
        kind: Kind::Ratios {
            noise: noise.map(|[_, low, high]| (low, high)),
        },
        columns: ["here", "article"],
        tick: Box::new(super::ratio_tick),
    }
}

/// How many times as many requests, with its interval: a cost that falls to a ratio r makes room for
/// 1/r as many.
fn gain(effect: &Effect, outcome: Outcome) -> [f64; 3] {
    match outcome {
        Outcome::ServerCpuPerRequest => [effect.ratio, effect.high, effect.low].map(|at| 1.0 / at),
        Outcome::Throughput => [effect.ratio, effect.low, effect.high],
    }
}

/// Response times by percentile, each nine as wide as the one before it, so that the tail that users
/// notice has room.
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
        title: "Response time by percentile",
        description: results
            .iter()
            .map(quantiles_in_words)
            .collect::<Vec<_>>()
            .join("; "),
        heading: "Response time".to_owned(),
        remark: "log scale".to_owned(),
        panels: vec![Panel {
            lines,
            ..Panel::default()
        }],
        columns: 1,
        height: 280.0,
        x: Ticks::At(
            named.into_iter().filter(|(at, _)| *at <= most).collect(),
            "share of requests answered within that time",
        ),
        rise: Rise::Log,
        tick: Box::new(|ns| numbers::axis(ns, "ns")),
    }
}

/// The part of a curve that the data carry, as nines (0.99 is 2) and ns.
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

fn quantiles_in_words(result: &LatencyResult) -> String {
    let quantiles = result.response.iter().map(|at| {
        let name = numbers::quantile(at.quantile);
        format!("{name} {}", numbers::duration(at.value_ns))
    });
    format!(
        "{}: {}",
        result.title,
        quantiles.collect::<Vec<_>>().join(", ")
    )
}

/// Every block's figure over time.
pub(crate) fn series(blocks: &[BlockRecord], judgement: &Judgement) -> Lanes {
    let (times, resumed) = run_times(blocks);
    let outcome = judgement.outcome;
    let lane = |arm: &ArmResult| {
        let median = figure(arm, outcome)?.value;
        let (shown, value): (_, fn(&BlockRecord) -> Option<f64>) = match outcome {
            Outcome::ServerCpuPerRequest => (format!("{} µs", numbers::micros(median)), |block| {
                block.reading.server_cpu_us_per_request()
            }),
            Outcome::Throughput => (numbers::rate(median), |block| {
                Some(block.reading.throughput_rps())
            }),
        };
        let titled = (rows::role_title(arm), arm.role);
        Some(Lane::of(titled, (median, shown), blocks, &times, |block| {
            let is_of_it = block.arm == arm.name && block.phase == Phase::Throughput;
            is_of_it.then(|| value(block)).flatten()
        }))
    };
    Lanes {
        heading: match outcome {
            Outcome::ServerCpuPerRequest => "Server CPU per request, block by block",
            Outcome::Throughput => "Throughput, block by block",
        }
        .to_owned(),
        cell: String::new(),
        lanes: judgement.arms.iter().filter_map(lane).collect(),
        resumed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Chart as _, Form};
    use super::*;
    use crate::sample;

    #[test]
    fn the_articles_figures_stand_beside_ours() {
        let svg = ladder(&sample::run(), &sample::judgement());
        let svg = svg.draw("ladder", Form::Wide).unwrap();
        for label in ["11.9", "6.32", "224k", "1.12M"] {
            assert!(svg.contains(label), "{label}");
        }
    }

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
    fn the_curve_ends_where_fewer_than_ten_requests_lie_beyond() {
        let mut result = sample::judgement().latency.remove(0);
        result.requests = 1000;
        let last = carried(&result).last().map(|(nines, _)| *nines).unwrap();
        assert!((1.9..=2.0).contains(&last), "{last}");
    }

    #[test]
    fn every_arm_has_a_lane_with_all_its_blocks_and_the_control_has_marks_of_its_own() {
        let judgement = sample::judgement();
        let svg = series(&sample::blocks(&judgement), &judgement);
        let svg = svg.draw("series", Form::Wide).unwrap();
        for arm in &judgement.arms {
            let lane = format!("{}: 16 blocks", rows::role_title(arm));
            assert!(svg.contains(&lane), "{lane}");
        }
        let marks = ["<circle", "<polygon"].map(|mark| svg.matches(mark).count());
        assert_eq!(marks, [16 * (judgement.arms.len() - 1), 16]);
    }

    #[test]
    fn latency_blocks_are_no_part_of_the_lanes() {
        let mut blocks = sample::blocks(&sample::judgement());
        for block in &mut blocks {
            block.phase = Phase::Latency;
        }
        let lanes = series(&blocks, &sample::judgement());
        assert_eq!(lanes.draw("series", Form::Wide), None);
    }
}
