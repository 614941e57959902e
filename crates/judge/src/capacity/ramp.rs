//! The walk that brackets a threshold: up until it fails, then back down until it holds.

use model::judgement::Hysteresis;

/// Ratio of neighbouring rates of the walk.
const STEP: f64 = 1.3;
/// Most steps between two rates on the way down: while none has held, the distance doubles.
const LONGEST_STRIDE: i32 = 8;

/// The state of the walk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ramp {
    lowest_rps: f64,
    highest_rps: f64,
    next_rps: f64,
    going: Going,
    /// The highest rate that held on the way up.
    held_going_up_rps: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    /// Nothing has held yet.
    Down {
        stride: i32,
    },
    Up,
    /// Down again from the first failure, to see whether what held before still holds.
    Back,
}

/// How the walk ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bracket {
    /// The threshold lies within the range; the highest rate that held in each direction.
    Found(Hysteresis),
    /// Not even the lowest rate held.
    BelowRange,
    /// The highest rate held.
    AboveRange,
}

impl Ramp {
    pub(super) fn new(lowest_rps: f64, first_rps: f64, highest_rps: f64) -> Self {
        Self {
            lowest_rps,
            highest_rps,
            next_rps: first_rps.clamp(lowest_rps, highest_rps),
            going: Going::Down { stride: 1 },
            held_going_up_rps: None,
        }
    }

    pub(super) fn next_rps(&self) -> f64 {
        self.next_rps
    }

    /// Accepts whether the block at the next rate held. Returns how the walk ended, once it has.
    pub(super) fn saw(&mut self, held: bool) -> Option<Bracket> {
        let rate = self.next_rps;
        match (self.going, held) {
            (Going::Down { .. } | Going::Up, true) => {
                self.held_going_up_rps = Some(rate);
                self.going = Going::Up;
                self.go_to(rate * STEP, Bracket::AboveRange)
            }
            (Going::Back, true) => Some(self.found(rate)),
            (Going::Down { stride }, false) => {
                let stride_next = (2 * stride).min(LONGEST_STRIDE);
                self.going = Going::Down {
                    stride: stride_next,
                };
                self.go_to(rate / STEP.powi(stride), Bracket::BelowRange)
            }
            (Going::Up | Going::Back, false) => {
                self.going = Going::Back;
                self.go_to(rate / STEP, Bracket::BelowRange)
            }
        }
    }

    /// Goes on to a rate within the range, or ends where the walk already stands at the edge.
    fn go_to(&mut self, rate_rps: f64, at_the_edge: Bracket) -> Option<Bracket> {
        let next = rate_rps.clamp(self.lowest_rps, self.highest_rps);
        let has_been = (next - self.next_rps).abs() < f64::EPSILON * next;
        self.next_rps = next;
        has_been.then_some(at_the_edge)
    }

    fn found(&self, coming_down_rps: f64) -> Bracket {
        Bracket::Found(Hysteresis {
            going_up_rps: self.held_going_up_rps.unwrap_or(coming_down_rps),
            coming_down_rps,
        })
    }
}

/// Whether the highest rate that held on the way down is two steps or more below that on the way
/// up. One step is noise: a single block at each rate tells no more.
pub(super) fn is_hysteresis(highest_held: &Hysteresis) -> bool {
    highest_held.going_up_rps / highest_held.coming_down_rps > STEP * STEP * 0.99
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks with a server that tells whether it holds a rate, by how often it was asked.
    fn walk(mut ramp: Ramp, holds: impl Fn(f64, usize) -> bool) -> (Bracket, usize) {
        for count in 1..100 {
            if let Some(bracket) = ramp.saw(holds(ramp.next_rps(), count - 1)) {
                return (bracket, count);
            }
        }
        panic!("the walk does not end: {ramp:?}");
    }

    #[test]
    fn the_walk_ends_within_one_step_of_the_threshold() {
        for threshold in [150.0, 900.0, 4_000.0, 30_000.0] {
            let ramp = Ramp::new(100.0, 5_000.0, 100_000.0);
            let (bracket, count) = walk(ramp, |rate, _| rate < threshold);
            let Bracket::Found(reach) = bracket else {
                panic!("{threshold}: {bracket:?}");
            };
            let distance = threshold / reach.coming_down_rps;
            assert!(
                (1.0..STEP * 1.001).contains(&distance),
                "{threshold}: {reach:?}"
            );
            assert!(count < 24 && !is_hysteresis(&reach), "{threshold}: {count}");
        }
    }

    #[test]
    fn a_threshold_beyond_the_range_ends_at_its_edge() {
        let ramp = || Ramp::new(100.0, 5_000.0, 100_000.0);
        assert_eq!(walk(ramp(), |_, _| false).0, Bracket::BelowRange);
        assert_eq!(walk(ramp(), |_, _| true).0, Bracket::AboveRange);
    }

    #[test]
    fn a_server_that_stays_slow_after_too_much_is_hysteresis() {
        let ramp = Ramp::new(100.0, 1_000.0, 100_000.0);
        let after_failure = std::cell::Cell::new(false);
        let (bracket, _) = walk(ramp, |rate, _| {
            let holds = rate
                < if after_failure.get() {
                    2_000.0
                } else {
                    5_000.0
                };
            after_failure.set(after_failure.get() || !holds);
            holds
        });
        assert!(
            matches!(&bracket, Bracket::Found(reach) if is_hysteresis(reach)),
            "{bracket:?}"
        );
    }
}
