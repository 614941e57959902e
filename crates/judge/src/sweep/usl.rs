//! The Universal Scalability Law: X(N) = λN / (1 + σ(N − 1) + κN(N − 1)) (Gunther 2007).

use model::judgement::{PeakSeen, RoundsEstimate, UslShape};
use model::random::SplitMix64;

use super::Level;
use super::draws::{DRAWS, Draws, central, mean};
use super::least_squares::{Observation, predict, solve};

/// Fewest levels for a fit of three coefficients.
pub const FEWEST_LEVELS: usize = 6;
/// Most steps of the fit. It ends earlier when the coefficients move by less than this share of the
/// first one, far below any interval.
const STEPS: usize = 30;
const STANDS: f64 = 1e-7;
/// Weight of a level's own variance; the rest goes to the mean of all levels, since six blocks show
/// their own only roughly.
const OWN_SHARE: f64 = 0.5;

/// The law's three coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: requests/s of a single connection, as fitted; not what was measured with one.
    pub lambda_rps: f64,
    /// σ, contention: the share of the work that is serial. At least 0.
    pub sigma: f64,
    /// κ, coherency: what each pair of connections costs each other. At least 0.
    pub kappa: f64,
}

impl Usl {
    /// The law's throughput with this many connections, requests/s.
    pub fn throughput_rps(&self, connections: f64) -> f64 {
        let others = connections - 1.0;
        self.lambda_rps * connections
            / (1.0 + self.sigma * others + self.kappa * connections * others)
    }

    /// The load at which throughput is highest: N* = √((1 − σ)/κ).
    fn peak(&self) -> f64 {
        ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
    }
}

/// One point of the fit: a level's load, the mean logarithm of its throughput, and its weight.
struct Point {
    load: f64,
    log: f64,
    weight: f64,
}

/// Fits the law to the logarithms of the throughput. Each level is weighed by how well its blocks
/// agree; the intervals come from resampled rounds and blocks. The n-th blocks of all levels are of
/// one round; an incomplete round is left out. `None` with fewer than [`FEWEST_LEVELS`], or where
/// the levels allow no fit.
pub fn fit(levels: &[Level], mut random: SplitMix64) -> Option<UslShape> {
    if levels.len() < FEWEST_LEVELS {
        return None;
    }
    let logs: Vec<Vec<f64>> = levels.iter().map(logs_of).collect();
    let parts = Draws::of(&logs)?;
    let weights = weights(&parts);
    let points = |logs: &[f64]| -> Vec<Point> {
        let of = levels.iter().zip(logs).zip(&weights);
        of.map(|((level, log), weight)| Point {
            load: level.load,
            log: *log,
            weight: *weight,
        })
        .collect()
    };
    let measured = points(parts.levels());
    let law = fit_points(&measured)?;
    let drawn: Vec<Usl> = (0..DRAWS)
        .filter_map(|_| fit_points(&points(&parts.draw(&mut random))))
        .collect();
    let estimate = |of: &dyn Fn(&Usl) -> f64| estimate(of, &law, &drawn, parts.rounds());
    let kappa = estimate(&|law| law.kappa)?;
    let peak_at = estimate(&Usl::peak)?;
    let peak = peak(levels, kappa, peak_at);
    Some(UslShape {
        lambda_rps: estimate(&|law| law.lambda_rps)?,
        sigma: estimate(&|law| law.sigma)?,
        kappa,
        peak,
        peak_at: (peak == PeakSeen::Within).then_some(peak_at),
        worst_miss_share: worst_miss(&measured, &law),
    })
}

fn logs_of(level: &Level) -> Vec<f64> {
    let blocks = level.blocks.iter();
    blocks.map(|block| block.throughput_rps.ln()).collect()
}

/// The inverse of each level's variance.
fn weights(draws: &Draws) -> Vec<f64> {
    /// Floor of the variance: no block is known better than to a thousandth.
    const LEAST_VARIANCE: f64 = 1e-6;
    let levels = 0..draws.levels().len();
    let variances: Vec<f64> = levels.map(|level| draws.variance(level)).collect();
    let common = mean(&variances);
    let variance = |own: &f64| OWN_SHARE * own + (1.0 - OWN_SHARE) * common;
    let weight = |own| 1.0 / variance(own).max(LEAST_VARIANCE);
    variances.iter().map(weight).collect()
}

/// N/X is linear in 1/λ, σ/λ and κ/λ. The Gauss–Newton steps on the logarithms are linear fits of
/// this kind: each fits what the law predicted before, corrected by how far that missed.
fn fit_points(points: &[Point]) -> Option<Usl> {
    let depends_on = |load: f64| [1.0, load - 1.0, load * (load - 1.0)];
    let observe = |of: &dyn Fn(&Point) -> f64, value: &dyn Fn(&Point) -> f64| -> Vec<Observation> {
        let one = |point: &Point| Observation {
            value: value(point),
            depends_on: depends_on(point.load),
            weight: point.weight / of(point).powi(2),
        };
        points.iter().map(one).collect()
    };
    let measured = |point: &Point| point.load / point.log.exp();
    let mut found = solve(&observe(&measured, &measured))?;
    for _ in 0..STEPS {
        let before = found;
        let predicted = |point: &Point| predict(&before, &depends_on(point.load));
        let corrected = |point: &Point| {
            let missed = (measured(point) / predicted(point)).ln();
            predicted(point) * (1.0 + missed)
        };
        found = solve(&observe(&predicted, &corrected))?;
        let moved = found
            .iter()
            .zip(before)
            .map(|(now, before)| (now - before).abs());
        if moved.sum::<f64>() < STANDS * found[0] {
            break;
        }
    }
    let [one, contention, coherency] = found;
    Some(Usl {
        lambda_rps: 1.0 / one,
        sigma: contention / one,
        kappa: coherency / one,
    })
}

fn estimate(
    of: &dyn Fn(&Usl) -> f64,
    law: &Usl,
    drawn: &[Usl],
    rounds: usize,
) -> Option<RoundsEstimate> {
    let values: Vec<f64> = drawn.iter().map(of).collect();
    let [low, high] = central(&values)?;
    Some(RoundsEstimate {
        value: of(law),
        low,
        high,
        rounds: crate::count(rounds),
    })
}

fn peak(levels: &[Level], kappa: RoundsEstimate, peak: RoundsEstimate) -> PeakSeen {
    let loads = || levels.iter().map(|level| level.load);
    let most = loads().fold(0.0, f64::max);
    let least = loads().fold(f64::INFINITY, f64::min);
    // κ may be zero, so these levels show no peak.
    if kappa.low <= 0.0 || !peak.high.is_finite() {
        PeakSeen::NotSeen
    } else if peak.low < least || peak.high > most {
        PeakSeen::Outside
    } else {
        PeakSeen::Within
    }
}

fn worst_miss(points: &[Point], law: &Usl) -> f64 {
    let missed = |point: &Point| (law.throughput_rps(point.load) / point.log.exp() - 1.0).abs();
    points.iter().map(missed).fold(0.0, f64::max)
}
