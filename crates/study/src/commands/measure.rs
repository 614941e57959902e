//! One run of a study of commands, from the first look at the machine to the evidence.

use std::collections::HashMap;
use std::path::Path;

use model::command_run::{CommandArm, CommandRun, EVIDENCE_FILE};
use model::run::{Phase, RUN_FORMAT};
use model::{CommandBlock, CommandStudy};

use super::fill::Filler;
use super::hands::{CommandError, Hands, Trouble, make_folder};
use super::programs::Programs;
use super::trial::Trial;
use super::{CommandOrder, arms, evidence, programs, trial};
use crate::campaign::{Campaign, CampaignError, blindness};
use crate::clock::Clock;
use crate::plan;
use crate::progress::{Outlook, Progress};
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
        let record = CommandRun {
            format: RUN_FORMAT,
            linerate_version: order.linerate_version,
            started_utc: humantime::format_rfc3339_seconds(self.clock.wall()).to_string(),
            command: order.command,
            seed: order.seed,
            study: study.clone(),
            arms: built.arms.clone(),
            service: None,
            own_services: Vec::new(),
            programs: found.records,
            rig: met.rig,
            left_out: Vec::new(),
            on_host: false,
            confirmation: None,
            reboot: None,
            facts: met.facts,
            watched: met.watched,
            client: met.client,
            expected_visible: trial.visible,
            doubts,
        };
        let mut store = claim.describe(&record)?;
        let mut rounds = Rounds {
            run: &record,
            progress: self.progress,
            clock: self.clock,
        };
        rounds.measure(&mut hands, &[], &mut store)?;
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
        let mut rounds = Rounds {
            run: &record,
            progress: self.progress,
            clock: self.clock,
        };
        rounds.measure(&mut hands, &saved, &mut store)?;
        keep_evidence(&mut hands, &found.absent, &store)?;
        Ok(store)
    }
}

fn hands<'a>(
    study: &'a CommandStudy,
    arms: &'a [CommandArm],
    found: &Programs,
    agent: &'a mut dyn Agent,
) -> Result<Hands<'a>, CampaignError> {
    let filler = Filler {
        study,
        folder: make_folder(study, agent)?,
        programs: found.paths.clone(),
    };
    Ok(Hands {
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

/// The rounds of one run.
struct Rounds<'a> {
    run: &'a CommandRun,
    progress: &'a mut dyn Progress,
    clock: &'a dyn Clock,
}

impl Rounds<'_> {
    /// Measures what the plan still lacks and saves each block as it ends. Runs that fail are saved
    /// with the next that does not: where every arm fails one after the other it is not for them that
    /// they do, and they are measured again when the run goes on.
    fn measure(
        &mut self,
        hands: &mut Hands<'_>,
        saved: &[CommandBlock],
        store: &mut Store,
    ) -> Result<(), CampaignError> {
        let remaining = plan::remaining_commands(self.run, saved);
        let planned = saved.len() + remaining.len();
        let epoch = saved.iter().map(|block| block.epoch + 1).max().unwrap_or(0);
        let begun_ms = self.clock.now_ms();
        self.progress.phase("measuring");
        let mut waiting: Vec<CommandBlock> = Vec::new();
        for (done, next) in remaining.iter().enumerate() {
            let arm = &self.run.arms[next.arm];
            let reading = match hands.block(arm) {
                Ok(measured) => measured,
                Err(Trouble::OfArm(trouble)) if waiting.len() + 1 < self.run.arms.len() => {
                    trouble.measured()
                }
                Err(trouble) => return Err(trouble.into()),
            };
            let at_ms = self.clock.now_ms() - begun_ms;
            let has_failed = !reading.counts();
            waiting.push(CommandBlock {
                phase: Phase::Command,
                epoch,
                round: next.round,
                position: next.position,
                arm: arm.name.clone(),
                at_ms,
                reading,
            });
            if !has_failed || done + 1 == remaining.len() {
                append_all(&mut waiting, store)?;
            }
            let left = remaining.len() - done - 1;
            let left_ms = at_ms / (done as u64 + 1) * left as u64;
            self.progress.block_saved(planned - left, planned, left_ms);
        }
        Ok(())
    }
}

fn append_all(blocks: &mut Vec<CommandBlock>, store: &mut Store) -> Result<(), StoreError> {
    blocks.drain(..).try_for_each(|block| store.append(&block))
}

fn keep_evidence(
    hands: &mut Hands<'_>,
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
