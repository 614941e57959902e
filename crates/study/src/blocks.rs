//! The blocks of a run, one after the other: each is measured, saved and told of.

use model::message::BlockAsk;
use model::run::Phase;
use model::study::{Arm, Study};
use model::{Ask, BlockRecord, Pace, Reading, RunRecord, Tell};

use crate::campaign::{Campaign, CampaignError};
use crate::plan::{self, Planned};
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
        let planned = saved.len() + remaining.len();
        let epoch = saved.iter().map(|block| block.epoch + 1).max().unwrap_or(0);
        let begun_ms = self.clock.now_ms();
        for (done, next) in remaining.iter().enumerate() {
            let Some(pace) = pace(record, next, saved) else {
                // The judge says which arm answered nothing.
                break;
            };
            let score_ms = plan::score_ms(record, next.phase);
            let reading = self.block(&record.study, &arms[next.arm].name, pace, score_ms)?;
            let now_ms = self.clock.now_ms() - begun_ms;
            let block = BlockRecord {
                phase: next.phase,
                epoch,
                round: next.round,
                position: next.position,
                arm: arms[next.arm].name.clone(),
                at_ms: now_ms,
                reading,
            };
            store.append(&block)?;
            saved.push(block);
            let left = remaining.len() - done - 1;
            let left_ms = now_ms / (done as u64 + 1) * left as u64;
            self.progress.block_saved(planned - left, planned, left_ms);
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
        // No load drives a command.
        Phase::Command => None,
    }
}
