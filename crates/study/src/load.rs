//! A load of many blocks, through all that is not measured yet: level by level, or from rate to rate as
//! a search asks.

use judge::capacity::{
    BLOCKS_AS_A_RULE, BLOCKS_AT_MOST, CLOSED_LOOP, Course, Look, NoRange, OFFERED, Seen,
};
use model::failure::Failure;
use model::load_run::{LoadStudy, LoadWorkload, SavedLoad};
use model::objective::Objective;
use model::random::SplitMix64;
use model::run::Phase;
use model::sweep::Axis;
use model::{BlockRecord, Pace, Reading};

use crate::clock::Clock;
use crate::plan::{self, Planned};
use crate::rounds::{self, Hands, SoFar};
use crate::store::{ClaimedFolder, Store, StoreError};

/// How many times its connections a search tries once, to see whether they are its limit.
const MORE_CONNECTIONS: u32 = 4;

/// Who puts load on: the machine, or a test.
pub trait PutsOnLoad {
    /// Whether so many connections can be had.
    fn has_room(&self, connections: u32) -> bool;

    /// One block of load; `None` where somebody asked us to stop.
    ///
    /// # Errors
    /// When it cannot be put on.
    fn block(&mut self, connections: u32, pace: Pace) -> Result<Option<Reading>, Failure>;

    /// So many of the planned blocks are done, and what the last one was.
    fn block_done(&mut self, done: usize, planned: usize, what: &str);
}

/// Where the blocks of a load are kept.
#[derive(Default)]
pub enum KeptIn {
    /// Nobody asked for a folder.
    #[default]
    Nowhere,
    /// In a folder that is described once it is known that there is something to measure.
    Claimed(ClaimedFolder),
    /// In the folder of a run that has begun.
    Open(Store),
}

/// Measures what is left, until all is measured or somebody asks to stop; all blocks of the run.
///
/// # Errors
/// When load cannot be put on, no rate can be judged, or a block cannot be kept.
pub fn run(
    run: &SavedLoad,
    blocks: Vec<BlockRecord>,
    kept: KeptIn,
    hands: &mut impl PutsOnLoad,
    clock: &dyn Clock,
) -> Result<Vec<BlockRecord>, Failure> {
    let drive = Drive {
        run,
        epoch: plan::next_epoch(&blocks),
        blocks,
        store: None,
        hands,
        clock,
    };
    match &run.study.workload {
        LoadWorkload::Sweep { .. } => drive.sweep(kept),
        LoadWorkload::Capacity { objective } => drive.search(objective, kept),
    }
}

/// A run under way.
struct Drive<'a, H> {
    run: &'a SavedLoad,
    epoch: u32,
    blocks: Vec<BlockRecord>,
    store: Option<Store>,
    hands: &'a mut H,
    clock: &'a dyn Clock,
}

impl<H: PutsOnLoad> Drive<'_, H> {
    fn sweep(mut self, kept: KeptIn) -> Result<Vec<BlockRecord>, Failure> {
        self.describe(kept)?;
        let clock = self.clock;
        let remaining = plan::remaining_levels(self.run, &self.blocks);
        let planned = self.blocks.len() + remaining.len();
        let mut levels = Levels {
            drive: self,
            planned,
        };
        rounds::go_through(&mut levels, remaining, clock)?;
        Ok(levels.drive.blocks)
    }

    fn search(mut self, objective: &Objective, kept: KeptIn) -> Result<Vec<BlockRecord>, Failure> {
        let study = &self.run.study;
        let saved = self.blocks.len();
        let Some(look) = self.look()? else {
            return Ok(self.blocks);
        };
        let course = Course::begin(objective, study, self.run.seed, look);
        let mut course = course.map_err(|why| no_range(why, objective, study, look))?;
        self.describe(kept)?;
        for block in &self.blocks[saved..] {
            append(self.store.as_mut(), block)?;
        }
        let offered = self.blocks.iter().filter(|block| block.arm == OFFERED);
        let mut done = 0;
        for block in offered {
            course.saw(&block.reading);
            done += 1;
        }
        let clock = self.clock;
        let planned = (done..BLOCKS_AT_MOST).map(|round| Planned {
            phase: Phase::Search,
            round,
            position: 0,
            arm: 0,
        });
        let mut rates = Rates {
            drive: self,
            course,
        };
        rounds::go_through(&mut rates, planned, clock)?;
        Ok(rates.drive.blocks)
    }

    /// What closed loop carries with the connections of the search and with more; `None` when a signal came.
    fn look(&mut self) -> Result<Option<Look>, Failure> {
        let connections = self.run.study.connections;
        let more = connections.saturating_mul(MORE_CONNECTIONS);
        for (position, (name, connections)) in
            (0..).zip(CLOSED_LOOP.into_iter().zip([connections, more]))
        {
            let is_saved = self.blocks.iter().any(|block| block.arm == name);
            if is_saved || position > 0 && !self.hands.has_room(connections) {
                continue;
            }
            let Some(reading) = self.hands.block(connections, Pace::Closed)? else {
                return Ok(None);
            };
            let block = Planned {
                phase: Phase::Search,
                round: 0,
                position,
                arm: 0,
            };
            self.blocks
                .push(block.record(name, (self.epoch, 0), reading));
        }
        Ok(Look::of(&self.blocks))
    }

    /// From now on there is a run.
    fn describe(&mut self, kept: KeptIn) -> Result<(), Failure> {
        self.store = match kept {
            KeptIn::Nowhere => None,
            KeptIn::Claimed(claim) => {
                Some(claim.describe(self.run).map_err(|error| unsaved(&error))?)
            }
            KeptIn::Open(store) => Some(store),
        };
        Ok(())
    }

    fn keep(&mut self, block: BlockRecord) -> Result<(), Failure> {
        append(self.store.as_mut(), &block)?;
        self.blocks.push(block);
        Ok(())
    }

    /// An open loop at a rate; the arrivals of each block are others.
    fn open(&self, rate_rps: f64, block: u32) -> Pace {
        Pace::Open {
            rate_rps,
            arrivals: self.run.study.arrivals,
            seed: SplitMix64::new(self.run.seed).stream(block).bits(),
        }
    }
}

