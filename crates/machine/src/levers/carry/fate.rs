//! What became of what was set.

use crate::levers::Knob;

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub id: u64,
    pub lever: String,
    /// Its knobs, the last that was set first.
    pub knobs: Vec<(Knob, KnobFate)>,
}

/// What became of one knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobFate {
    /// It holds its old value again.
    PutBack { now: String },
    /// It held its old value already.
    WasBack { now: String },
    /// Somebody else has set it since, so it was left as it is.
    SetByOthers { now: String, ours: String },
    /// It has gone, and what was set with it: a device that was taken away, a namespace that ended.
    Gone,
    /// What we set is another's by now, and was left as it is: an interrupt whose number was given
    /// out again.
    ChangedHands { now: String },
    /// The machine was started again, which has put it back.
    Rebooted,
    /// It is in another network namespace, where the undo must be asked for.
    Elsewhere { namespace: u64 },
    /// No knob of that lever: the entry was not written by us, and nothing was touched.
    Foreign,
    /// What the kernel refused.
    Refused { why: String },
    /// It holds what we set, and the journal says so no more: what a person would type to put it back.
    Forgotten { now: String, command: String },
}

impl KnobFate {
    /// Whether nothing of ours is left in it.
    pub fn is_back(&self) -> bool {
        !matches!(
            self,
            Self::Elsewhere { .. } | Self::Foreign | Self::Refused { .. } | Self::Forgotten { .. }
        )
    }

    /// Whether it holds what it did before, or is no more.
    pub fn is_as_before(&self) -> bool {
        let is_anothers = matches!(self, Self::SetByOthers { .. } | Self::ChangedHands { .. });
        self.is_back() && !is_anothers
    }
}
