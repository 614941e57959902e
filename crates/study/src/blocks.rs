//! The blocks of a run, one after the other: each is measured, saved and told of.

use model::message::BlockAsk;
use model::run::Phase;
use model::study::{Arm, Study};
use model::{Ask, BlockRecord, Pace, Reading, RunRecord, Tell};

use crate::campaign::{Campaign, CampaignError};
use crate::plan::{self, Planned};
use crate::rounds::{self, Hands, SoFar};
use crate::store::Store;

impl Campaign<'_> {
    /// Measures what was planned from the start, of targets that are up.
    pub(crate) fn climb(
        &mut self,
        record: &RunRecord,
        arms: &[Arm],
        saved: &mut Vec<BlockRecord>,
        store: &mut Store,
    ) -> Result<(), CampaignError> {
        let remaining = plan::remaining(record, saved);
        self.progress.phase("measuring");
        self.measure(record, arms, &remaining, saved, store)?;
        if record.study.whole.is_some() {
            // Those of the confirmation are to have the machine to themselves.
            self.stop_targets(arms)?;
        }
        Ok(())
    }

    /// Measures blocks of targets that are up, and saves each as it ends.
    pub(crate) fn measure(
        &mut self,
        record: &RunRecord,
        arms: &[Arm],
        remaining: &[Planned],
        saved: &mut Vec<BlockRecord>,
        store: &mut Store,
    ) -> Result<(), CampaignError> {
        let epoch = plan::next_epoch(saved);
        let (clock, planned) = (self.clock, saved.len() + remaining.len());
        let mut climb = Climb {
            campaign: self,
            record,
            arms,
            saved,
            store,
            epoch,
            planned,
            before_ms: 0,
        };
        let begun_ms = clock.now_ms();
        for phase in remaining.chunk_by(|one, next| one.phase == next.phase) {
            climb.before_ms = clock.now_ms() - begun_ms;
            rounds::go_through(&mut climb, phase.iter().copied(), clock)?;
        }
        Ok(())
    }

    pub(crate) fn block(
        &mut self,
        study: &Study,
        target: &str,
        pace: Pace,
        score_ms: u32,
    ) -> Result<Reading, CampaignError> {
        let ask = BlockAsk {
            target: target.to_owned(),
            workload: study.workload.clone(),
            pace,
            settle_ms: study.design.settle_ms,
            score_ms,
        };
        match self.agent.ask(&Ask::Block(Box::new(ask)))? {
            Tell::Reading(reading) => Ok(*reading),
            _ => Err(CampaignError::Unexpected("block")),
        }
    }
}

/// The blocks of a run of servers, phase by phase.
struct Climb<'a, 'b> {
    campaign: &'a mut Campaign<'b>,
    record: &'a RunRecord,
    arms: &'a [Arm],
    saved: &'a mut Vec<BlockRecord>,
    store: &'a mut Store,
    epoch: u32,
    /// With those that were saved before.
    planned: usize,
    /// What the phases before took, ms.
    before_ms: u64,
}

impl Hands for Climb<'_, '_> {
    type Reading = Reading;
    type Error = CampaignError;

    /// A phase ends where an arm answered nothing, of which the judge tells, or where all is clear.
    fn measure(&mut self, next: &Planned) -> Result<Option<Reading>, CampaignError> {
        if self.is_settled_before(next) {
            return Ok(None);
        }
        let Some(pace) = pace(self.record, next, self.saved) else {
            return Ok(None);
        };
        let (study, score_ms) = (&self.record.study, plan::score_ms(self.record, next.phase));
        let arm = &self.arms[next.arm].name;
        self.campaign.block(study, arm, pace, score_ms).map(Some)
    }

    fn keep(
        &mut self,
        next: &Planned,
        reading: Reading,
        so_far: SoFar,
    ) -> Result<(), CampaignError> {
        let block = next.record(
            &self.arms[next.arm].name,
            (self.epoch, self.before_ms + so_far.at_ms),
            reading,
        );
        self.store.append(&block)?;
        self.saved.push(block);
        let (done, planned) = (self.saved.len(), self.planned);
        let left_ms = so_far.left_ms(planned - done);
        self.campaign.progress.block_saved(done, planned, left_ms);
        Ok(())
    }
}

impl Climb<'_, '_> {
    /// Whether a planned look, which is due before this block, finds the answer clear.
    fn is_settled_before(&self, next: &Planned) -> bool {
        let is_due = next.phase == Phase::Throughput
            && next.position == 0
            && self.record.study.design.looks.contains(&next.round);
        is_due && judge::settled_rounds(self.record, self.saved).is_some()
    }
}

/// How a block is driven; `None` where no rate can be set for it.
fn pace(record: &RunRecord, next: &Planned, saved: &[BlockRecord]) -> Option<Pace> {
    match next.phase {
        Phase::Throughput | Phase::Confirmation | Phase::Boot => Some(Pace::Closed),
        Phase::Latency => Some(Pace::Open {
            rate_rps: plan::common_rate_rps(record, saved)?,
            arrivals: model::workload::Arrivals::Poisson,
            // Both arms of a round replay the same arrivals.
            seed: record.seed.wrapping_add(u64::from(next.round)),
        }),
        // No load drives a command, and what a load of many blocks asks is no study's.
        Phase::Command | Phase::Level | Phase::Search => None,
    }
}
