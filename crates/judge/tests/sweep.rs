//! The fit of the Universal Scalability Law and the knee, tested on laws that are known.
//!
//! Every figure comes from a fixed seed. To see the figures: `cargo test --release -p judge
//! --test sweep -- --nocapture`.

#[expect(
    dead_code,
    reason = "the noise of blocks that follow one another is for other tests"
)]
mod noise;

use judge::sweep::{Block, FEWEST_LEVELS, Level, Usl, fit, knee};
use model::judgement::{PeakSeen, RoundsEstimate};
use model::random::SplitMix64;
use noise::Random;

const LOADS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
const ROUNDS: usize = 6;
const SWEEPS: u64 = 100;

/// Contention of 5 %, and a peak at 138 connections.
const RETROGRADE: Usl = Usl {
    lambda_rps: 9_000.0,
    sigma: 0.05,
    kappa: 5e-5,
};
/// No cost of coherency: throughput only levels off.
const LEVELLING: Usl = Usl {
    kappa: 0.0,
    ..RETROGRADE
};

/// A sweep in rounds. Each round is a little fast or slow as a whole, and so is each block.
fn sweep(law: Usl, noise: f64, random: &mut Random) -> Vec<Level> {
    let rounds: Vec<f64> = (0..ROUNDS).map(|_| noise / 2.0 * random.normal()).collect();
    let level = |load: f64| {
        let blocks = rounds.iter().map(|round| {
            let throughput_rps = law.throughput_rps(load) * (round + noise * random.normal()).exp();
            Block {
                throughput_rps,
                response: load / throughput_rps,
            }
        });
        Level {
            load,
            blocks: blocks.collect(),
        }
    };
    LOADS.map(level).to_vec()
}

fn covers(estimate: &RoundsEstimate, truth: f64) -> bool {
    (estimate.low..=estimate.high).contains(&truth)
}

#[test]
fn exact_figures_give_back_the_law_and_its_peak() {
    let found = fit(
        &sweep(RETROGRADE, 0.0, &mut Random::seeded(1)),
        SplitMix64::new(1),
    )
    .unwrap();
    for (found, truth) in [
        (found.lambda_rps.value, RETROGRADE.lambda_rps),
        (found.sigma.value, RETROGRADE.sigma),
        (found.kappa.value, RETROGRADE.kappa),
    ] {
        assert!((found / truth - 1.0).abs() < 1e-6, "{found} {truth}");
    }
    assert_eq!(found.peak, PeakSeen::Within);
    let peak = found.peak_at.unwrap();
    assert!((peak.value - 137.84).abs() < 0.01, "{peak:?}");
    assert!(found.worst_miss_share < 1e-6);
}

#[test]
fn intervals_cover_the_coefficients_in_nine_of_ten_sweeps_or_more() {
    let mut random = Random::seeded(2);
    let mut covered = [0; 4];
    for seed in 0..SWEEPS {
        let levels = sweep(RETROGRADE, 0.05, &mut random);
        let found = fit(&levels, SplitMix64::new(seed)).unwrap();
        covered[0] += u64::from(covers(&found.sigma, RETROGRADE.sigma));
        covered[1] += u64::from(covers(&found.kappa, RETROGRADE.kappa));
        covered[2] += u64::from(covers(&found.lambda_rps, RETROGRADE.lambda_rps));
        covered[3] += u64::from(covers(&found.peak_at.unwrap(), 137.84));
    }
    println!("of {SWEEPS}: sigma, kappa, lambda, peak covered in {covered:?}");
    assert!(
        covered.iter().all(|count| *count >= SWEEPS * 9 / 10),
        "{covered:?}"
    );
}

#[test]
fn throughput_that_only_levels_off_has_no_peak() {
    let mut random = Random::seeded(3);
    let mut peaks = 0;
    for seed in 0..SWEEPS {
        let found = fit(&sweep(LEVELLING, 0.05, &mut random), SplitMix64::new(seed)).unwrap();
        peaks += u64::from(found.peak != PeakSeen::NotSeen);
    }
    println!("of {SWEEPS} sweeps without a peak, {peaks} were given one");
    assert!(peaks <= SWEEPS / 20, "{peaks}");
}

#[test]
fn a_peak_beyond_the_levels_is_not_printed() {
    let law = Usl {
        kappa: 5e-7,
        ..RETROGRADE
    };
    let found = fit(
        &sweep(law, 0.0001, &mut Random::seeded(4)),
        SplitMix64::new(4),
    )
    .unwrap();
    assert_eq!((found.peak, found.peak_at), (PeakSeen::Outside, None));
}

#[test]
fn a_peak_below_the_levels_is_not_printed() {
    // The throughput of this law is highest at about ten connections.
    let law = Usl {
        kappa: 0.01,
        ..RETROGRADE
    };
    let levels = sweep(law, 0.0001, &mut Random::seeded(9)).into_iter();
    let above: Vec<Level> = levels.filter(|level| level.load > 15.0).collect();
    assert!(above.len() >= FEWEST_LEVELS, "{}", above.len());
    let found = fit(&above, SplitMix64::new(9)).unwrap();
    assert_eq!((found.peak, found.peak_at), (PeakSeen::Outside, None));
}

#[test]
fn throughput_that_does_not_follow_the_law_shows_by_how_much_it_misses_it() {
    let mut levels = sweep(LEVELLING, 0.01, &mut Random::seeded(5));
    for level in &mut levels[4..] {
        for block in &mut level.blocks {
            block.throughput_rps *= 0.4;
        }
    }
    let found = fit(&levels, SplitMix64::new(5)).unwrap();
    assert!(found.worst_miss_share > 0.2, "{found:?}");
}

#[test]
fn five_levels_carry_no_law() {
    let levels = sweep(RETROGRADE, 0.01, &mut Random::seeded(6));
    assert!(fit(&levels[..5], SplitMix64::new(6)).is_none());
}

/// In a closed loop, power is X²/N. The true knee is the load of [`LOADS`] at which the law
/// gives the most power.
#[test]
fn the_knee_is_where_the_laws_power_is_highest() {
    let power = |load: &f64| RETROGRADE.throughput_rps(*load).powi(2) / load;
    let truth = LOADS
        .into_iter()
        .max_by(|one, other| power(one).total_cmp(&power(other)));
    let mut random = Random::seeded(7);
    let mut right = 0;
    for seed in 0..SWEEPS {
        let levels = sweep(RETROGRADE, 0.05, &mut random);
        let found = knee(&levels, SplitMix64::new(seed));
        if let Some((low, high)) = found.low.zip(found.high) {
            right += u64::from((low..=high).contains(&truth.unwrap()));
        }
    }
    println!("of {SWEEPS} knees, {right} have the true one within their interval");
    assert!(right >= SWEEPS * 95 / 100, "{right}");
}

#[test]
fn power_that_rises_to_the_end_or_falls_from_the_start_has_no_knee() {
    let linear = Usl {
        sigma: 0.0,
        kappa: 0.0,
        ..RETROGRADE
    };
    let serial = Usl {
        sigma: 1.0,
        kappa: 0.0,
        ..RETROGRADE
    };
    let mut random = Random::seeded(8);
    let mut found = |law| knee(&sweep(law, 0.02, &mut random), SplitMix64::new(8)).is;
    assert_eq!(found(linear), "above");
    assert_eq!(found(serial), "below");
    assert_eq!(knee(&[], SplitMix64::new(8)).is, "not_seen");
}
