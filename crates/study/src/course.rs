//! The course of a run, from an order or from a saved run to the last saved block.

use std::path::Path;

use model::cpus::CpuWish;
use model::lever::Leave;
use model::run::Begun;
use model::stacks::RunStacks;
use model::study::{Arm, Program, Study};
use model::{Facts, Reading, RunRecord};

use crate::answers;
use crate::arms::Arms;
use crate::campaign::{Acquaintance, Campaign, CampaignError, blindness, boot_ms, planned_ms};
use crate::confirm;
use crate::gate;
use crate::plan::Design as _;
use crate::refusal::Refusal;
use crate::rounds::SavedBlocks;
use crate::same_place;
use crate::scale;
use crate::stacks;
use crate::store::{Resumed, Store};
use crate::under_test::{self, Targets};

/// The order to run a study.
pub struct Order {
    pub study: Study,
    pub targets: Targets,
    pub seed: u64,
    /// The command that repeats the run, without secrets.
    pub command: String,
    /// CPUs that each end is to have.
    pub cpus: CpuWish,
    /// Whether to record names and addresses too.
    pub full: bool,
    /// Whether levers may be set that reach further than a namespace of our own.
    pub on_host: bool,
    /// Whether the run waits for a reboot at its end, for the step that needs one.
    pub reboot: bool,
}

impl Order {
    /// An order that uses whatever CPUs there are, and namespaces of our own.
    pub fn new(study: Study, targets: Targets, seed: u64, command: String) -> Self {
        Self {
            study,
            targets,
            seed,
            command,
            cpus: CpuWish::default(),
            full: false,
            on_host: false,
            reboot: false,
        }
    }

    /// Says how far levers may reach.
    pub const fn leave(&self) -> Leave {
        Leave {
            on_host: self.on_host,
            in_place: matches!(self.targets, Targets::Tried(_) | Targets::Watched(_)),
            card_at: None,
        }
    }
}

