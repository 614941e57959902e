//! One run of a study of commands, from the first contact with the machine to the evidence.

use std::collections::HashMap;
use std::path::Path;

use model::CommandStudy;
use model::command_run::{CommandArm, CommandRun, EVIDENCE_FILE, Measured};
use model::run::Begun;

use super::fill::Filler;
use super::hands::{ArmCommands, Trouble, make_folder};
use super::programs::Programs;
use super::trial::Trial;
use super::{CommandOrder, arms, evidence, programs, trial};
use crate::campaign::{Campaign, CampaignError, blindness};
use crate::ceilings;
use crate::clock::Clock;
use crate::plan::{Design as _, Planned};
use crate::progress::{Outlook, Progress};
use crate::rounds::{self, Hands, SavedBlocks, SoFar};
use crate::same_place;
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
    ) -> Result<(), CampaignError> {
        let claim = Store::claim(folder)?;
        let met = self.meet(order.full, true)?;
        let study = &order.study;
        let found = programs::find(study, self.agent)?;
        let built = arms::build(study, &found.absent)?;
        let mut hands = hands(study, &built.arms, &found, self.agent)?;
        self.progress.phase("building");
        hands.build()?;
        self.progress.phase("trying every command once");
        let trial = trial::run(study, &mut hands, self.clock)?;
        let asked: Vec<&String> = study.ceilings.iter().flat_map(|it| &it.probe).collect();
        let probed = ceilings::probe(hands.agent, &asked, order.seed)?;
        let mut doubts = [order.doubts, met.doubts, built.doubts].concat();
        doubts.extend(ceilings::unmeasured(&asked, &probed));
        doubts.extend(blindness(trial.visible, study.design.smallest_effect));
        self.progress.outlook(&outlook(study, &built.arms, &trial));
        for doubt in doubts.iter().chain(&trial.failed) {
            self.progress.doubt(doubt);
        }
        let by = Begun::at(self.clock.wall(), order.command, order.seed);
        let record = CommandRun {
            programs: found.records,
            rig: met.rig,
            watched: met.watched,
            client: met.client,
            expected_visible: trial.visible,
            probed,
            doubts,
            ..CommandRun::begun(study.clone(), built.arms.clone(), met.facts, by)
        };
        let mut kept = SavedBlocks::new(Vec::new(), Some(claim.describe(&record)?));
        let progress_and_clock = (&mut *self.progress, self.clock);
        measure(&record, progress_and_clock, &mut hands, &mut kept)?;
        keep_evidence(&mut hands, &found.absent, kept.store.as_ref())
    }

    /// Resumes a stopped run, whose folder has been opened and checked; a finished run stays as it
    /// is. Files and builds are made again. What must agree is compared over the whole run.
    ///
    /// # Errors
    /// If its rig, hosts or programs are not those with which it was measured.
    pub fn resume_commands(
        &mut self,
        (store, record, saved): ResumedCommands,
    ) -> Result<(), CampaignError> {
        let is_measured = record.remaining(&saved).is_empty();
        if is_measured && store.folder().join(EVIDENCE_FILE).exists() {
            return Ok(());
        }
        same_place::check(&record, &self.meet(false, true)?)?;
        let found = programs::find_again(&record, self.agent)?;
        let mut hands = hands(&record.study, &record.arms, &found, self.agent)?;
        self.progress.phase("building");
        hands.build()?;
        let progress_and_clock = (&mut *self.progress, self.clock);
        let mut kept = SavedBlocks::new(saved, Some(store));
        measure(&record, progress_and_clock, &mut hands, &mut kept)?;
        keep_evidence(&mut hands, &found.absent, kept.store.as_ref())
    }
}

fn hands<'a>(
    study: &'a CommandStudy,
    arms: &'a [CommandArm],
    found: &Programs,
    agent: &'a mut dyn Agent,
) -> Result<ArmCommands<'a>, CampaignError> {
    let (folder, server) = make_folder(study, agent)?;
    let filler = Filler {
        study,
        folder,
        server,
        programs: found.paths.clone(),
    };
    Ok(ArmCommands {
        agent,
        filler,
        arms,
        unbuilt: HashMap::new(),
    })
}

fn outlook(study: &CommandStudy, arms: &[CommandArm], trial: &Trial) -> Outlook {
    Outlook {
        outcome: study.metrics[0].title.clone(),
        expected_visible: trial.visible,
        sought: study.design.smallest_effect,
        rounds: study.design.rounds,
        fewest_rounds: judge::fewest_rounds_of_plan(study, arms),
        planned_ms: trial.round_ms * u64::from(study.design.rounds),
    }
}

/// Measures the blocks of the plan that are not saved yet.
fn measure(
    run: &CommandRun,
    progress_and_clock: (&mut (dyn Progress + '_), &dyn Clock),
    hands: &mut ArmCommands<'_>,
    kept: &mut SavedBlocks<Measured>,
) -> Result<(), CampaignError> {
    let (progress, clock) = progress_and_clock;
    progress.phase("measuring");
    let remaining = run.remaining(&kept.blocks);
    let mut rounds = CommandRounds {
        run,
        progress,
        hands,
    };
    rounds::go_through(&mut rounds, remaining, kept, clock)
}

/// The rounds of one run. A failed run is saved together with the next one that succeeds. If every
/// arm fails in succession, the cause is not in the arms: the study ends, and these runs are
/// measured again when it is resumed.
struct CommandRounds<'a, 'b, 'c> {
    run: &'a CommandRun,
    progress: &'a mut (dyn Progress + 'b),
    hands: &'a mut ArmCommands<'c>,
}

impl Hands for CommandRounds<'_, '_, '_> {
    type Reading = Measured;
    type Error = CampaignError;

    fn measure(
        &mut self,
        next: &Planned,
        kept: &SavedBlocks<Measured>,
    ) -> Result<Option<Measured>, CampaignError> {
        match self.hands.block(&self.run.arms[next.arm]) {
            Ok(measured) => Ok(Some(measured)),
            Err(Trouble::OfArm(trouble)) if kept.waiting() + 1 < self.run.arms.len() => {
                Ok(Some(trouble.measured()))
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn waits(&self, reading: &Measured) -> bool {
        !reading.counts()
    }

    fn measured(
        &mut self,
        _kept: &SavedBlocks<Measured>,
        so_far: SoFar,
    ) -> Result<(), CampaignError> {
        self.progress
            .block_saved(so_far.had(), so_far.planned, so_far.all_left_ms());
        Ok(())
    }
}

fn keep_evidence(
    hands: &mut ArmCommands<'_>,
    absent: &std::collections::BTreeMap<String, String>,
    store: Option<&Store>,
) -> Result<(), CampaignError> {
    let evidence = evidence::gather(hands, absent)?;
    let Some(store) = store else { return Ok(()) };
    let text = serde_json::to_vec(&evidence).map_err(|error| StoreError::File {
        path: store.folder().join(EVIDENCE_FILE),
        source: error.into(),
    })?;
    Ok(store.write_whole(EVIDENCE_FILE, &text)?)
}
