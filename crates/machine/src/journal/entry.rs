//! Entries of the journal.

use model::Topology;
use model::rig::RigName;
use serde::{Deserialize, Serialize};
use sys::namespace::{current_network_cookie, current_network_inode};

use super::owner::{Owner, boot_id};
use crate::levers::Step;
use crate::rig::HeldHost;

/// One change that has not been undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Number of the entry; no two entries in the journal have the same.
    pub id: u64,
    /// The boot in which the change was made; no namespace and no process outlives it.
    pub boot_id: String,
    /// Inode of the network namespace in which the change was made. It must be undone in that
    /// namespace and no other.
    pub namespace: u64,
    /// Cookie of that namespace. It tells the namespace from a later one: an inode number is used
    /// again once its namespace is gone. `None` before Linux 5.14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<u64>,
    /// The process that the change belongs to. While it lives, no other process undoes the change
    /// unasked.
    pub owner: Owner,
    pub change: Change,
}

/// A kind of change, with all that its undo needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A rig that outlives the command that built it.
    Rig(RigChange),
    /// A lever that was set.
    Lever(LeverChange),
}

/// What a lever has set, and the values before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeverChange {
    /// The lever's name in the catalogue.
    pub lever: String,
    /// The steps in the order in which they were made.
    pub steps: Vec<Step>,
    /// Index of the network device that the steps concern. A device can be renamed, and another may
    /// have its name by then (netdevice(7), `SIOCGIFINDEX`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_index: Option<u32>,
    /// Whether the lever was still being set when this was written. A knob that rounds may then
    /// hold neither the old nor the new value, and still be set by us.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_under_way: bool,
    /// When the lever is put back unless it is confirmed: ms of the clock since boot that includes
    /// sleep (`CLOCK_BOOTTIME`); `None` for a lever that stays set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_at_ms: Option<u64>,
    /// Whether the lever is set only while its owner runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
    /// Why the last attempt to put it back failed; `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Grace period after the end of a trial, ms: the process that puts it back may be doing so just
/// then.
const GUARDS_MOMENT_MS: u64 = 1_000;

impl LeverChange {
    /// Whether the trial is over and was not put back: the process that should do so was killed, or
    /// tries without success. `now_ms` is a time of `CLOCK_BOOTTIME`.
    pub fn is_overdue(&self, now_ms: u64) -> bool {
        self.reverts_at_ms
            .is_some_and(|at_ms| at_ms + GUARDS_MOMENT_MS <= now_ms)
    }
}

/// A rig that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigChange {
    /// The name by which the user refers to the rig.
    pub name: RigName,
    pub topology: Topology,
    /// The hosts of the rig; empty until it is built.
    pub hosts: Vec<HeldHost>,
    /// Inode of the UTS namespace of the rig's holder, which the rig's programs share; 0 until it
    /// is built.
    #[serde(default)]
    pub uts_namespace: u64,
}

impl Entry {
    /// Whether the calling thread is in the network namespace in which the change was made.
    pub fn is_of_here(&self) -> bool {
        current_network_inode().is_ok_and(|here| self.is_of(here, current_network_cookie().ok()))
    }

    /// Whether the change was made in the network namespace with this inode and this cookie. The
    /// cookies are compared only where both are known.
    pub(crate) fn is_of(&self, inode: u64, cookie: Option<u64>) -> bool {
        let is_another = self
            .cookie
            .zip(cookie)
            .is_some_and(|(ours, its)| ours != its);
        self.namespace == inode && !is_another
    }

    /// Whether the machine has been restarted since the change was made.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn is_of_another_boot(&self) -> std::io::Result<bool> {
        Ok(self.boot_id != boot_id()?)
    }
}
