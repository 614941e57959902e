//! A search for a capacity that follows the readings of its blocks, whether these come in one by
//! one or are read from a run folder.

use model::load_run::LoadStudy;
use model::objective::Objective;
use model::random::SplitMix64;
use model::{BlockRecord, Reading};

use super::{Capacity, LITTLE_TRUST, Range, Search, Seen, TRUST};
use crate::objective::{Served, fewest_requests, holds, holds_by_service};

/// Ratio of throughput with more connections above which the connections were the limit. A server
/// at its own limit gains only some per cent, as it finds more to do at each of its turns.
const BOUND_BY_CONNECTIONS: f64 = 1.25;
/// The search begins at `BEGIN_SHARE` of the closed loop's rate, and ends at `END_SHARE` of it.
const BEGIN_SHARE: f64 = 0.5;
const END_SHARE: f64 = 2.0;
/// How many times the fewest requests are due at the lowest rate, so that Poisson arrivals seldom
/// bring fewer.
const CHANCE: f64 = 1.1;
/// A client that waited for its CPU for more than this share of a block also measured its
/// neighbours.
const WAITED_LIMIT_SHARE: f64 = 0.1;
/// Share of the requests due that are answered within a block unless a queue grows. As limits are a
/// tenth of the block at most, no more than a tenth of the requests is under way when it ends.
pub const KEPT_UP_SHARE: f64 = 0.9;

/// Names of the closed-loop blocks before the search: with the study's connections, and with four
/// times as many.
pub const CLOSED_LOOP: [&str; 2] = ["closed loop", "closed loop, four times the connections"];
/// Name of the blocks of the search.
pub const OFFERED: &str = "offered";

/// Throughput in closed loop before the search, requests/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub closed_loop_rps: f64,
    /// With four times the connections; `None` where so many are not possible.
    pub more_connections_rps: Option<f64>,
}

impl Look {
    /// Reads it from the first blocks of a run; `None` where these have no closed loop.
    pub fn of(blocks: &[BlockRecord]) -> Option<Self> {
        let carried = |name: &str| {
            let mut blocks = blocks.iter();
            let block = blocks.find(|block| block.arm == name)?;
            Some(block.reading.throughput_rps())
        };
        let [few, more] = CLOSED_LOOP;
        Some(Self {
            closed_loop_rps: carried(few)?,
            more_connections_rps: carried(more),
        })
    }

    /// Whether the connections are the limit, so that waiting for a free one says nothing about the
    /// target.
    pub fn connections_bind(&self) -> bool {
        let more = self.more_connections_rps.unwrap_or(0.0);
        more > self.closed_loop_rps * BOUND_BY_CONNECTIONS
    }

    /// The rates that may be tried.
    ///
    /// # Errors
    /// Where no rate can be judged.
    pub fn range(&self, objective: &Objective, score_ns: u64) -> Result<Range, NoRange> {
        let fewest_requests = fewest_requests(objective) as f64 * CHANCE;
        let lowest_rps = fewest_requests / (score_ns as f64 / 1e9);
        if self.closed_loop_rps <= 0.0 {
            return Err(NoRange::Silent);
        }
        if lowest_rps > self.closed_loop_rps {
            return Err(NoRange::TooFew { fewest_requests });
        }
        Ok(Range {
            lowest_rps,
            first_rps: self.closed_loop_rps * BEGIN_SHARE,
            highest_rps: self.closed_loop_rps * END_SHARE,
        })
    }
}

/// Why no rate can be judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoRange {
    /// The target answered nothing correctly.
    Silent,
    /// A block needs this many requests, and the target answers fewer.
    TooFew { fewest_requests: f64 },
}

/// The judgement of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockVerdict {
    /// The rate that was to be offered, requests/s.
    pub rate_rps: f64,
    /// What the block was for.
    pub purpose: &'static str,
    pub seen: Seen,
    pub trust: f64,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Course<'a> {
    objective: &'a Objective,
    timeout_ns: u64,
    pub look: Look,
    pub range: Range,
    search: Search,
}

impl<'a> Course<'a> {
    /// Begins a search.
    ///
    /// # Errors
    /// Where no rate can be judged.
    pub fn begin(
        objective: &'a Objective,
        study: &LoadStudy,
        seed: u64,
        look: Look,
    ) -> Result<Self, NoRange> {
        let range = look.range(objective, study.score_ns)?;
        Ok(Self {
            objective,
            timeout_ns: study.timeout_ns,
            look,
            range,
            search: Search::new(range, SplitMix64::new(seed)),
        })
    }

    /// The rate of the next block, requests/s; `None` when the search is over.
    pub fn next_rps(&mut self) -> Option<f64> {
        self.search.next_rps()
    }

    /// Judges a block at the next rate, and continues the search; `None` when that is over.
    pub fn saw(&mut self, reading: &Reading) -> Option<BlockVerdict> {
        let rate_rps = self.search.next_rps()?;
        let purpose = self.search.purpose();
        let (seen, trust) = self.judge(reading);
        self.search.saw(seen, trust);
        Some(BlockVerdict {
            rate_rps,
            purpose,
            seen,
            trust,
        })
    }

    /// The capacity as far as it is known now.
    pub fn found(&self) -> Capacity {
        self.search.found()
    }

    /// Judges a block, and how far its answer is to be trusted.
    fn judge(&self, reading: &Reading) -> (Seen, f64) {
        let Some(latency) = &reading.latency else {
            return (Seen::NotOffered, LITTLE_TRUST);
        };
        let served = Served {
            latency,
            ledger: &reading.ledger,
            timeout_ns: self.timeout_ns,
        };
        let keeps_up = reading.throughput_rps() >= KEPT_UP_SHARE * latency.offered_rps;
        let objective = self.objective;
        let binds = || self.look.connections_bind() && holds_by_service(objective, &served);
        let seen = if keeps_up && holds(objective, &served) {
            Seen::Holds
        } else if reading.client_is_limit() || binds() {
            Seen::NotOffered
        } else {
            Seen::Fails
        };
        let busy_share = reading.cpu.client_busy_share;
        let occupied_share = reading.cpu.client_occupied_share.unwrap_or(busy_share);
        let is_calm = occupied_share - busy_share <= WAITED_LIMIT_SHARE;
        (seen, if is_calm { TRUST } else { LITTLE_TRUST })
    }
}
