//! Plateaus and credit of a rate, held against series whose truth is known.
//!
//! Every figure comes from a fixed seed. They are printed: `cargo test --release -p judge
//! --test credit -- --nocapture`.

#![expect(clippy::print_stdout, reason = "the figures are for a reader")]

#[expect(
    dead_code,
    reason = "the noise of blocks that follow one another is for other tests"
)]
mod noise;

use std::f64::consts::TAU;

use judge::credit::{CarriedBytes, read};
use noise::Random;

const SERIES: u64 = 200;
/// Share of the series that may be wrong, at most.
const MISSED: f64 = 0.05;

/// The course of a link's rate over the readings, as a share of its highest rate.
#[derive(Clone, Copy)]
enum Course {
    Constant,
    /// Change of the rate's logarithm from the first reading to the last.
    Drift(f64),
    /// Amplitude of a wave of the rate's logarithm, and the number of its periods.
    Wave(f64, f64),
    /// The reading at which the credit is spent, and the share of the rate that is left then.
    Credit(f64, f64),
}

impl Course {
    fn at(self, reading: f64, readings: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Drift(by) => (by * reading / readings).exp(),
            Self::Wave(by, times) => (by * (TAU * times * reading / readings).sin()).exp(),
            Self::Credit(spent, share) => {
                let burst = (spent - reading).clamp(0.0, 1.0);
                burst + (1.0 - burst) * share
            }
        }
    }
}

/// A link of 10 Mbit/s to 10 Gbit/s for one to ten minutes, read each second, whose neighbouring readings share noise of
/// 0.5 to 5 %, and which stands still for a moment now and then.
struct Link {
    top_bits: f64,
    readings: usize,
    noise: Vec<f64>,
}

impl Link {
    fn of(random: &mut Random) -> Self {
        let readings = pick(random, [60, 100, 200, 400, 600]);
        let phi = pick(random, [0.0, 0.3, 0.6]);
        let sigma = pick(random, [0.005, 0.02, 0.05]);
        let mut shared = 0.0;
        let noise = (0..readings).map(|_| {
            shared = phi * shared + sigma * (1.0_f64 - phi * phi).sqrt() * random.normal();
            match random.happens(0.005) {
                true => shared - random.share(),
                false => shared,
            }
        });
        let noise = noise.collect();
        Self {
            top_bits: 10_f64.powf(7.0 + 3.0 * random.share()),
            readings,
            noise,
        }
    }

    fn series(&self, course: Course) -> Vec<CarriedBytes> {
        let readings = self.noise.iter().enumerate();
        let bytes = readings.map(|(at, noise)| {
            let share = course.at(at as f64, self.readings as f64);
            bytes_of(self.top_bits * share * noise.exp())
        });
        let seconds = 1.0;
        bytes.map(|bytes| CarriedBytes { seconds, bytes }).collect()
    }
}

