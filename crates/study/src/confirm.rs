//! The confirmation of a whole ladder: the state in which it ends against the one in which it began,
//! of servers that are started anew and in another order.

use model::study::Arm;
use model::{Ask, BlockRecord, Reading, RunRecord, Tell, Verdict};

use crate::arms;
use crate::campaign::{Campaign, CampaignError};
use crate::plan::{self, Design as _};
use crate::rounds::SavedBlocks;
use crate::stacks;

/// Whether nothing of a run is left to measure, and to see.
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
    /// Confirms the last state of a whole ladder; of any other study there is nothing to do.
    ///
    /// Which steps it does without is settled by what was climbed and written down first, so that a
    /// run that is stopped here goes on with the same arms.
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
            // In the next boot they will not be there either.
            self.stop_targets(&confirmation.arms)?;
        }
        Ok(())
    }

    /// Ends targets that are up.
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

/// The steps that were found to make things worse.
fn made_worse(record: &RunRecord, saved: &[BlockRecord]) -> Vec<String> {
    let steps = judge::judge(record, saved).steps.into_iter();
    let worse = steps.filter(|step| step.verdict == Verdict::Worse);
    worse.map(|step| step.arm).collect()
}
