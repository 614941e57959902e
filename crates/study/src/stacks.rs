//! Where the time of each arm's server goes by functions: seen in bursts under its load, once its blocks are measured.

use model::message::BurstsAsk;
use model::stacks::{ArmStacks, RunStacks, Stacks};
use model::study::{Arm, Role};
use model::{Reading, RunRecord};

use crate::campaign::{Campaign, CampaignError};
use crate::rounds::SavedBlocks;

/// The burst comes after a look, which is not kept and therefore short, ms.
const LOOK_MS: u32 = 50;

/// Whether stacks were asked for, and the run was stopped before they were seen.
pub(crate) fn are_to_come(record: &RunRecord) -> bool {
    record.stacks.as_ref() == Some(&RunStacks::to_come())
}

impl Campaign<'_> {
    /// Sees all arms once, and once more in the opposite order, so that what the machine does meanwhile is in both alike.
    /// Whoever cannot be seen costs the run nothing but that.
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

    /// What was seen of an arm's server, or why nothing was.
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
