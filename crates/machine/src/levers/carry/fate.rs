//! The results of an undo, for entries and knobs.

use crate::levers::Knob;

/// The result for one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub id: u64,
    pub lever: String,
    /// The knobs of the entry, the last one set first.
    pub knobs: Vec<(Knob, KnobFate)>,
}

/// The result for one knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobFate {
    /// It holds its old value again.
    PutBack { now: String },
    /// It already held its old value.
    WasBack { now: String },
    /// Somebody else has set it in the meantime, so it was left unchanged.
    SetByOthers { now: String, ours: String },
    /// It no longer exists, and neither does our value: the device was removed, or the namespace
    /// ended.
    Gone,
    /// It now belongs to somebody else and was left unchanged: an interrupt number that was
    /// assigned again.
    ChangedHands { now: String },
    /// The machine was restarted, which has restored the old value.
    Rebooted,
    /// It is in another network namespace, where the undo must be run.
    Elsewhere { namespace: u64 },
    /// The lever has no such knob: we did not write this entry, so nothing was touched.
    Foreign,
    /// The kernel refused to restore it.
    Refused { why: String },
    /// It holds our value, and the journal no longer says so. `command` is what a person would type
    /// to put it back.
    Forgotten { now: String, command: String },
}

impl KnobFate {
    /// Whether nothing that we set is left in the knob.
    pub fn is_back(&self) -> bool {
        !matches!(
            self,
            Self::Elsewhere { .. } | Self::Foreign | Self::Refused { .. } | Self::Forgotten { .. }
        )
    }

    /// Whether the knob holds its earlier value again, or no longer exists.
    pub fn is_as_before(&self) -> bool {
        let is_anothers = matches!(self, Self::SetByOthers { .. } | Self::ChangedHands { .. });
        self.is_back() && !is_anothers
    }
}
