//! What the journal says is set, and what the machine holds.

use super::CarryError;
use super::undo::{as_called_now, is_foreign};
use crate::journal::{self, Change, LeverChange, Owner};
use crate::levers::{Knob, Site};

/// A lever that was set and not put back.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Number of its entry in the journal.
    pub id: u64,
    /// Who set it; he has ended, as a rule.
    pub owner: Owner,
    /// Inode of the network namespace in which it was set.
    pub namespace: u64,
    /// Whether the machine has been started since, which has put it back.
    pub is_of_another_boot: bool,
    pub change: LeverChange,
    /// Whether its time is over and it was not put back by itself; of this boot alone.
    pub is_overdue: bool,
    /// Whether it says that its lever has set what that never sets: it was not written by us.
    pub is_foreign: bool,
    /// What each knob holds now, in the order of the change; `None` where it cannot be read, or is
    /// that of another network namespace or of somebody else by now.
    pub now: Vec<Option<String>>,
}

impl Standing {
    /// Whether the network namespace that we are in has what was set: it was set there, or reaches
    /// the whole machine.
    pub fn is_here(&self) -> bool {
        let here = is_here(self.namespace);
        self.change.steps.iter().all(|step| here(&step.knob))
    }
}

/// Whether a knob that was set in a network namespace is the one of that name where we are.
fn is_here(namespace: u64) -> impl Fn(&Knob) -> bool {
    let is_ours = sys::namespace::current_network_inode().ok() == Some(namespace);
    move |knob| is_ours || !knob.is_of_a_namespace()
}

/// All of them, the oldest first.
///
/// # Errors
/// When the journal cannot be read.
pub fn standing() -> Result<Vec<Standing>, CarryError> {
    let site = Site::here(None);
    let entries = journal::read()?.entries.into_iter().filter_map(|entry| {
        let is_of_another_boot = entry.is_of_another_boot().unwrap_or(false);
        let Change::Lever(change) = entry.change else {
            return None;
        };
        let here = is_here(entry.namespace);
        let is_overdue = !is_of_another_boot && change.is_overdue(sys::clock::since_boot_ms());
        let now = change.steps.iter().map(|step| {
            let is_read = !is_of_another_boot && here(&step.knob);
            let step = is_read.then(|| as_called_now(step, change.device_index, &site))?;
            let knob = step.ok()?.knob;
            if knob.changed_hands(&site.tree).is_some() {
                return None;
            }
            Some(knob.show(&knob.read(&site.tree).ok()?))
        });
        Some(Standing {
            id: entry.id,
            owner: entry.owner,
            namespace: entry.namespace,
            is_of_another_boot,
            is_overdue,
            is_foreign: change.steps.iter().any(|step| is_foreign(&change, step)),
            now: now.collect(),
            change,
        })
    });
    Ok(entries.collect())
}
