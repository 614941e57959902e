//! The search for a capacity, held against queues whose capacity is known in closed form.
//!
//! Every figure comes from a fixed seed. They are printed: `cargo test --release -p judge
//! --test capacity -- --nocapture`.
#![expect(clippy::print_stdout, reason = "the figures are for a reader")]

#[expect(
    dead_code,
    reason = "the noise of blocks that follow one another is for other tests"
)]
mod noise;

use judge::capacity::{BLOCKS_AS_A_RULE, BLOCKS_AT_MOST, Capacity, Range, Search, Seen, TRUST};
use model::random::SplitMix64;
use noise::Random;

const SEARCHES: u32 = 1000;

/// One server with a queue of any length, and independent users in front of it.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Requests/s that the server can work off.
    capacity_rps: f64,
    service: Service,
    /// p99 of the response must stay below this, s.
    limit_s: f64,
    block_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Service {
    /// M/M/1.
    Exponential,
    /// M/D/1.
    Constant,
}

impl Queue {
    /// Where p99 of the response reaches the limit.
    ///
    /// M/M/1: the response is exponential with rate µ − λ, so p99 = ln 100 / (µ − λ). M/D/1: by
    /// Crommelin's series of the waiting time, P(W ≤ t) = (1 − ρ) Σ (λ(kD − t))^k / k! · e^−λ(kD − t)
    /// for k ≤ t/D, and the response is W + D.
    fn threshold_rps(&self) -> f64 {
        match self.service {
            Service::Exponential => self.capacity_rps - 100.0_f64.ln() / self.limit_s,
            Service::Constant => self.bisect(|rate| self.waits_within(rate) >= 0.99),
        }
    }

    fn waits_within(&self, rate_rps: f64) -> f64 {
        let service_s = 1.0 / self.capacity_rps;
        let wait_s = self.limit_s - service_s;
        let mut sum = 0.0;
        let mut k = 0.0;
        let mut factorial_ln = 0.0;
        while k * service_s <= wait_s {
            // λ(kD − t) is negative, so that its powers alternate.
            let negative = rate_rps * (wait_s - k * service_s);
            let sign = if k % 2.0 == 0.0 { 1.0 } else { -1.0 };
            let power = if k == 0.0 { 0.0 } else { k * negative.ln() };
            sum += sign * (power - factorial_ln + negative).exp();
            k += 1.0;
            factorial_ln += k.ln();
        }
        (1.0 - rate_rps * service_s) * sum
    }