/// The levels of a sweep.
struct Levels<'a, H> {
    drive: Drive<'a, H>,
    planned: usize,
}

impl<H: PutsOnLoad> Hands for Levels<'_, H> {
    type Reading = Reading;
    type Error = Failure;

    fn measure(&mut self, next: &Planned) -> Result<Option<Reading>, Failure> {
        let drive = &mut self.drive;
        let (study, load) = (&drive.run.study, drive.run.arms[next.arm].load);
        match &study.workload {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole numbers of connections, made from such"
            )]
            LoadWorkload::Sweep { range, .. } if range.axis == Axis::Connections => {
                drive.hands.block(load as u32, Pace::Closed)
            }
            _ => {
                let pace = drive.open(load, next.round + 1);
                drive.hands.block(study.connections, pace)
            }
        }
    }

    fn keep(&mut self, next: &Planned, reading: Reading, so_far: SoFar) -> Result<(), Failure> {
        let drive = &mut self.drive;
        let name = &drive.run.arms[next.arm].name;
        drive.keep(next.record(name, (drive.epoch, so_far.at_ms), reading))?;
        let text = format!("round {}, {name}", next.round + 1);
        let done = drive.blocks.len();
        drive.hands.block_done(done, self.planned, &text);
        Ok(())
    }
}

/// The rates that a search asks for.
struct Rates<'a, 'b, H> {
    drive: Drive<'a, H>,
    course: Course<'b>,
}

impl<H: PutsOnLoad> Hands for Rates<'_, '_, H> {
    type Reading = Reading;
    type Error = Failure;

    fn measure(&mut self, next: &Planned) -> Result<Option<Reading>, Failure> {
        let Some(rate_rps) = self.course.next_rps() else {
            return Ok(None);
        };
        let pace = self.drive.open(rate_rps, next.round);
        let connections = self.drive.run.study.connections;
        self.drive.hands.block(connections, pace)
    }

    fn keep(&mut self, next: &Planned, reading: Reading, so_far: SoFar) -> Result<(), Failure> {
        let drive = &mut self.drive;
        let told = self.course.saw(&reading);
        drive.keep(next.record(OFFERED, (drive.epoch, so_far.at_ms), reading))?;
        let Some(told) = told else { return Ok(()) };
        let said = match told.seen {
            Seen::Holds => "held",
            Seen::Fails => "failed",
            Seen::NotOffered => "not offered",
        };
        let text = format!(
            "{}: {said} at {:.0} requests/s",
            told.purpose, told.rate_rps
        );
        let done = next.round as usize + 1;
        let planned = done.max(BLOCKS_AS_A_RULE as usize);
        drive.hands.block_done(done, planned, &text);
        Ok(())
    }
}

fn append(store: Option<&mut Store>, block: &BlockRecord) -> Result<(), Failure> {
    let kept = store.map(|store| store.append(block));
    kept.unwrap_or(Ok(())).map_err(|error| unsaved(&error))
}

fn unsaved(error: &StoreError) -> Failure {
    Failure {
        what: error.to_string(),
        advice: "see to that, and go on with the run".to_owned(),
    }
}

/// Why no rate can be judged, for a person.
fn no_range(why: NoRange, objective: &Objective, study: &LoadStudy, look: Look) -> Failure {
    let block_seconds = study.score_ns as f64 / 1e9;
    let target = &study.target;
    match why {
        NoRange::Silent => {
            let known = study.notes.first().map(|note| format!(": {note}"));
            Failure {
                what: format!(
                    "{target} answered not one request rightly in a block of {block_seconds} s{}",
                    known.unwrap_or_default()
                ),
                advice: "see what it answers with `linerate load`".to_owned(),
            }
        }
        NoRange::TooFew { fewest_requests } => Failure {
            what: format!(
                "{objective} takes {fewest_requests:.0} requests in each block to be judged, and {target} \
                 answers {:.0} requests/s at most",
                look.closed_loop_rps
            ),
            advice: format!(
                "ask for longer blocks, -d {:.0}s, or for a quantile nearer the middle",
                (2.0 * fewest_requests / look.closed_loop_rps).ceil()
            ),
        },
    }
}
