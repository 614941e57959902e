//! Throughput by load, with the Universal Scalability Law where it is fitted.

use model::judgement::{LoadSweep, UslShape};
use model::sweep::Axis;

use super::canvas::{At, Ink};
use super::xy::{Curve, Curves, Panel, Rise};
use crate::numbers;

/// Steps in which the law is drawn from one level to the next.
const BETWEEN: u32 = 8;

/// Charts throughput against load, on a logarithmic scale, on which levels that double are evenly
/// spaced.
pub(crate) fn curve(sweep: &LoadSweep) -> Curves {
    let told = sweep.levels.iter().filter_map(|level| {
        let found = level.throughput_rps?;
        Some((level.load.log2(), [found.value, found.low, found.high]))
    });
    let points: Vec<(f64, [f64; 3])> = told.collect();
    let measured = Curve {
        title: "here".to_owned(),
        ink: Ink::Accent,
        path: points.iter().map(|(x, [value, ..])| (*x, *value)).collect(),
        points,
    };
    let mut lines = vec![measured];
    lines.extend(sweep.usl.as_ref().map(|fit| Curve {
        title: "Universal Scalability Law".to_owned(),
        ink: Ink::Muted,
        path: law(fit, sweep),
        points: Vec::new(),
    }));
    let ticks = sweep.levels.iter();
    let ticks = ticks.map(|level| (level.load.log2(), numbers::whole(level.load)));
    Curves {
        heading: "Requests/s by load".to_owned(),
        remark: String::new(),
        panels: vec![Panel {
            lines,
            ..Panel::default()
        }],
        columns: 1,
        height: 220.0,
        below: match sweep.axis {
            Axis::Connections => "connections",
            Axis::Rate => "requests/s offered",
        },
        places: ticks.collect(),
        rise: Rise::FromZero,
        unit: "requests/s".to_owned(),
        resumed: Vec::new(),
    }
}

/// Returns points of the fitted law, X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
fn law(fit: &UslShape, sweep: &LoadSweep) -> Vec<At> {
    let at = |load: f64| {
        let others = load - 1.0;
        let shared = fit.sigma.value * others + fit.kappa.value * load * others;
        (load.log2(), fit.lambda_rps.value * load / (1.0 + shared))
    };
    let neighbours = sweep.levels.windows(2).flat_map(|pair| {
        let ratio = pair[1].load / pair[0].load;
        let step = move |step| f64::from(step) / f64::from(BETWEEN);
        (0..=BETWEEN).map(move |number| pair[0].load * ratio.powf(step(number)))
    });
    neighbours.map(at).collect()
}
