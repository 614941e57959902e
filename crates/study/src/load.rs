//! Runs a load of many blocks: measures all that is not saved yet, level by level, or from rate to
//! rate as a search asks.

use judge::capacity::{BLOCKS_AS_A_RULE, CLOSED_LOOP, Course, Look, NoRange, OFFERED, Seen};
use model::failure::Failure;
use model::load_run::{LoadStudy, LoadWorkload, SavedLoad};
use model::objective::Objective;
use model::random::SplitMix64;
use model::run::Phase;
use model::sweep::Axis;
use model::{BlockRecord, Pace, Reading};

use crate::clock::Clock;
use crate::plan::{Design as _, Planned};
use crate::rounds::{self, Hands, SavedBlocks, SoFar};
use crate::store::KeptIn;

/// A search once tries this many times its connections, to see whether they are its limit.
const MORE_CONNECTIONS: u32 = 4;

/// The load generator of a run: the machine's, or that of a test.
pub trait PutsOnLoad {
    /// Whether the machine can open this many connections.
    fn has_room(&self, connections: u32) -> bool;

    /// Measures one block of load; `None` if somebody asked us to stop.
    ///
    /// # Errors
    /// If the load cannot be put on.
    fn block(&mut self, connections: u32, pace: Pace) -> Result<Option<Reading>, Failure>;

    /// Reports that `done` of the planned blocks are measured, and what the last one was.
    fn block_done(&mut self, done: usize, planned: usize, what: &str);
}

/// Measures what is left, until all is measured or somebody asks us to stop. Returns all blocks of
/// the run.
///
/// # Errors
/// If load cannot be put on, no rate can be judged, or a block cannot be saved.
pub fn run(
    run: &SavedLoad,
    blocks: Vec<BlockRecord>,
    kept: KeptIn,
    hands: &mut impl PutsOnLoad,
    clock: &dyn Clock,
) -> Result<Vec<BlockRecord>, Failure> {
    let mut saved = SavedBlocks::new(blocks, None);
    let course = match &run.study.workload {
        LoadWorkload::Sweep { .. } => None,
        LoadWorkload::Capacity { objective } => {
            let Some(look) = look(run, &mut saved, hands)? else {
                return Ok(saved.blocks);
            };
            Some(begun(objective, run, look, &saved.blocks)?)
        }
    };
    saved.store = kept.opened(run)?;
    saved.save()?;
    let remaining = run.remaining(&saved.blocks);
    let mut load = Load { run, course, hands };
    rounds::go_through(&mut load, remaining, &mut saved, clock)?;
    Ok(saved.blocks)
}

/// Measures in closed loop what the connections of a search carry, and what more connections do;
/// `None` if somebody asked us to stop.
fn look(
    run: &SavedLoad,
    kept: &mut SavedBlocks<Reading>,
    hands: &mut impl PutsOnLoad,
) -> Result<Option<Look>, Failure> {
    let connections = run.study.connections;
    let more = connections.saturating_mul(MORE_CONNECTIONS);
    for (position, (name, connections)) in
        (0..).zip(CLOSED_LOOP.into_iter().zip([connections, more]))
    {
        let is_saved = kept.blocks.iter().any(|block| block.arm == name);
        if is_saved || position > 0 && !hands.has_room(connections) {
            continue;
        }
        let Some(reading) = hands.block(connections, Pace::Closed)? else {
            return Ok(None);
        };
        let block = Planned {
            phase: Phase::Search,
            round: 0,
            position,
            arm: 0,
            name: name.to_owned(),
        };
        kept.take(&block, reading, 0);
    }
    Ok(Look::of(&kept.blocks))
}

/// Returns a search in the state that its saved blocks have brought it to.
fn begun<'a>(
    objective: &'a Objective,
    run: &SavedLoad,
    look: Look,
    saved: &[BlockRecord],
) -> Result<Course<'a>, Failure> {
    let course = Course::begin(objective, &run.study, run.seed, look);
    let mut course = course.map_err(|why| no_range(why, objective, &run.study, look))?;
    for block in saved.iter().filter(|block| block.arm == OFFERED) {
        course.saw(&block.reading);
    }
    Ok(course)
}

/// A run in progress: the levels of a sweep, or the rates that a search asks for.
struct Load<'a, H> {
    run: &'a SavedLoad,
    course: Option<Course<'a>>,
    hands: &'a mut H,
}

impl<H> Load<'_, H> {
    /// Connections and pace of the next block; `None` if the search is over.
    fn asked(&mut self, next: &Planned) -> Option<(u32, Pace)> {
        let study = &self.run.study;
        let open = |rate_rps, block| Pace::Open {
            rate_rps,
            arrivals: study.arrivals,
            // Each block has other arrivals.
            seed: SplitMix64::new(self.run.seed).stream(block).bits(),
        };
        if let Some(course) = &mut self.course {
            let pace = open(course.next_rps()?, next.round);
            return Some((study.connections, pace));
        }
        let load = self.run.arms[next.arm].load;
        Some(match &study.workload {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole numbers of connections, made from such"
            )]
            LoadWorkload::Sweep { range, .. } if range.axis == Axis::Connections => {
                (load as u32, Pace::Closed)
            }
            _ => (study.connections, open(load, next.round + 1)),
        })
    }
}

impl<H: PutsOnLoad> Hands for Load<'_, H> {
    type Reading = Reading;
    type Error = Failure;

    fn measure(
        &mut self,
        next: &Planned,
        _kept: &SavedBlocks<Reading>,
    ) -> Result<Option<Reading>, Failure> {
        let asked = self.asked(next);
        asked.map_or(Ok(None), |(connections, pace)| {
            self.hands.block(connections, pace)
        })
    }

    fn measured(&mut self, kept: &SavedBlocks<Reading>, so_far: SoFar) -> Result<(), Failure> {
        let Some(newest) = kept.blocks.last() else {
            return Ok(());
        };
        let Some(course) = &mut self.course else {
            let text = format!("round {}, {}", newest.round + 1, newest.arm);
            self.hands.block_done(so_far.had(), so_far.planned, &text);
            return Ok(());
        };
        if let Some(judged) = course.saw(&newest.reading) {
            let outcome = match judged.seen {
                Seen::Holds => "held",
                Seen::Fails => "failed",
                Seen::NotOffered => "not offered",
            };
            let text = format!(
                "{}: {outcome} at {:.0} requests/s",
                judged.purpose, judged.rate_rps
            );
            let done = newest.round as usize + 1;
            let planned = done.max(BLOCKS_AS_A_RULE as usize);
            self.hands.block_done(done, planned, &text);
        }
        Ok(())
    }
}

/// Says for a reader why no rate can be judged.
fn no_range(why: NoRange, objective: &Objective, study: &LoadStudy, look: Look) -> Failure {
    let block_seconds = study.score_ns as f64 / 1e9;
    let target = &study.target;
    match why {
        NoRange::Silent => {
            let known = study.notes.first().map(|note| format!(": {note}"));
            Failure {
                what: format!(
                    "{target} answered no request correctly in a block of {block_seconds} s{}",
                    known.unwrap_or_default()
                ),
                advice: "see what it answers with `linerate load`".to_owned(),
            }
        }
        NoRange::TooFew { fewest_requests } => Failure {
            what: format!(
                "judging {objective} takes {fewest_requests:.0} requests in each block, and \
                 {target} answers {:.0} requests/s at most",
                look.closed_loop_rps
            ),
            advice: format!(
                "ask for longer blocks, -d {:.0}s, or for a quantile nearer the middle",
                (2.0 * fewest_requests / look.closed_loop_rps).ceil()
            ),
        },
    }
}
