//! The blocks of a run of servers: each is measured, saved and reported, one after the other.

use model::message::BlockAsk;
use model::run::Phase;
use model::study::{Arm, Study};
use model::{Ask, BlockRecord, Pace, Reading, RunRecord, Tell};

use crate::campaign::{Campaign, CampaignError};
use crate::gate;
use crate::plan::{self, Planned};
use crate::rounds::{self, Hands, SavedBlocks, SoFar};

impl Campaign<'_> {
    /// Measures blocks of targets that are up, and saves each block as it ends.
    pub(crate) fn measure(
        &mut self,
        record: &RunRecord,
        arms: &[Arm],
        remaining: Vec<Planned>,
        saved: &mut SavedBlocks<Reading>,
    ) -> Result<(), CampaignError> {
        saved.begin_epoch();
        let clock = self.clock;
        let mut climb = Climb {
            campaign: self,
            record,
            arms,
        };
        rounds::go_through(&mut climb, remaining, saved, clock)
    }

    pub(crate) fn block(
        &mut self,
        study: &Study,
        target: &str,
        pace: Pace,
        score_ms: u32,
    ) -> Result<Reading, CampaignError> {
        self.ask_block(BlockAsk {
            target: target.to_owned(),
            workload: study.workload.clone(),
            pace,
            settle_ms: study.design.settle_ms,
            score_ms,
        })
    }

    /// Asks the agent to measure a block.
    pub(crate) fn ask_block(&mut self, ask: BlockAsk) -> Result<Reading, CampaignError> {
        match self.agent.ask(&Ask::Block(Box::new(ask)))? {
            Tell::Reading(reading) => Ok(*reading),
            _ => Err(CampaignError::Unexpected("block")),
        }
    }
}

/// Measures the blocks of a run of servers.
struct Climb<'a, 'b> {
    campaign: &'a mut Campaign<'b>,
    record: &'a RunRecord,
    arms: &'a [Arm],
}

impl Hands for Climb<'_, '_> {
    type Reading = Reading;
    type Error = CampaignError;

    /// Measures a block; `None` ends its phase, because an arm answered nothing, which the judge
    /// reports, or because the answer is clear or the time is over.
    fn measure(
        &mut self,
        next: &Planned,
        saved: &SavedBlocks<Reading>,
    ) -> Result<Option<Reading>, CampaignError> {
        if self.is_settled_before(next, &saved.blocks) {
            return Ok(None);
        }
        if self.begins_epoch(next) {
            self.restart_targets(next.round)?;
        }
        let Some(pace) = pace(self.record, next, &saved.blocks) else {
            return Ok(None);
        };
        let (study, score_ms) = (&self.record.study, plan::score_ms(self.record, next.phase));
        let arm = &self.arms[next.arm].name;
        self.campaign.block(study, arm, pace, score_ms).map(Some)
    }

    /// Whether a block begins an epoch. Each round of a gate measures newly started processes, of
    /// the builds whose turn it is. What differs between starts, such as where their memory lies,
    /// and between builds is thus in the interval.
    fn begins_epoch(&self, next: &Planned) -> bool {
        self.record.study.gate.is_some() && next.position == 0
    }

    fn measured(
        &mut self,
        _saved: &SavedBlocks<Reading>,
        so_far: SoFar,
    ) -> Result<(), CampaignError> {
        let progress = &mut self.campaign.progress;
        progress.block_saved(so_far.had(), so_far.planned, so_far.all_left_ms());
        Ok(())
    }
}

impl Climb<'_, '_> {
    /// Whether the time is over before this block, or a planned look that is due finds the answer
    /// clear.
    fn is_settled_before(&self, next: &Planned, saved: &[BlockRecord]) -> bool {
        if next.phase != Phase::Throughput || next.position != 0 {
            return false;
        }
        let is_due = self.record.study.design.looks.contains(&next.round);
        judge::rounds_in_time(self.record, saved).is_some()
            || is_due && judge::settled_rounds(self.record, saved).is_some()
    }

    /// Restarts the targets of a round. Another arm comes first in each round, so that none is
    /// always the one that has just been started. One start that fails may be the fault of another
    /// program, which took the port; a second is the server's own.
    fn restart_targets(&mut self, round: u32) -> Result<(), CampaignError> {
        let study = &self.record.study;
        let workload = &study.workload;
        let arms = gate::of_round(study, self.arms, round);
        let first = round as usize % arms.len().max(1);
        let in_turn = || arms[first..].iter().chain(&arms[..first]);
        let started = match self.campaign.start_or_replace(in_turn(), workload) {
            Err(CampaignError::Agent(error)) if error.is_refusal() => {
                self.campaign.start_or_replace(in_turn(), workload)
            }
            other => other,
        };
        started.map(drop)
    }
}

/// How a block is driven; `None` if no rate can be set for it.
fn pace(record: &RunRecord, next: &Planned, saved: &[BlockRecord]) -> Option<Pace> {
    match next.phase {
        Phase::Throughput | Phase::Confirmation | Phase::Boot => Some(Pace::Closed),
        Phase::Latency => Some(Pace::Open {
            rate_rps: plan::common_rate_rps(record, saved)?,
            arrivals: model::workload::Arrivals::Poisson,
            // Both arms of a round replay the same arrivals.
            seed: record.seed.wrapping_add(u64::from(next.round)),
        }),
        // No load drives a command, and the other phases belong to no study.
        Phase::Command | Phase::Level | Phase::Search | Phase::Interval => None,
    }
}
