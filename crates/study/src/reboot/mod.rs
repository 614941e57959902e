//! A step that needs a reboot: the last state of the ladder is measured in this boot, and again in
//! the next, after a person has restarted the machine with the step.

mod state;

use model::ladder::LAST;
use model::lever::{LeverSetting, LeverState};
use model::reboot::{BootTell, MeasuredBoot, Reboot};
use model::study::{Arm, Role, Study};
use model::{Ask, Binds, BlockRecord, Facts, Reading, RunRecord, Tell};

use crate::arms::BASELINE;
use crate::campaign::{Campaign, CampaignError};
use crate::plan;
use crate::rounds::SavedBlocks;
use state::Due;
pub use state::RebootError;

/// The second arm with the last state, which shows how much the machine drifts within a boot.
const LAST_AGAIN: &str = "last-again";

impl Campaign<'_> {
    /// Plans the first step of a study that needs a reboot.
    ///
    /// # Errors
    /// If there is none, or if this machine lacks what the step would take away.
    pub(crate) fn plan_reboot(
        &mut self,
        study: &Study,
        levers: &[LeverState],
        facts: &Facts,
    ) -> Result<Reboot, CampaignError> {
        let (step, wanted) = step_of_the_boot(study, levers).ok_or_else(|| {
            let why = "no step of this study takes a reboot; run it without `--reboot`";
            RebootError(why.to_owned())
        })?;
        let BootTell { boot, change } = self.boot_now(wanted.clone())?;
        let option = wanted.to_string();
        state::can_be_taken(&option, &boot, facts)?;
        Ok(Reboot {
            step: step.to_owned(),
            option,
            change,
            first: boot,
            arms: Vec::new(),
            rounds: study.whole.as_ref().map_or(0, |whole| whole.confirm_rounds),
            boots: Vec::new(),
        })
    }

    /// Checks whether a run with such a step can continue in this boot. Any other run can.
    ///
    /// # Errors
    /// What stands in the way, with what was observed.
    pub(crate) fn may_go_on(
        &mut self,
        record: &RunRecord,
        saved: &[BlockRecord],
        facts: &Facts,
    ) -> Result<(), CampaignError> {
        self.due(record, saved, facts).map(drop)
    }

    /// Measures the last state in this boot if that is due; does nothing for a run without such a
    /// step. The boot is saved first, so that its blocks can never pass for those of another boot.
    pub(crate) fn measure_this_boot(
        &mut self,
        record: &mut RunRecord,
        kept: &mut SavedBlocks<Reading>,
        facts: &Facts,
    ) -> Result<(), CampaignError> {
        let Some(due) = self.due(record, &kept.blocks, facts)? else {
            return Ok(());
        };
        let last_state = last_state(record);
        let Some(reboot) = &mut record.reboot else {
            return Ok(());
        };
        if reboot.arms.is_empty() {
            reboot.arms = last_state;
        }
        let boot = begun(reboot, due, facts);
        let arms = reboot.arms.clone();
        kept.describe(record)?;
        self.start_targets(&arms, &record.study.workload)?;
        self.progress.phase("measuring the last state in this boot");
        let rounds = plan::in_boot(record, boot);
        let remaining = rounds.map_or_else(Vec::new, |rounds| rounds.remaining(&kept.blocks));
        self.measure(record, &arms, remaining, kept)
    }

    fn due(
        &mut self,
        record: &RunRecord,
        saved: &[BlockRecord],
        facts: &Facts,
    ) -> Result<Option<Due>, CampaignError> {
        let Some(reboot) = &record.reboot else {
            return Ok(None);
        };
        let wanted = reboot.option.parse().map_err(|why| {
            let begin = "the step that takes a reboot asks for no option of a kernel";
            RebootError(format!("{begin}: {why}"))
        })?;
        let BootTell { boot, .. } = self.boot_now(wanted)?;
        Ok(state::due(record, saved, facts, boot)?)
    }

    fn boot_now(&mut self, wanted: LeverSetting) -> Result<BootTell, CampaignError> {
        match self.agent.ask(&Ask::Boot { wanted })? {
            Tell::Boot(tell) => Ok(*tell),
            _ => Err(CampaignError::Unexpected("boot")),
        }
    }
}

/// Returns the index of the boot that is due, and adds a new boot to the record.
fn begun(reboot: &mut Reboot, due: Due, facts: &Facts) -> usize {
    let (boot, has_step) = match due {
        Due::InOld { boot } => return boot,
        Due::InNew { boot, has_step } => (boot, has_step),
    };
    reboot.boots.push(MeasuredBoot {
        boot,
        has_step,
        facts: facts.clone(),
    });
    reboot.boots.len() - 1
}

/// Returns the first step that adds a setting which binds at boot, and that setting.
fn step_of_the_boot<'a>(
    study: &'a Study,
    levers: &'a [LeverState],
) -> Option<(&'a str, &'a LeverSetting)> {
    let binds_at_boot = |setting: &&LeverSetting| {
        let state = levers.iter().find(|state| state.setting == **setting);
        state.is_some_and(|state| state.binds == Binds::Boot)
    };
    study.steps.iter().find_map(|step| {
        let wanted = step.add.iter().find(binds_at_boot)?;
        Some((step.name.as_str(), wanted))
    })
}

/// Returns the state in which the ladder ended, twice; the first state if no step was worth it.
fn last_state(record: &RunRecord) -> Vec<Arm> {
    let confirmed = record.confirmation.iter().flat_map(|of| &of.arms);
    let last = confirmed.filter(|arm| arm.role == Role::Last);
    let first = record.arms.iter().filter(|arm| arm.name == BASELINE);
    let found = last.chain(first).next();
    found.map_or_else(Vec::new, twice)
}

fn twice(state: &Arm) -> Vec<Arm> {
    let last = Arm {
        name: LAST.to_owned(),
        role: Role::Last,
        against: None,
        published: None,
        ..state.clone()
    };
    let again = Arm {
        name: LAST_AGAIN.to_owned(),
        title: format!("{}, again", last.title),
        role: Role::Control,
        against: Some(LAST.to_owned()),
        ..last.clone()
    };
    vec![last, again]
}