impl Link {
    /// Readings of a bucket of `bits` that is filled at `share` of the highest rate; and the bytes
    /// that it had, with the seconds after which it was empty.
    fn bucket(&self, bits: f64, share: f64) -> (Vec<CarriedBytes>, CarriedBytes) {
        let base = share * self.top_bits;
        let (mut left, mut empty_after) = (bits, 0.0);
        let readings = self.noise.iter().map(|noise| {
            let burst = self.top_bits * noise.exp();
            let above = (burst - base).max(f64::MIN_POSITIVE);
            let at_burst = (left / above).clamp(0.0, 1.0);
            left -= at_burst * (burst - base);
            empty_after += at_burst;
            let bytes = bytes_of(at_burst * burst + (1.0 - at_burst) * base * noise.exp());
            let seconds = 1.0;
            CarriedBytes { seconds, bytes }
        });
        let readings = readings.collect();
        let (seconds, bytes) = (empty_after, bytes_of(bits));
        (readings, CarriedBytes { seconds, bytes })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an index below the length")]
fn pick<T: Copy, const N: usize>(random: &mut Random, among: [T; N]) -> T {
    among[(random.share() * N as f64) as usize]
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rates of links that there are"
)]
fn bytes_of(bits: f64) -> u64 {
    (bits / 8.0) as u64
}

/// Asserts that at most [`MISSED`] of the series of a kind are not right.
fn assert_mostly_right(name: &str, is_right: impl Fn(&Link, &mut Random) -> bool) {
    let wrong = (0..SERIES).filter(|seed| {
        let mut random = Random::seeded(*seed);
        !is_right(&Link::of(&mut random), &mut random)
    });
    let share = wrong.count() as f64 / SERIES as f64;
    println!("{name}: {:.1} % are not right", share * 100.0);
    assert!(share <= MISSED, "{name}: {share}");
}

#[test]
fn credit_is_found_with_its_rates_and_the_moment_at_which_it_was_spent() {
    assert_mostly_right("credit", |link, random| {
        let spent = (0.1 + 0.75 * random.share()) * link.readings as f64;
        let share = 10_f64.powf(-0.1 - 1.9 * random.share());
        let Some(credit) = read(&link.series(Course::Credit(spent, share))).credit else {
            return false;
        };
        let within = |value: f64, truth: f64| (value / truth - 1.0).abs() <= 0.03;
        within(credit.burst_bits_per_second.value, link.top_bits)
            && within(credit.base_bits_per_second.value, share * link.top_bits)
            && (credit.spent_after_seconds.value - spent).abs() <= 2.0
    });
}

#[test]
fn nine_intervals_in_ten_hold_what_the_bucket_had_and_was_filled_at() {
    let mut held = [0_u64; 4];
    for seed in 0..SERIES {
        let mut random = Random::seeded(seed);
        let link = Link::of(&mut random);
        let spent = (0.2 + 0.5 * random.share()) * link.readings as f64;
        let (series, spent) = link.bucket(0.75 * link.top_bits * spent, 0.25);
        let Some(credit) = read(&series).credit else {
            continue;
        };
        let truths = [
            (credit.burst_bits_per_second, link.top_bits),
            (credit.base_bits_per_second, 0.25 * link.top_bits),
            (credit.spent_after_seconds, spent.seconds),
            (credit.credit_bytes, spent.bytes as f64),
        ];
        for (held, (estimate, truth)) in held.iter_mut().zip(truths) {
            *held += u64::from((estimate.low..=estimate.high).contains(&truth));
        }
    }
    println!("of {SERIES}: burst, base rate, time and credit are held in {held:?}");
    assert!(held.iter().all(|held| 10 * held >= 9 * SERIES), "{held:?}");
}

#[test]
fn where_there_is_no_credit_none_is_invented() {
    assert_mostly_right("constant", |link, _| {
        read(&link.series(Course::Constant)).credit.is_none()
    });
    assert_mostly_right("drift", |link, random| {
        let by = random.share() - 0.5;
        read(&link.series(Course::Drift(by))).credit.is_none()
    });
    assert_mostly_right("wave", |link, random| {
        let (by, times) = (0.05 + 0.25 * random.share(), 0.5 + random.share());
        read(&link.series(Course::Wave(by, times))).credit.is_none()
    });
}

#[test]
fn a_staged_drop_has_all_its_plateaus_and_the_last_is_the_base_rate() {
    // The course of a t4g.nano, by its article: the second until which it holds, and Mbit/s.
    let stages = [
        (15, 5_000),
        (180, 800),
        (210, 300),
        (300, 500),
        (1_260, 300),
        (1_800, 30),
    ];
    let mut random = Random::seeded(7);
    let mut series = Vec::new();
    for (until, mbits) in stages {
        while series.len() < until {
            let noise = (0.02 * random.normal()).exp();
            let bytes = bytes_of(f64::from(mbits) * 1e6 * noise);
            series.push(CarriedBytes {
                seconds: 1.0,
                bytes,
            });
        }
    }
    let told = read(&series);
    let changes: Vec<f64> = told.plateaus.iter().map(|one| one.to_seconds).collect();
    assert_eq!(changes, stages.map(|(until, _)| until as f64));
    let credit = told.credit.unwrap();
    assert!(
        (credit.base_bits_per_second.value / 30e6 - 1.0).abs() < 0.03,
        "{credit:?}"
    );
    assert!(
        (credit.burst_bits_per_second.value / 5e9 - 1.0).abs() < 0.03,
        "{credit:?}"
    );
    assert!(told.is_sure);
}

#[test]
fn a_day_of_readings_is_read_as_an_hour_is() {
    let reading = |at: usize| CarriedBytes {
        seconds: 1.0,
        bytes: if at < 40_000 { 1_000_000 } else { 200_000 },
    };
    let told = read(&(0..86_400).map(reading).collect::<Vec<_>>());
    let credit = told.credit.unwrap();
    let near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.001;
    assert!(
        near(credit.spent_after_seconds.value, 40_000.0),
        "{credit:?}"
    );
    assert!(
        near(credit.credit_bytes.value, 800_000.0 * 40_000.0),
        "{credit:?}"
    );
}
