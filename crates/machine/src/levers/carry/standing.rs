//! The levers that are set according to the journal, with what the machine holds.

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
    /// Id of the entry in the journal.
    pub entry: u64,
    /// Name of the lever, as it is typed.
    pub lever: String,
    /// Number of the process that set it.
    pub pid: u32,
    /// Inode of the network namespace in which it was set.
    pub namespace: u64,
    /// Whether the machine has been restarted since, which has put it back.
    pub is_of_another_boot: bool,
    /// Whether the entry claims that the lever has set what it never sets; such an entry is not
    /// undone.
    pub is_foreign: bool,
    /// Whether it should have been put back by itself by now, but was not.
    pub is_overdue: bool,
    /// Whether what was set applies to our network namespace: it was set there, or affects the
    /// whole machine.
    #[serde(skip)]
    pub is_here: bool,
    /// Seconds until it is put back unless it is confirmed; null where it stays.
    pub reverts_in_s: Option<u64>,
    /// Why the last attempt to put it back failed; null where there was none.
    pub refused: Option<String>,
    /// The knobs, in the order in which they were set.
    pub steps: Vec<StepNow>,
}

/// A knob that was set, and what it holds now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepNow {
    /// A sysctl by its name, or the path of a file.
    pub knob: String,
    /// The value before.
    pub old: String,
    /// The value that was set.
    pub new: String,
    /// The value now; null where it cannot be read here.
    pub now: Option<String>,
}

/// All levers that are set, the oldest first.
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
        // The value is not ours where the knob is in another network namespace, or has changed
        // hands.
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