    fn bisect(&self, holds: impl Fn(f64) -> bool) -> f64 {
        let (mut low, mut high) = (self.capacity_rps / 100.0, self.capacity_rps);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if holds(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Serves one block by Lindley's recursion, and tells whether its p99 held.
    fn block(&self, rate_rps: f64, capacity_rps: f64, random: &mut Random) -> bool {
        let exponential = |random: &mut Random, rate: f64| -(1.0 - random.share()).ln() / rate;
        let (mut served, mut late) = (0.0, 0.0);
        let (mut now_s, mut wait_s) = (0.0, 0.0);
        let settle_s = self.block_s / 4.0;
        while now_s < self.block_s + settle_s {
            let service_s = match self.service {
                Service::Exponential => exponential(random, capacity_rps),
                Service::Constant => 1.0 / capacity_rps,
            };
            if now_s >= settle_s {
                served += 1.0;
                late += f64::from(u8::from(wait_s + service_s >= self.limit_s));
            }
            let gap_s = exponential(random, rate_rps);
            wait_s = f64::max(0.0, wait_s + service_s - gap_s);
            now_s += gap_s;
        }
        served > 0.0 && late <= served * 0.01
    }
}

/// What is wrong with the machine on which the queue runs.
#[derive(Clone, Copy, Debug, Default)]
struct Disturbance {
    /// Standard deviation of the logarithm of the capacity from block to block.
    noise: f64,
    /// How far the capacity wanders by the fiftieth block.
    drift: f64,
    /// Chance that a block says the opposite.
    lies: f64,
}

const QUIET: Disturbance = Disturbance {
    noise: 0.0,
    drift: 0.0,
    lies: 0.0,
};

#[derive(Debug, Default)]
struct Outcome {
    bracketed: u32,
    above: u32,
    below: u32,
    undecided: u32,
    blocks: u32,
    most_blocks: u32,
    widths: Vec<f64>,
}

fn search(queue: &Queue, trouble: Disturbance, random: &mut Random) -> (Capacity, f64) {
    let range = Range {
        lowest_rps: queue.capacity_rps / 30.0,
        first_rps: queue.capacity_rps / 2.0,
        highest_rps: queue.capacity_rps * 2.0,
    };
    let mut search = Search::new(range, SplitMix64::new(random.share().to_bits()));
    let towards = if random.happens(0.5) {
        trouble.drift
    } else {
        -trouble.drift
    };
    let mut block = 0.0;
    let mut shift = 0.0;
    while let Some(rate) = search.next_rps() {
        // The capacity stops wandering where the search confirms its bracket; before, it misleads.
        shift = towards * f64::min(block / 50.0, 1.0);
        let capacity = queue.capacity_rps * (shift + trouble.noise * random.normal()).exp();
        let held = queue.block(rate, capacity, random) != random.happens(trouble.lies);
        search.saw(if held { Seen::Holds } else { Seen::Fails }, TRUST);
        block += 1.0;
    }
    let drifted = Queue {
        capacity_rps: queue.capacity_rps * shift.exp(),
        ..*queue
    };
    (search.found(), drifted.threshold_rps())
}

fn search_many(
    title: &str,
    searches: u32,
    queue: &Queue,
    trouble: Disturbance,
    seed: u64,
) -> Outcome {
    let mut random = Random::seeded(seed);
    let mut outcome = Outcome::default();
    for _ in 0..searches {
        let (found, truth) = search(queue, trouble, &mut random);
        assert!(found.is_over && found.blocks <= BLOCKS_AT_MOST, "{found:?}");
        outcome.blocks += found.blocks;
        outcome.most_blocks = outcome.most_blocks.max(found.blocks);
        let (Some(holds), Some(fails)) = (found.holds, found.fails) else {
            outcome.undecided += 1;
            continue;
        };
        outcome.widths.push(fails.rate_rps / holds.rate_rps);
        outcome.above += u32::from(truth > fails.rate_rps);
        outcome.below += u32::from(truth < holds.rate_rps);
        outcome.bracketed += u32::from((holds.rate_rps..=fails.rate_rps).contains(&truth));
    }
    outcome.widths.sort_by(f64::total_cmp);
    println!(
        "{title}: bracketed {}, truth above {}, below {}, undecided {}; blocks {:.1} on average, at \
         most {}; width {:.2}, in one of twenty above {:.2}",
        outcome.bracketed,
        outcome.above,
        outcome.below,
        outcome.undecided,
        f64::from(outcome.blocks) / f64::from(searches),
        outcome.most_blocks,
        outcome.widths[outcome.widths.len() / 2],
        outcome.widths[outcome.widths.len() * 19 / 20],
    );
    outcome
}

/// The limit of p99 is twelve times the mean service time. At the threshold, about twenty requests
/// of a block lie beyond it.
const EXPONENTIAL: Queue = Queue {
    capacity_rps: 1000.0,
    service: Service::Exponential,
    limit_s: 0.012,
    block_s: 3.5,
};
const CONSTANT: Queue = Queue {
    service: Service::Constant,
    ..EXPONENTIAL
};

#[test]
fn the_closed_forms_agree_with_queues_that_are_served() {
    let mut random = Random::seeded(1);
    for queue in [EXPONENTIAL, CONSTANT] {
        let long = Queue {
            block_s: 400.0,
            ..queue
        };
        let truth = queue.threshold_rps();
        for (share, expected) in [(0.95, true), (1.05, false)] {
            let held = long.block(truth * share, queue.capacity_rps, &mut random);
            assert_eq!(held, expected, "{queue:?} at {share} of {truth}");
        }
    }
}

#[test]
fn the_bracket_holds_the_truth_in_95_of_100_searches_or_more() {
    let noisy = Disturbance {
        noise: 0.03,
        ..QUIET
    };
    let drifting = Disturbance {
        noise: 0.02,
        drift: 0.06,
        ..QUIET
    };
    for (title, queue, trouble, seed) in [
        ("M/M/1, 3 % noise", EXPONENTIAL, noisy, 3),
        ("M/D/1, 2 % noise, 6 % drift", CONSTANT, drifting, 4),
    ] {
        let outcome = search_many(title, SEARCHES, &queue, trouble, seed);
        assert!(outcome.bracketed >= 950, "{title}: {}", outcome.bracketed);
        let mean_blocks = f64::from(outcome.blocks) / f64::from(SEARCHES);
        let forecast = f64::from(BLOCKS_AS_A_RULE);
        assert!(
            (0.8..1.2).contains(&(mean_blocks / forecast)),
            "{mean_blocks}"
        );
    }
}

#[test]
fn blocks_that_lie_cost_blocks_and_width_and_not_the_truth() {
    let lying = Disturbance {
        noise: 0.02,
        lies: 0.05,
        ..QUIET
    };
    let outcome = search_many("M/D/1, one block in twenty lies", 200, &CONSTANT, lying, 5);
    assert!(outcome.bracketed >= 190, "{}", outcome.bracketed);
}

/// Searches a target that holds below a threshold and answers `above` from there on, without noise.
fn step_search(range: Range, above: Seen, threshold_rps: f64) -> Capacity {
    let mut search = Search::new(range, SplitMix64::new(1));
    while let Some(rate) = search.next_rps() {
        let seen = if rate < threshold_rps {
            Seen::Holds
        } else {
            above
        };
        search.saw(seen, TRUST);
    }
    search.found()
}

const WIDE: Range = Range {
    lowest_rps: 100.0,
    first_rps: 5_000.0,
    highest_rps: 100_000.0,
};

#[test]
fn a_sharp_threshold_is_bracketed_within_eleven_percent_wherever_it_is() {
    for threshold in [150.0, 1_000.0, 41_000.0, 90_000.0] {
        let found = step_search(WIDE, Seen::Fails, threshold);
        let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
        assert!(
            low.rate_rps < threshold && threshold < high.rate_rps,
            "{found:?}"
        );
        assert!(high.rate_rps / low.rate_rps < 1.11, "{found:?}");
        assert_eq!((low.held, high.failed), (8, 8));
    }
}

#[test]
fn what_the_client_could_not_offer_is_not_said_to_fail() {
    let found = step_search(WIDE, Seen::NotOffered, 20_000.0);
    assert_eq!(found.fails.unwrap().agreed(), Some(Seen::NotOffered));
    assert_eq!(found.holds.unwrap().agreed(), Some(Seen::Holds));
}

#[test]
fn beyond_the_range_only_its_edge_is_confirmed() {
    let below = step_search(WIDE, Seen::Fails, 50.0);
    assert_eq!(below.holds, None);
    assert!((below.fails.unwrap().rate_rps - 100.0).abs() < 1e-9);
    let above = step_search(WIDE, Seen::Fails, 1e9);
    assert_eq!(above.fails, None);
    assert!(above.holds.unwrap().rate_rps >= 100_000.0);
}

#[test]
fn blocks_that_say_anything_seldom_confirm_both_sides_and_still_end() {
    let mut random = Random::seeded(9);
    let mut confirmed_both = 0;
    for _ in 0..200 {
        let mut search = Search::new(WIDE, SplitMix64::new(7));
        while search.next_rps().is_some() {
            let seen = if random.happens(0.5) {
                Seen::Holds
            } else {
                Seen::Fails
            };
            search.saw(seen, TRUST);
        }
        let found = search.found();
        assert!(found.is_over && found.blocks <= BLOCKS_AT_MOST);
        confirmed_both += u32::from(found.holds.is_some() && found.fails.is_some());
    }
    assert!(confirmed_both < 60, "{confirmed_both}");
}
