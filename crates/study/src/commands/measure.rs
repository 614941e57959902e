//! One run of a study of commands, from the first look at the machine to the evidence.

use std::collections::HashMap;
use std::path::Path;

use model::command_run::{CommandArm, CommandRun, EVIDENCE_FILE, Measured};
use model::run::Begun;
use model::{CommandBlock, CommandStudy};

use super::fill::Filler;
use super::hands::{ArmCommands, CommandError, Trouble, make_folder};
use super::programs::Programs;
use super::trial::Trial;
use super::{CommandOrder, arms, evidence, programs, trial};
use crate::campaign::{Campaign, CampaignError, blindness};
use crate::clock::Clock;
use crate::plan::{self, Planned};
use crate::progress::{Outlook, Progress};
use crate::rounds::{self, Hands, SoFar};
use crate::store::{ResumedCommands, Store, StoreError};
use crate::transport::Agent;

impl Campaign<'_> {
    /// Runs a study of commands from the start into a new folder.
    ///
    /// # Errors
    /// What was saved before an error stays and can be resumed.
    pub fn run_commands(
        &mut self,
        order: CommandOrder,
        folder: &Path,
    ) -> Result<Store, CampaignError> {
        let claim = Store::claim(folder)?;
        let met = self.meet(order.full)?;
        let study = &order.study;
        let found = programs::find(study, self.agent)?;
        let built = arms::build(study, &found.absent).map_err(CommandError::from)?;
        let mut hands = hands(study, &built.arms, &found, self.agent)?;
        self.progress.phase("building");
        hands.build()?;
        self.progress.phase("trying every command once");
        let trial = trial::run(study, &mut hands, self.clock)?;
        let mut doubts = [met.doubts, built.doubts].concat();
        doubts.extend(blindness(trial.visible, study.design.smallest_effect));
        self.progress.outlook(&outlook(study, &trial));
        for doubt in doubts.iter().chain(&trial.failed) {
            self.progress.doubt(doubt);
        }
        let by = Begun {
            linerate_version: order.linerate_version,
            started_utc: humantime::format_rfc3339_seconds(self.clock.wall()).to_string(),
            command: order.command,
            seed: order.seed,
        };
        let record = CommandRun {
            programs: found.records,
            rig: met.rig,
            watched: met.watched,
            client: met.client,
            expected_visible: trial.visible,
            doubts,
            ..CommandRun::begun(study.clone(), built.arms.clone(), met.facts, by)
        };
        let mut store = claim.describe(&record)?;
        let told = (&mut *self.progress, self.clock);
        measure(&record, told, &mut hands, &[], &mut store)?;
        keep_evidence(&mut hands, &found.absent, &store)?;
        Ok(store)
    }

    /// Goes on with a run that was stopped, as its folder was opened and looked at; a run that is done
    /// stays as it is. Files and builds are made again; what must agree is compared over all of the run.
    ///
    /// # Errors
    /// When its programs are not those that it was measured with.
    pub fn resume_commands(
        &mut self,
        (mut store, record, saved): ResumedCommands,
    ) -> Result<Store, CampaignError> {
        let is_measured = plan::remaining_commands(&record, &saved).is_empty();
        if is_measured && store.folder().join(EVIDENCE_FILE).exists() {
            return Ok(store);
        }
        self.meet(false)?;
        let found = programs::find_again(&record, self.agent)?;
        let mut hands = hands(&record.study, &record.arms, &found, self.agent)?;
        self.progress.phase("building");
        hands.build()?;
        let told = (&mut *self.progress, self.clock);
        measure(&record, told, &mut hands, &saved, &mut store)?;
        keep_evidence(&mut hands, &found.absent, &store)?;
        Ok(store)
    }
}

fn hands<'a>(
    study: &'a CommandStudy,
    arms: &'a [CommandArm],
    found: &Programs,
    agent: &'a mut dyn Agent,
) -> Result<ArmCommands<'a>, CampaignError> {
    let filler = Filler {
        study,
        folder: make_folder(study, agent)?,
        programs: found.paths.clone(),
    };
    Ok(ArmCommands {
        agent,
        filler,
        arms,
        unbuilt: HashMap::new(),
    })
}

fn outlook(study: &CommandStudy, trial: &Trial) -> Outlook {
    Outlook {
        outcome: study.metrics[0].title.clone(),
        expected_visible: trial.visible,
        sought: study.design.smallest_effect,
        rounds: study.design.rounds,
        planned_ms: trial.round_ms * u64::from(study.design.rounds),
    }
}

/// Measures what the plan still lacks.
fn measure(
    run: &CommandRun,
    campaign: (&mut (dyn Progress + '_), &dyn Clock),
    hands: &mut ArmCommands<'_>,
    saved: &[CommandBlock],
    store: &mut Store,
) -> Result<(), CampaignError> {
    let (progress, clock) = campaign;
    progress.phase("measuring");
    let remaining = plan::remaining_commands(run, saved);
    let mut rounds = CommandRounds {
        run,
        progress,
        hands,
        store,
        epoch: plan::next_epoch(saved),
        before: saved.len(),
        planned: saved.len() + remaining.len(),
        waiting: Vec::new(),
    };
    rounds::go_through(&mut rounds, remaining, clock)
}

/// The rounds of one run. Runs that fail are saved with the next that does not: where every arm fails
/// one after the other it is not for them that they do, and they are measured again when the run goes on.
struct CommandRounds<'a, 'b, 'c> {
    run: &'a CommandRun,
    progress: &'a mut (dyn Progress + 'b),
    hands: &'a mut ArmCommands<'c>,
    store: &'a mut Store,
    epoch: u32,
    /// Blocks that were saved before.
    before: usize,
    /// With those that were saved before.
    planned: usize,
    /// Failed, and not saved yet.
    waiting: Vec<CommandBlock>,
}

impl Hands for CommandRounds<'_, '_, '_> {
    type Reading = Measured;
    type Error = CampaignError;

    fn measure(&mut self, next: &Planned) -> Result<Option<Measured>, CampaignError> {
        match self.hands.block(&self.run.arms[next.arm]) {
            Ok(measured) => Ok(Some(measured)),
            Err(Trouble::OfArm(trouble)) if self.waiting.len() + 1 < self.run.arms.len() => {
                Ok(Some(trouble.measured()))
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn keep(
        &mut self,
        next: &Planned,
        reading: Measured,
        so_far: SoFar,
    ) -> Result<(), CampaignError> {
        let done = self.before + so_far.done;
        let has_failed = !reading.counts();
        let arm = &self.run.arms[next.arm].name;
        let block = next.record(arm, (self.epoch, so_far.at_ms), reading);
        self.waiting.push(block);
        if !has_failed || done == self.planned {
            append_all(&mut self.waiting, self.store)?;
        }
        let left_ms = so_far.left_ms(self.planned - done);
        self.progress.block_saved(done, self.planned, left_ms);
        Ok(())
    }
}

fn append_all(blocks: &mut Vec<CommandBlock>, store: &mut Store) -> Result<(), StoreError> {
    blocks.drain(..).try_for_each(|block| store.append(&block))
}

fn keep_evidence(
    hands: &mut ArmCommands<'_>,
    absent: &std::collections::BTreeMap<String, String>,
    store: &Store,
) -> Result<(), CampaignError> {
    let evidence = evidence::gather(hands, absent)?;
    let text = serde_json::to_vec(&evidence).map_err(|error| StoreError::File {
        path: store.folder().join(EVIDENCE_FILE),
        source: error.into(),
    })?;
    Ok(store.write_whole(EVIDENCE_FILE, &text)?)
}
