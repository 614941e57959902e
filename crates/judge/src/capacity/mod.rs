//! The highest rate that holds an objective, by a search in which single blocks may be wrong.
//!
//! A walk in steps of 1.3 brackets the threshold from below and comes back from above; a bisection
//! that trusts each block only so far narrows it; then one rate just below and one just above are
//! measured in eight blocks each, in rounds of random order, and only what seven of eight agree
//! on is reported. A rate at which blocks disagree is given up for one further out.

mod confirm;
mod course;
mod posterior;
mod ramp;
mod run;

use model::judgement::Hysteresis;
use model::random::SplitMix64;

pub use confirm::Tally;
pub use course::{BlockVerdict, CLOSED_LOOP, Course, KEPT_UP_SHARE, Look, NoRange, OFFERED};
pub use posterior::Posterior;
pub use run::judge_capacity;

use confirm::Confirm;
use ramp::{Bracket, Ramp};

/// Trust in the answer of a block during the bisection.
pub const TRUST: f64 = 0.7;
/// Trust where something speaks against a block, such as a client that had to wait for its CPU.
pub const LITTLE_TRUST: f64 = 0.6;
/// The bisection ends when this share of the weight lies between rates that are near each other.
const MASS: f64 = 0.9;
/// Largest ratio of two rates that are near each other.
const NEAR: f64 = 1.03;
/// Most blocks of the bisection.
const LONGEST_BISECTION: u32 = 40;
/// Most blocks of the walk. A longer one, as where nothing holds again after an overload, gives way
/// to the bisection.
const LONGEST_RAMP: u32 = 40;
/// Most blocks of the confirmation, which then ends undecided.
const LONGEST_CONFIRMATION: u32 = 80;
/// Blocks that a search takes as a rule, by simulation (tests/capacity.rs).
pub const BLOCKS_AS_A_RULE: u32 = 70;
/// Most blocks that a search takes.
pub const BLOCKS_AT_MOST: u32 = LONGEST_RAMP + LONGEST_BISECTION + LONGEST_CONFIRMATION;

/// What one block at a rate showed, or what most of its blocks agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Holds,
    Fails,
    /// The objective was missed while the load generator was at its own limit, so that the block
    /// says nothing about the target.
    NotOffered,
}

impl Seen {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::NotOffered => "not_offered",
        }
    }
}

/// Rates that may be tried, requests/s; the confirmation may go a tenth above. The lowest is above
/// 0 and no higher than the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub lowest_rps: f64,
    /// Where to begin: a rate that is likely to hold.
    pub first_rps: f64,
    pub highest_rps: f64,
}

/// A search under way: ask it for the next rate, then tell it what was seen there.
#[derive(Clone, Debug)]
pub struct Search {
    range: Range,
    random: SplitMix64,
    posterior: Posterior,
    phase: Phase,
    blocks_of_phase: u32,
    blocks: u32,
    hysteresis: Option<Hysteresis>,
}

#[derive(Clone, Debug)]
enum Phase {
    Ramp(Ramp),
    Bisection,
    Confirmation(Confirm),
    Over(Confirm),
}

/// What is known of a capacity, at the end of a search or before.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The highest rate that was confirmed to hold.
    pub holds: Option<Tally>,
    /// The lowest rate that was confirmed to fail, or that could not be offered.
    pub fails: Option<Tally>,
    /// Rates whose blocks agree on nothing, or not yet.
    pub undecided: Vec<Tally>,
    /// Nine tenths of the bisection's weight lie between these rates, requests/s. This is no
    /// confidence interval, since a block's answer is trusted by a fixed share.
    pub likely_rps: [f64; 2],
    pub hysteresis: Option<Hysteresis>,
    /// Number of blocks measured.
    pub blocks: u32,
    /// Whether the search came to its end.
    pub is_over: bool,
}

