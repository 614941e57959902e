//! What the journal says is set, and what the machine holds.

use schemars::JsonSchema;
use serde::Serialize;

use super::CarryError;
use super::undo::{as_called_now, is_foreign};
use crate::journal::{self, Change};
use crate::levers::{Knob, Site, Step};

/// A lever that is set.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "EntryShape")]
pub struct Standing {
    /// Its number.
    pub entry: u64,
    /// As it is typed.
    pub lever: String,
    /// Process that set it.
    pub pid: u32,
    /// Inode of the network namespace in which it was set.
    pub namespace: u64,
    /// Whether the machine has been started since, which has put it back.
    pub is_of_another_boot: bool,
    /// Whether it says that the lever has set what that lever never sets, so that it is not
    /// undone.
    pub is_foreign: bool,
    /// Whether it should have been put back by itself by now, and was not.
    pub is_overdue: bool,
    /// Whether the network namespace that we are in has what was set: it was set there, or reaches
    /// the whole machine.
    #[serde(skip)]
    pub is_here: bool,
    /// Seconds until it is put back unless it is confirmed; null where it stays.
    pub reverts_in_s: Option<u64>,
    /// Why the last try to put it back was in vain; null where there was none.
    pub refused: Option<String>,
    /// Its knobs, in the order in which they were set.
    pub steps: Vec<StepNow>,
}

/// A knob that is set, and what it holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepNow {
    /// A sysctl by its name, or the path of a file.
    pub knob: String,
    /// What it held before.
    pub old: String,
    /// What it was set to.
    pub new: String,
    /// What it holds; null where that cannot be read here.
    pub now: Option<String>,
}

/// All of them, the oldest first.
///
/// # Errors
/// When the journal cannot be read.
pub fn standing() -> Result<Vec<Standing>, CarryError> {
    let site = Site::here(None);
    let now_ms = sys::clock::since_boot_ms();
    let entries = journal::read()?.entries.into_iter().filter_map(|entry| {
        let is_of_another_boot = entry.is_of_another_boot().unwrap_or(false);
        let is_of_here = entry.is_of_here();
        let Change::Lever(change) = entry.change else {
            return None;
        };
        let here = |knob: &Knob| is_of_here || !knob.is_of_a_namespace();
        // Of another network namespace, or somebody else's by now, it is not what was set.
        let now = |step: &Step| {
            let is_read = !is_of_another_boot && here(&step.knob);
            let step = is_read.then(|| as_called_now(step, change.device_index, &site))?;
            let knob = step.ok()?.knob;
            if knob.changed_hands(&site.tree).is_some() {
                return None;
            }
            Some(knob.show(&knob.read(&site.tree).ok()?))
        };
        let steps = change.steps.iter().map(|step| StepNow {
            knob: step.knob.to_string(),
            old: step.knob.show(&step.old),
            new: step.knob.show(&step.new),
            now: now(step),
        });
        let reverts_in_s = |at_ms: u64| at_ms.saturating_sub(now_ms) / 1000;
        Some(Standing {
            entry: entry.id,
            pid: entry.owner.pid,
            namespace: entry.namespace,
            is_of_another_boot,
            is_foreign: change.steps.iter().any(|step| is_foreign(&change, step)),
            is_overdue: !is_of_another_boot && change.is_overdue(now_ms),
            is_here: change.steps.iter().all(|step| here(&step.knob)),
            reverts_in_s: change.reverts_at_ms.map(reverts_in_s),
            steps: steps.collect(),
            lever: change.lever,
            refused: change.refused,
        })
    });
    Ok(entries.collect())
}
