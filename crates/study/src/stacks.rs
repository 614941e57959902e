//! Finds in which functions each arm's server spends its time: observes it in bursts under load,
//! after its blocks are measured.

use model::message::BurstsAsk;
use model::stacks::{ArmStacks, RunStacks, Stacks};
use model::study::{Arm, Role};
use model::{Reading, RunRecord};

use crate::campaign::{Campaign, CampaignError};
use crate::rounds::SavedBlocks;

/// Length of the observation before the burst, ms. It is short because it is not saved.
const LOOK_MS: u32 = 50;

/// Whether stacks were asked for, and the run was stopped before they were observed.
pub(crate) fn are_to_come(record: &RunRecord) -> bool {
    record.stacks.as_ref() == Some(&RunStacks::to_come())
}

impl Campaign<'_> {
    /// Observes all arms once, and once more in the opposite order, so that changes of the machine
    /// affect all alike. If an arm cannot be observed, the run loses nothing but its stacks.
    pub(crate) fn see_stacks(
        &mut self,
        record: &mut RunRecord,
        arms: &[Arm],
        kept: &SavedBlocks<Reading>,
    ) -> Result<(), CampaignError> {
        if !record.study.stacks {
            return Ok(());
        }
        self.progress.phase("seeing which functions take the time");
        let is_compared = |arm: &&Arm| matches!(arm.role, Role::Baseline | Role::Step);
        let compared: Vec<&Arm> = arms.iter().filter(is_compared).collect();
        let mut seen = RunStacks::default();
        for arm in compared.iter().chain(compared.iter().rev()) {
            match self.burst(record, arm)? {
                Ok(stacks) => add(&mut seen.arms, &arm.name, stacks),
                Err(why) => {
                    seen = RunStacks::unseen(&format!("{}: {why}", arm.title));
                    break;
                }
            }
        }
        record.stacks = Some(seen);
        Ok(kept.describe(record)?)
    }

    /// Observes the stacks of an arm's server; the inner error says why there are none.
    fn burst(
        &mut self,
        record: &RunRecord,
        arm: &Arm,
    ) -> Result<Result<Stacks, String>, CampaignError> {
        let (study, seed) = (&record.study, record.seed);
        let times_ms = (study.design.settle_ms, LOOK_MS);
        let observed = self.glance(study, arm, times_ms, seed, BurstsAsk::OnCpu)?;
        Ok(observed.and_then(|observed| {
            let unseen = observed.unseen.into_iter().next();
            let why = unseen.map_or_else(String::new, |it| it.why);
            observed.stacks.ok_or(why)
        }))
    }
}

fn add(arms: &mut Vec<ArmStacks>, name: &str, more: Stacks) {
    match arms.iter_mut().find(|seen| seen.arm == name) {
        Some(seen) => seen.stacks = std::mem::take(&mut seen.stacks).and(more),
        None => arms.push(ArmStacks {
            arm: name.to_owned(),
            stacks: more,
        }),
    }
}
