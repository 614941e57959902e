//! Response times by percentile, each nine as wide as the one before it, so that the tail that
//! users notice has room.

use model::judgement::LatencyResult;
use plotters::style::text_anchor::HPos;

use super::canvas::{At, Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::{Scale, log_ticks};
use super::{Form, fitted};
use crate::numbers;

const LEFT: f64 = 62.0;
const FOOT: f64 = 48.0;
/// A quantile is shown where at least so many requests lie beyond it.
const FEWEST_BEYOND: f64 = 10.0;

struct Plot {
    /// Nines (0.99 is 2) to pixels.
    x: Scale,
    /// Natural logarithm of ns to pixels.
    y: Scale,
    most_nines: f64,
    lowest_ns: f64,
    highest_ns: f64,
    bottom: f64,
    right: f64,
}

/// Draws the curve of every arm; `None` where none was run in latency mode.
pub(crate) fn latency(results: &[LatencyResult], form: Form) -> Option<String> {
    let height = match form {
        Form::Wide => 380.0,
        Form::Narrow => 330.0,
    };
    let curves: Vec<Vec<(f64, f64)>> = results.iter().map(carried).collect();
    let plot = Plot::new(results, &curves, form, height)?;
    let words = Words {
        id: form.id("latency"),
        title: "Response time by percentile",
        description: described(results),
    };
    let svg = draw(form.width(), height, &words, |canvas| {
        plot.axes(canvas);
        for (index, (result, curve)) in results.iter().zip(&curves).enumerate() {
            let ink = if index + 1 == results.len() {
                Ink::Accent
            } else {
                Ink::Muted
            };
            plot.curve(canvas, result, curve, ink);
            plot.label(canvas, result, curve, (index, form), ink);
        }
    });
    Some(svg)
}

/// The part of a curve that the data carry, as nines and ns.
fn carried(result: &LatencyResult) -> Vec<(f64, f64)> {
    let most = most_nines(result);
    result
        .response_curve
        .iter()
        .map(|point| (nines(point.quantile), point.latency_ns.max(1) as f64))
        .filter(|(nines, _)| *nines <= most)
        .collect()
}

fn most_nines(result: &LatencyResult) -> f64 {
    (result.requests as f64 / FEWEST_BEYOND).log10()
}

fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

impl Plot {
    fn new(
        results: &[LatencyResult],
        curves: &[Vec<(f64, f64)>],
        form: Form,
        height: f64,
    ) -> Option<Self> {
        let points = || curves.iter().flatten();
        let most_nines = points().map(|(nines, _)| *nines).fold(0.0, f64::max);
        let bars = results.iter().flat_map(|result| &result.response);
        let ends = bars.flat_map(|at| [at.low_ns as f64, at.high_ns as f64]);
        let (lowest, highest) = points()
            .map(|(_, ns)| *ns)
            .chain(ends)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), ns| {
                (low.min(ns), high.max(ns))
            });
        (most_nines > 0.0 && lowest > 0.0 && highest >= lowest).then_some(())?;
        let (lowest_ns, highest_ns) = (lowest * 0.9, highest * 1.1);
        let (top, right) = match form {
            Form::Wide => (26.0, form.width() - 190.0),
            Form::Narrow => (26.0 + 20.0 * results.len() as f64, form.width() - 14.0),
        };
        let bottom = height - FOOT;
        Some(Self {
            x: Scale::new(0.0..most_nines, LEFT..right),
            y: Scale::new(lowest_ns.ln()..highest_ns.ln(), bottom..top),
            most_nines,
            lowest_ns,
            highest_ns,
            bottom,
            right,
        })
    }

    fn axes(&self, canvas: &Canvas<'_>) {
        canvas.text("response time, log scale", (0.0, 8.0), Type::SMALL);
        for ns in log_ticks(self.lowest_ns, self.highest_ns) {
            let y = self.y.at(ns.ln());
            canvas.line((LEFT, y), (self.right, y), Ink::Rule, 1.0);
            canvas.text(
                &round_duration(ns),
                (LEFT - 10.0, y),
                Type::SMALL.align(HPos::Right),
            );
        }
        canvas.line(
            (LEFT, self.bottom),
            (self.right, self.bottom),
            Ink::Muted,
            1.0,
        );
        for quantile in [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999] {
            let at = nines(quantile);
            if at <= self.most_nines {
                let x = self.x.at(at);
                canvas.line((x, self.bottom), (x, self.bottom + 4.0), Ink::Muted, 1.0);
                canvas.text(
                    &numbers::quantile(quantile),
                    (x, self.bottom + 15.0),
                    Type::SMALL.align(HPos::Center),
                );
            }
        }
        canvas.text(
            "share of requests answered within that time",
            (LEFT, self.bottom + 36.0),
            Type::SMALL,
        );
    }

    fn curve(&self, canvas: &Canvas<'_>, result: &LatencyResult, curve: &[(f64, f64)], ink: Ink) {
        let places: Vec<At> = curve
            .iter()
            .map(|(nines, ns)| (self.x.at(*nines), self.y.at(ns.ln())))
            .collect();
        canvas.path(&places, ink, 2.25);
        for at in &result.response {
            let x = self.x.at(nines(at.quantile));
            let y = |ns: u64| self.y.at((ns.max(1) as f64).ln());
            let (low, high) = (y(at.low_ns), y(at.high_ns));
            canvas.line((x, low), (x, high), ink, 1.5);
            for end in [low, high] {
                canvas.line((x - 4.0, end), (x + 4.0, end), ink, 1.5);
            }
            canvas.dot((x, y(at.value_ns)), 3.5, ink);
        }
    }

    /// Beside the end of its curve where there is room, above the plot where there is none.
    fn label(
        &self,
        canvas: &Canvas<'_>,
        result: &LatencyResult,
        curve: &[(f64, f64)],
        (index, form): (usize, Form),
        ink: Ink,
    ) {
        let Some((end_nines, end_ns)) = curve.last() else {
            return;
        };
        let set = Type::BODY.bold().ink(ink);
        match form {
            Form::Wide => {
                let (x, y) = (self.x.at(*end_nines) + 12.0, self.y.at(end_ns.ln()));
                canvas.text(&fitted(&result.title, 178.0, set), (x, y), set);
            }
            Form::Narrow => {
                let y = 30.0 + 20.0 * index as f64;
                canvas.line((0.0, y), (20.0, y), ink, 2.25);
                canvas.text(&fitted(&result.title, 320.0, set), (28.0, y), set);
            }
        }
    }
}

/// `20 µs`, `1 ms`: ticks are round, so they need no decimals.
fn round_duration(ns: f64) -> String {
    let (value, unit) = match ns {
        short if short < 1e3 => (ns, "ns"),
        short if short < 1e6 => (ns / 1e3, "µs"),
        long if long < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{value:.0} {unit}")
}

fn described(results: &[LatencyResult]) -> String {
    let arms: Vec<String> = results
        .iter()
        .map(|result| {
            let quantiles: Vec<String> = result
                .response
                .iter()
                .map(|at| {
                    format!(
                        "{} {}",
                        numbers::quantile(at.quantile),
                        numbers::duration(at.value_ns)
                    )
                })
                .collect();
            format!("{}: {}", result.title, quantiles.join(", "))
        })
        .collect();
    arms.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_curve_ends_where_fewer_than_ten_requests_lie_beyond() {
        let mut result = sample::judgement().latency.remove(0);
        result.requests = 1000;
        let last = carried(&result).last().map(|(nines, _)| *nines).unwrap();
        assert!((1.9..=2.0).contains(&last), "{last}");
    }
}
