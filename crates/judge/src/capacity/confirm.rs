//! Two-sided confirmation: a rate that holds in seven blocks of eight, and one that fails in as many.

use model::random::SplitMix64;

use super::{Range, Seen};

/// Blocks at a rate before it is told what it is.
const BLOCKS: u32 = 8;
/// So many of them must agree: at one rate at which either is as likely, that happens in 3.5 % of
/// cases (one-sided sign test, 9 of 256). A search that has to try several is the likelier to err.
const AGREE: u32 = 7;
/// So many of those that did not hold must be by the client's doing to be blamed on it.
const BLAMED: u32 = 2;
/// Between the two rates that are tried first.
const APART: f64 = 1.1;
/// A rate at which blocks disagree is given up for one so much further out.
const OUTWARD: f64 = 1.05;

/// What was seen at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    pub rate_rps: f64,
    pub held: u32,
    pub failed: u32,
    pub not_offered: u32,
}

impl Tally {
    fn at(rate_rps: f64) -> Self {
        Self {
            rate_rps,
            held: 0,
            failed: 0,
            not_offered: 0,
        }
    }

    /// Blocks in all.
    pub fn blocks(&self) -> u32 {
        self.held + self.failed + self.not_offered
    }

    /// What seven or more of its blocks say; that it was not offered where it did not hold, and in two
    /// blocks or more the client or its connections were the reason.
    pub fn agreed(&self) -> Option<Seen> {
        if self.held >= AGREE {
            Some(Seen::Holds)
        } else if self.failed >= AGREE {
            Some(Seen::Fails)
        } else if self.not_offered >= BLAMED && self.failed + self.not_offered >= AGREE {
            Some(Seen::NotOffered)
        } else {
            None
        }
    }

    /// All eight blocks are in, or seven can agree upon nothing any more.
    pub(super) fn is_over(&self) -> bool {
        let against = BLOCKS - AGREE;
        let disagree = self.held > against && self.failed + self.not_offered > against;
        self.blocks() >= BLOCKS || disagree
    }

    fn count(&mut self, seen: Seen) {
        match seen {
            Seen::Holds => self.held += 1,
            Seen::Fails => self.failed += 1,
            Seen::NotOffered => self.not_offered += 1,
        }
    }
}

/// The confirmation as it goes on.
#[derive(Clone, Debug)]
pub(super) struct Confirm {
    range: Range,
    random: SplitMix64,
    low: Option<Tally>,
    high: Option<Tally>,
    /// Which of the two comes next, the last first: both in each round, in random order, so that
    /// drift falls on both alike.
    round: Vec<Side>,
    pub(super) holds: Option<Tally>,
    pub(super) fails: Option<Tally>,
    /// Rates at which the blocks disagreed.
    pub(super) split: Vec<Tally>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

impl Confirm {
    /// Confirms around where the threshold seems to be: as far above it as below.
    pub(super) fn around(rate_rps: f64, range: Range, random: SplitMix64) -> Self {
        let low = (rate_rps / APART.sqrt()).max(range.lowest_rps);
        Self::with(Some(low), Some(low * APART), range, random)
    }

    /// Sees whether the lowest rate fails.
    pub(super) fn lowest(range: Range, random: SplitMix64) -> Self {
        Self::with(None, Some(range.lowest_rps), range, random)
    }

    /// Sees whether the highest rate holds.
    pub(super) fn highest(range: Range, random: SplitMix64) -> Self {
        Self::with(Some(range.highest_rps), None, range, random)
    }

    fn with(low: Option<f64>, high: Option<f64>, range: Range, random: SplitMix64) -> Self {
        Self {
            range,
            random,
            low: low.map(Tally::at),
            high: high.map(Tally::at),
            round: Vec::new(),
            holds: None,
            fails: None,
            split: Vec::new(),
        }
    }

    /// The next rate; `None` when both sides are decided.
    pub(super) fn next_rps(&mut self) -> Option<f64> {
        loop {
            match self.round.last()? {
                Side::Low if self.low.is_none() => self.round.pop(),
                Side::High if self.high.is_none() => self.round.pop(),
                Side::Low => return Some(self.low?.rate_rps),
                Side::High => return Some(self.high?.rate_rps),
            };
        }
    }

    /// Draws the order of the next round once the one before is over.
    pub(super) fn begin_round(&mut self) {
        self.round = match self.random.below(2) {
            0 => vec![Side::Low, Side::High],
            _ => vec![Side::High, Side::Low],
        };
    }

    pub(super) fn saw(&mut self, seen: Seen) {
        match self.round.pop() {
            Some(Side::Low) => self.saw_low(seen),
            Some(Side::High) => self.saw_high(seen),
            None => {}
        }
    }

    fn saw_low(&mut self, seen: Seen) {
        let Some(tally) = counted(&mut self.low, seen) else {
            return;
        };
        match tally.agreed() {
            Some(Seen::Holds) => self.holds = Some(tally),
            // What was taken to hold fails: so does what is above it.
            Some(Seen::Fails | Seen::NotOffered) => {
                self.fails = Some(tally);
                let given = self.high.take();
                self.give_up(given);
                self.lower(&tally, APART);
            }
            None => {
                self.split.push(tally);
                self.lower(&tally, OUTWARD);
            }
        }
    }

    fn saw_high(&mut self, seen: Seen) {
        let Some(tally) = counted(&mut self.high, seen) else {
            return;
        };
        match tally.agreed() {
            Some(Seen::Fails | Seen::NotOffered) => self.fails = Some(tally),
            // What was taken to fail holds: so does what is below it.
            Some(Seen::Holds) => {
                self.holds = Some(tally);
                let given = self.low.take();
                self.give_up(given);
                self.raise(&tally, APART);
            }
            None => {
                self.split.push(tally);
                self.raise(&tally, OUTWARD);
            }
        }
    }

    /// A rate that was begun and is given up stays among those at which nothing is decided.
    fn give_up(&mut self, given: Option<Tally>) {
        self.split.extend(given.filter(|tally| tally.blocks() > 0));
    }

    fn lower(&mut self, from: &Tally, by: f64) {
        let next = (from.rate_rps / by).max(self.range.lowest_rps);
        self.low = (next < from.rate_rps).then(|| Tally::at(next));
    }

    fn raise(&mut self, from: &Tally, by: f64) {
        let next = from.rate_rps * by;
        self.high = (next <= self.range.highest_rps * APART).then(|| Tally::at(next));
    }

    /// Rates that are being tried, and those at which the blocks disagreed.
    pub(super) fn undecided(&self) -> Vec<Tally> {
        let trying = [self.low, self.high].into_iter().flatten();
        let begun = trying.filter(|tally| tally.blocks() > 0);
        self.split.iter().copied().chain(begun).collect()
    }
}

/// Counts a block; gives the tally back once it is over, and takes it out.
fn counted(candidate: &mut Option<Tally>, seen: Seen) -> Option<Tally> {
    let tally = candidate.as_mut()?;
    tally.count(seen);
    if tally.is_over() {
        candidate.take()
    } else {
        None
    }
}
