//! A plan that stays set as long as an object holds it: for the blocks of one arm.

use super::apply::{Until, apply, set_all};
use super::guard::guard_what_is_held;
use super::undo::{put_back, undo_held};
use super::{CarryError, Knob, KnobFate, Obstacle};
use crate::levers::{Plan, Site, Step};
use crate::namespace::PrivateNamespace;
use crate::tree::Tree;

/// A plan that was carried out and is put back when this is dropped.
#[derive(Debug)]
pub struct Held {
    /// The steps with the values that the knobs hold.
    steps: Vec<Step>,
    tree: Tree,
    kept: PutBackBy,
}

/// What puts the plan back if this process crashes.
#[derive(Debug, PartialEq, Eq)]
enum PutBackBy {
    /// Nothing needs to: the namespace ends with this process, and with it all that was set there.
    ByItsNamespace,
    /// This entry of the journal.
    ByTheJournal(u64),
    /// It has been put back already.
    Not,
}

impl Plan {
    /// Whether all that it sets belongs to a network namespace.
    pub fn is_of_a_namespace(&self) -> bool {
        let of_namespace = |step: &Step| step.knob.is_of_a_namespace();
        self.steps.iter().all(of_namespace)
    }
}

impl Held {
    /// Sets knobs that belong to a network namespace, in a namespace of our own. That needs no
    /// journal.
    ///
    /// # Errors
    /// What the kernel refused. All was then put back, or the error says that it was not.
    pub fn in_our_namespace(
        plan: &Plan,
        site: &Site,
        _proof: PrivateNamespace,
    ) -> Result<Self, CarryError> {
        plan.rehearse_undo(&site.tree)?;
        let steps = set_all(&plan.steps, &site.tree)?;
        Ok(Self {
            steps,
            tree: site.tree.clone(),
            kept: PutBackBy::ByItsNamespace,
        })
    }

    /// Sets knobs that affect the whole machine, and records them in the journal.
    ///
    /// # Errors
    /// Those of [`apply`].
    pub fn on_the_host(plan: &Plan, site: &Site) -> Result<Self, CarryError> {
        let start = |_| guard_what_is_held();
        let applied = apply(plan, site, &Until::Dropped(&start))?;
        Ok(Self {
            steps: applied.steps,
            tree: site.tree.clone(),
            kept: PutBackBy::ByTheJournal(applied.id),
        })
    }

    /// Checks whether each knob still holds what was set.
    ///
    /// # Errors
    /// The first knob that does not.
    pub fn verify(&self) -> Result<(), Obstacle> {
        let mut set = self.steps.iter().filter(|step| !step.follows);
        set.try_for_each(|step| {
            let held = step.knob.read(&self.tree);
            let held = held.map_err(|error| Obstacle::of(&step.knob, &error))?;
            step.is_held(&held)
        })
    }

    /// Puts the plan back and reports each knob that is not as it was before.
    ///
    /// # Errors
    /// When the journal cannot be read or written.
    pub fn put_back(mut self) -> Result<Vec<(Knob, KnobFate)>, CarryError> {
        self.go_back()
    }

    fn go_back(&mut self) -> Result<Vec<(Knob, KnobFate)>, CarryError> {
        let mut fates = match std::mem::replace(&mut self.kept, PutBackBy::Not) {
            PutBackBy::Not => Vec::new(),
            PutBackBy::ByTheJournal(entry) => undo_held(entry)?,
            PutBackBy::ByItsNamespace => {
                let steps = self.steps.iter().rev();
                steps
                    .map(|step| (step.knob.clone(), put_back(step, &self.tree)))
                    .collect()
            }
        };
        fates.retain(|(_, fate)| !fate.is_as_before());
        Ok(fates)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Nobody is left to report to. The namespace ends, or the journal still has the entry.
        let _ = self.go_back();
    }
}