impl Search {
    /// Begins a search; the random numbers decide the order of the blocks of a confirmation.
    pub fn new(range: Range, random: SplitMix64) -> Self {
        let Range {
            lowest_rps,
            first_rps,
            highest_rps,
        } = range;
        Self {
            range,
            random,
            posterior: Posterior::between(lowest_rps, highest_rps),
            phase: Phase::Ramp(Ramp::new(lowest_rps, first_rps, highest_rps)),
            blocks_of_phase: 0,
            blocks: 0,
            hysteresis: None,
        }
    }

    /// The rate of the next block, requests/s; `None` when the search is over.
    pub fn next_rps(&mut self) -> Option<f64> {
        let next = match &mut self.phase {
            Phase::Ramp(ramp) => return Some(ramp.next_rps()),
            Phase::Bisection => return Some(self.posterior.quantile(0.5)),
            Phase::Over(_) => return None,
            Phase::Confirmation(confirm) => confirm.next_rps().or_else(|| {
                confirm.begin_round();
                confirm.next_rps()
            }),
        };
        if next.is_none() {
            self.end();
        }
        next
    }

    /// Accepts what the block at the next rate showed, with the trust that it deserves.
    pub fn saw(&mut self, seen: Seen, trust: f64) {
        let Some(rate_rps) = self.next_rps() else {
            return;
        };
        self.blocks += 1;
        self.blocks_of_phase += 1;
        let held = seen == Seen::Holds;
        match &mut self.phase {
            Phase::Ramp(ramp) => {
                self.posterior.update(rate_rps, held, trust);
                let bracket = ramp.saw(held);
                self.after_ramp(bracket);
            }
            Phase::Bisection => {
                self.posterior.update(rate_rps, held, trust);
                self.after_bisection();
            }
            Phase::Confirmation(confirm) => {
                confirm.saw(seen);
                if self.blocks_of_phase >= LONGEST_CONFIRMATION {
                    self.end();
                }
            }
            Phase::Over(_) => {}
        }
    }

    fn after_ramp(&mut self, bracket: Option<Bracket>) {
        match bracket {
            None if self.blocks_of_phase < LONGEST_RAMP => return,
            None => {}
            Some(Bracket::Found(reach)) => {
                self.hysteresis = ramp::is_hysteresis(&reach).then_some(reach);
            }
            Some(Bracket::BelowRange) => return self.confirm(Confirm::lowest),
            Some(Bracket::AboveRange) => return self.confirm(Confirm::highest),
        }
        self.phase = Phase::Bisection;
        self.blocks_of_phase = 0;
    }

    fn after_bisection(&mut self) {
        let [low, high] = self.posterior.central(MASS);
        if high / low > NEAR && self.blocks_of_phase < LONGEST_BISECTION {
            return;
        }
        let median = self.posterior.quantile(0.5);
        self.confirm(|range, random| Confirm::around(median, range, random));
    }

    fn confirm(&mut self, how: impl FnOnce(Range, SplitMix64) -> Confirm) {
        self.phase = Phase::Confirmation(how(self.range, self.random.clone()));
        self.blocks_of_phase = 0;
    }

    fn end(&mut self) {
        if let Phase::Confirmation(confirm) = &self.phase {
            self.phase = Phase::Over(confirm.clone());
        }
    }

    /// The capacity as far as it is known now.
    pub fn found(&self) -> Capacity {
        let confirm = match &self.phase {
            Phase::Confirmation(confirm) | Phase::Over(confirm) => Some(confirm),
            Phase::Ramp(_) | Phase::Bisection => None,
        };
        Capacity {
            holds: confirm.and_then(|confirm| confirm.holds),
            fails: confirm.and_then(|confirm| confirm.fails),
            undecided: confirm.map(Confirm::undecided).unwrap_or_default(),
            likely_rps: self.posterior.central(MASS),
            hysteresis: self.hysteresis,
            blocks: self.blocks,
            is_over: matches!(self.phase, Phase::Over(_)),
        }
    }

    /// What the next block is for, in a word for a user who waits.
    pub fn purpose(&self) -> &'static str {
        match self.phase {
            Phase::Ramp(_) => "bracketing",
            Phase::Bisection => "narrowing",
            Phase::Confirmation(_) => "confirming",
            Phase::Over(_) => "done",
        }
    }
}
