//! The confirmation of a whole ladder: its last state against its first, with servers that are
//! started again and in another order.

use model::study::Arm;
use model::{Ask, BlockRecord, Reading, RunRecord, Tell, Verdict};

use crate::arms;
use crate::campaign::{Campaign, CampaignError};
use crate::plan::{self, Design as _};
use crate::rounds::SavedBlocks;
use crate::stacks;

/// Whether nothing of a run is left to measure or to observe.
pub(crate) fn is_done(record: &RunRecord, saved: &[BlockRecord]) -> bool {
    let confirmed = || match &record.confirmation {
        Some(confirmation) => plan::confirming(record, confirmation)
            .remaining(saved)
            .is_empty(),
        None => record.study.whole.is_none(),
    };
    record.remaining(saved).is_empty() && !stacks::are_to_come(record) && confirmed()
}

impl Campaign<'_> {
    /// Confirms the last state of a whole ladder; does nothing for any other study.
    ///
    /// The climb decides which steps the confirmed state leaves out. That is saved first, so that a
    /// run that is stopped here resumes with the same arms.
    pub(crate) fn confirm(
        &mut self,
        record: &mut RunRecord,
        kept: &mut SavedBlocks<Reading>,
    ) -> Result<(), CampaignError> {
        if record.study.whole.is_none() {
            return Ok(());
        }
        if record.confirmation.is_none() {
            let made_worse = made_worse(record, &kept.blocks);
            record.confirmation = Some(arms::confirmation(&record.arms, &made_worse));
            kept.describe(record)?;
        }
        let Some(confirmation) = &record.confirmation else {
            return Ok(());
        };
        let remaining = plan::confirming(record, confirmation).remaining(&kept.blocks);
        if remaining.is_empty() {
            return Ok(());
        }
        self.start_targets(&confirmation.arms, &record.study.workload)?;
        self.progress
            .phase("confirming the last state with servers started anew");
        self.measure(record, &confirmation.arms, remaining, kept)?;
        if record.reboot.is_some() {
            // After the reboot they will not run either.
            self.stop_targets(&confirmation.arms)?;
        }
        Ok(())
    }

    /// Stops targets that are running.
    pub(crate) fn stop_targets(&mut self, arms: &[Arm]) -> Result<(), CampaignError> {
        for arm in arms {
            let target = arm.name.clone();
            let Tell::Stopped { .. } = self.agent.ask(&Ask::Stop { target })? else {
                return Err(CampaignError::Unexpected("stop"));
            };
        }
        Ok(())
    }
}

/// Names of the steps that made things worse.
fn made_worse(record: &RunRecord, saved: &[BlockRecord]) -> Vec<String> {
    let steps = judge::judge(record, saved).steps.into_iter();
    let worse = steps.filter(|step| step.verdict == Verdict::Worse);
    worse.map(|step| step.arm).collect()
}