impl Campaign<'_> {
    /// Runs an order from the start into a new folder.
    ///
    /// # Errors
    /// What was saved before an error stays and can be resumed.
    pub fn run(&mut self, mut order: Order, folder: &Path) -> Result<(), CampaignError> {
        let claim = Store::claim(folder)?;
        let are_loaded = order.targets.are_loaded();
        let Acquaintance {
            rig,
            facts,
            watched,
            client,
            mut doubts,
        } = self.meet(order.full, are_loaded)?;
        self.progress.rig(&rig, order.leave());
        let cpus = self.share_cpus(&order.cpus)?;
        scale::settle(&mut order.study, &cpus)?;
        let levers = self.levers(&order.study, order.study.first_levers(), order.leave())?;
        let reboot = order
            .reboot
            .then(|| self.plan_reboot(&order.study, &levers, &facts))
            .transpose()?;
        let found = order.targets.find(self.agent)?;
        let may_differ = order.targets.may_differ();
        self.build(&order.targets)?;
        let are_ours = order.targets.are_ours();
        if are_ours {
            self.progress.cpus(&cpus);
            if client.as_ref().is_none_or(|client| client.same_machine) {
                doubts.extend(cpus.doubt());
            }
        }
        let by = Begun::at(self.clock.wall(), order.command, order.seed);
        let built = order.targets.arms(&order.study, &found, &levers);
        doubts.extend(built.doubts);
        let begun_ms = self.clock.now_ms();
        let first = gate::of_round(&order.study, &built.arms, 0);
        let up = self.start_targets(&first, &order.study.workload)?;
        let start_ms = self.clock.now_ms() - begun_ms;
        let gate_ms = gate::settle(&mut order.study, built.arms.len(), start_ms);
        doubts.extend(up.doubts);
        doubts.extend(answers::compared(&up.answers, may_differ)?);
        self.find_client_threads(&mut order.study, &built.arms, &cpus)?;
        let visible = self.rehearse(&order.study, &built.arms)?;
        let ceilings = self.ceilings(&order.study, &first, are_loaded.then_some(order.seed))?;
        doubts.extend(ceilings.doubts);
        let in_boot_ms = reboot.as_ref().map_or(0, |_| boot_ms(&order.study));
        let rounds_ms = gate_ms.unwrap_or_else(|| planned_ms(&order.study, built.arms.len()));
        let planned_ms = rounds_ms + in_boot_ms;
        self.announce((&order.study, &built.arms), are_loaded, planned_ms, visible);
        doubts.extend(blindness(visible, order.study.design.smallest_effect));
        for doubt in &doubts {
            self.progress.doubt(doubt);
        }
        let record = RunRecord {
            left_out: built.left_out,
            service: found.common,
            own_services: found.own,
            rig,
            on_host: order.on_host,
            watched,
            cpus: are_ours.then_some(cpus),
            client,
            expected_visible: visible,
            probed: ceilings.probed,
            demands: ceilings.demands,
            stacks: order.study.stacks.then(RunStacks::to_come),
            reboot,
            doubts,
            ..RunRecord::begun(order.study, saved(&built.arms, order.full), facts, by)
        };
        let store = claim.describe(&record)?;
        let facts = record.facts.clone();
        let kept = SavedBlocks::new(Vec::new(), Some(store));
        self.go_through(record, &built.arms, kept, &facts)
    }

    /// Returns the arms of an order on its hosts, and what is left out of it. Starts nothing there,
    /// and sets nothing outside namespaces of our own.
    ///
    /// # Errors
    /// Those with which a run would end before its first server is started.
    pub fn plan(&mut self, mut order: Order) -> Result<Arms, CampaignError> {
        let Acquaintance { rig, .. } = self.meet(order.full, order.targets.are_loaded())?;
        self.progress.rig(&rig, order.leave());
        let cpus = self.share_cpus(&order.cpus)?;
        self.progress.cpus(&cpus);
        scale::settle(&mut order.study, &cpus)?;
        // Finding out what already has effect on the first state needs that state to be set. A plan
        // must not do that to a whole machine.
        let first = match order.on_host {
            true => Vec::new(),
            false => order.study.first_levers(),
        };
        let levers = self.levers(&order.study, first, order.leave())?;
        let found = order.targets.find(self.agent)?;
        Ok(order.targets.arms(&order.study, &found, &levers))
    }

    /// Measures what is left of a run in this boot, in which the server's host reported these
    /// facts.
    fn go_through(
        &mut self,
        mut record: RunRecord,
        arms: &[Arm],
        mut kept: SavedBlocks<Reading>,
        facts: &Facts,
    ) -> Result<(), CampaignError> {
        let remaining = record.remaining(&kept.blocks);
        if !remaining.is_empty() || stacks::are_to_come(&record) {
            self.progress.phase("measuring");
            self.measure(&record, arms, remaining, &mut kept)?;
            self.see_stacks(&mut record, arms, &kept)?;
            if record.study.whole.is_some() {
                // The servers of the confirmation are to have the machine to themselves.
                self.stop_targets(arms)?;
            }
        }
        self.confirm(&mut record, &mut kept)?;
        self.measure_this_boot(&mut record, &mut kept, facts)
    }

    /// Resumes a stopped run, whose folder has been opened and checked; a finished run stays as it
    /// is.
    ///
    /// # Errors
    /// If this machine is not as it was, or not as it must be after a reboot.
    pub fn resume(&mut self, (store, record, saved): Resumed) -> Result<(), CampaignError> {
        if record.all_arms().any(|arm| is_temporary(&arm.program)) {
            let why = "the run compares programs that existed only then; start it again instead";
            return Err(Refusal(why.to_owned()).into());
        }
        if record.reboot.is_none() && confirm::is_done(&record, &saved) {
            return Ok(());
        }
        let met = self.meet(false, true)?;
        let leave = Leave {
            on_host: record.on_host,
            ..Leave::default()
        };
        self.progress.rig(&met.rig, leave);
        same_place::check(&record, &met)?;
        if let Some(cpus) = &record.cpus {
            let shared = self.share_cpus(&cpus.again())?;
            self.progress.cpus(&shared);
        }
        self.may_go_on(&record, &saved, &met.facts)?;
        under_test::find_again(&record, self.agent)?;
        self.levers(&record.study, record.study.first_levers(), leave)?;
        let arms = record.arms.clone();
        if !record.remaining(&saved).is_empty() || stacks::are_to_come(&record) {
            self.start_targets(&arms, &record.study.workload)?;
        }
        let kept = SavedBlocks::new(saved, Some(store));
        self.go_through(record, &arms, kept, &met.facts)
    }
}

/// Whether a program existed only during its run, so that we cannot start it again.
fn is_temporary(program: &Program) -> bool {
    matches!(
        program,
        Program::Url(_) | Program::Watched(_) | Program::Built(_)
    )
}

/// The arms as they are saved: in full, with the names of hosts, if that is wanted, but never with
/// a request.
fn saved(arms: &[Arm], full: bool) -> Vec<Arm> {
    let saved = |arm: &Arm| Arm {
        program: match &arm.program {
            Program::Request(request) if full => Program::Url(request.url.clone()),
            whole if full => whole.clone(),
            other => other.without_secrets(),
        },
        ..arm.clone()
    };
    arms.iter().map(saved).collect()
}
