//! Two-sided confirmation: finds a rate that holds in seven of eight blocks, and one that fails in
//! seven of eight.

use model::random::SplitMix64;

use super::{Range, Seen};

/// Blocks at a rate before it is decided.
const BLOCKS: u32 = 8;
/// How many of them must agree. At a rate that holds as often as it fails, that happens by chance
/// in 3.5 % of cases (one-sided sign test, 9 of 256); a search that tries several rates errs more.
const AGREE: u32 = 7;
/// How many blocks must have missed the objective because of the client for the rate to count as
/// not offered.
const BLAMED: u32 = 2;
/// Ratio of the two rates that are tried first.
const APART: f64 = 1.1;
/// Ratio to the next rate further out, for which a rate is given up whose blocks disagree.
const OUTWARD: f64 = 1.05;

/// What the blocks at one rate showed.
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

    /// Number of blocks measured at the rate.
    pub fn blocks(&self) -> u32 {
        self.held + self.failed + self.not_offered
    }

    /// What seven or more of its blocks agree on. It is `NotOffered` where the rate did not hold
    /// and the client or its connections were the reason in two blocks or more.
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

    /// Whether all eight blocks are in, or no seven of them can agree any more.
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

/// A confirmation under way.
#[derive(Clone, Debug)]
pub(super) struct Confirm {
    range: Range,
    random: SplitMix64,
    low: Option<Tally>,
    high: Option<Tally>,
    /// The sides still to be measured in this round, the next one last. Each round has both sides
    /// in random order, so that drift affects both alike.
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
    /// Confirms around the supposed threshold: one rate is as far above it as the other is below.
    pub(super) fn around(rate_rps: f64, range: Range, random: SplitMix64) -> Self {
        let low = (rate_rps / APART.sqrt()).max(range.lowest_rps);
        Self::with(Some(low), Some(low * APART), range, random)
    }

    /// Confirms that the lowest rate fails.
    pub(super) fn lowest(range: Range, random: SplitMix64) -> Self {
        Self::with(None, Some(range.lowest_rps), range, random)
    }

    /// Confirms that the highest rate holds.
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
            // The rate that was expected to hold fails, and so does any rate above it.
            Some(Seen::Fails | Seen::NotOffered) => {
                self.fails = Some(tally);
                let other = self.high.take();
                self.give_up(other);
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
            // The rate that was expected to fail holds, and so does any rate below it.
            Some(Seen::Holds) => {
                self.holds = Some(tally);
                let other = self.low.take();
                self.give_up(other);
                self.raise(&tally, APART);
            }
            None => {
                self.split.push(tally);
                self.raise(&tally, OUTWARD);
            }
        }
    }

    /// Puts a rate that is given up after some blocks among the undecided ones.
    fn give_up(&mut self, tally: Option<Tally>) {
        self.split.extend(tally.filter(|tally| tally.blocks() > 0));
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

/// Counts a block. Once the tally is over, takes it out and returns it.
fn counted(candidate: &mut Option<Tally>, seen: Seen) -> Option<Tally> {
    let tally = candidate.as_mut()?;
    tally.count(seen);
    if tally.is_over() {
        candidate.take()
    } else {
        None
    }
}
