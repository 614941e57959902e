//! A look at the target in closed loop before the search: where to begin, and do connections bind?

use anyhow::bail;
use judge::capacity::Range;
use judge::objective::fewest_requests;
use model::Pace;
use model::objective::Objective;
use report::numbers;
use traffic::load::LoadPlan;

use crate::commands::load::UntilStopped;
use crate::commands::load::case::Case;

/// How many times the connections of the search are tried once.
const MORE: u32 = 4;
/// More throughput than this with more connections says that the connections were the limit. A
/// server at its own limit gains some per cent, as there is more to do at each of its turns.
const BOUND_BY_CONNECTIONS: f64 = 1.25;
/// The search begins at this share of the closed loop's rate, and ends at so many times it.
const BEGIN_SHARE: f64 = 0.5;
const END_SHARE: f64 = 2.0;
/// At the lowest rate, Poisson arrivals have the fewest requests less so much only seldom.
const CHANCE: f64 = 1.1;

/// What closed loop carried, requests/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) closed_loop_rps: f64,
    /// With four times the connections; `None` where so many cannot be had.
    pub(super) more_connections_rps: Option<f64>,
}

impl Look {
    /// One block with the connections of the search and one with more; `None` when a signal came.
    pub(super) fn take(case: &Case<'_>) -> anyhow::Result<Option<Self>> {
        let connections = case.plan.connections;
        let Some(closed_loop_rps) = carried_rps(case, connections)? else {
            return Ok(None);
        };
        let more = connections.saturating_mul(MORE);
        let has_room = LoadPlan {
            connections: more,
            ..case.plan.clone()
        };
        if has_room.check().is_err() || has_room.make_room().is_err() {
            return Ok(Some(Self {
                closed_loop_rps,
                more_connections_rps: None,
            }));
        }
        let more_connections_rps = carried_rps(case, more)?;
        Ok(more_connections_rps.map(|rps| Self {
            closed_loop_rps,
            more_connections_rps: Some(rps),
        }))
    }

    /// Whether waiting for a free connection says nothing of the target.
    pub(super) fn connections_bind(&self) -> bool {
        let more = self.more_connections_rps.unwrap_or(0.0);
        more > self.closed_loop_rps * BOUND_BY_CONNECTIONS
    }

    /// What a reader should know of it.
    pub(super) fn note(&self, connections: u32) -> Option<String> {
        let more_rps = self
            .more_connections_rps
            .filter(|_| self.connections_bind())?;
        Some(format!(
            "{connections} connections carried {} requests/s in closed loop and {} carried {}: \
             with more of them (-c) the target may hold more",
            numbers::rate(self.closed_loop_rps),
            connections.saturating_mul(MORE),
            numbers::rate(more_rps)
        ))
    }

    /// The rates that may be tried.
    pub(super) fn range(&self, objective: &Objective, case: &Case<'_>) -> anyhow::Result<Range> {
        let fewest = fewest_requests(objective) as f64 * CHANCE;
        let lowest_rps = fewest / (case.plan.score_ns as f64 / 1e9);
        if self.closed_loop_rps <= 0.0 {
            let known = case.notes.first().map(|note| format!(": {note}"));
            bail!(
                "{} answered not one request rightly in a block of {}{}",
                case.target.shown,
                numbers::duration(case.plan.score_ns),
                known.unwrap_or_default()
            );
        }
        if lowest_rps > self.closed_loop_rps {
            bail!(
                "{objective} takes {} requests in each block to be judged, and {} answers {} \
                 requests/s at most: ask for longer blocks, -d {:.0}s, or for a quantile nearer \
                 the middle",
                numbers::whole(fewest),
                case.target.shown,
                numbers::rate(self.closed_loop_rps),
                (2.0 * fewest / self.closed_loop_rps).ceil()
            );
        }
        Ok(Range {
            lowest_rps,
            first_rps: self.closed_loop_rps * BEGIN_SHARE,
            highest_rps: self.closed_loop_rps * END_SHARE,
        })
    }
}

fn carried_rps(case: &Case<'_>, connections: u32) -> anyhow::Result<Option<f64>> {
    let outcome = case.block(connections, Pace::Closed, &mut UntilStopped)?;
    Ok(outcome.map(|outcome| outcome.throughput_rps()))
}
