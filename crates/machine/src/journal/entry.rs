//! What an entry says.

use model::Topology;
use model::rig::RigName;
use serde::{Deserialize, Serialize};
use sys::namespace::{current_network_cookie, current_network_inode};

use super::owner::{Owner, boot_id};
use crate::levers::Step;
use crate::rig::HeldHost;

/// One change that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// By which the journal knows it; no two that stand have the same.
    pub id: u64,
    /// The boot in which it was made; no namespace and no process is older.
    pub boot_id: String,
    /// Inode of the network namespace in which it was made. An undo belongs into no other.
    pub namespace: u64,
    /// Cookie of that namespace: the inode is another's, once it is gone. `None` before Linux 5.14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<u64>,
    /// Who holds it. While he lives, nobody else undoes it unasked.
    pub owner: Owner,
    pub change: Change,
}

/// A kind of change, with what its undo needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A rig that outlives the command that put it up.
    Rig(RigChange),
    /// A lever that was set.
    Lever(LeverChange),
}

/// What a lever has set, and what stood there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeverChange {
    /// By its name in the catalogue.
    pub lever: String,
    /// In the order in which they were set.
    pub steps: Vec<Step>,
    /// Number of the network device that they are of: it is called otherwise when it is renamed, and
    /// another may have its name by then (netdevice(7), `SIOCGIFINDEX`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_index: Option<u32>,
    /// Whether it was still being set when this was written. A knob that rounds may then hold
    /// neither value, and still be ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_under_way: bool,
    /// When it is put back unless it is confirmed, ms of the clock that counts since boot, sleep
    /// included (`CLOCK_BOOTTIME`); `None` for one that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_at_ms: Option<u64>,
    /// Whether it is set for no longer than its owner runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
    /// Why the last try to put it back was in vain; `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// How long after its time a trial may still stand: the process that puts it back is just doing so.
const GUARDS_MOMENT_MS: u64 = 1_000;

impl LeverChange {
    /// Whether its time is over and it was not put back: the process that was to do so was killed, or
    /// tries in vain. `now_ms` is of `CLOCK_BOOTTIME`.
    pub fn is_overdue(&self, now_ms: u64) -> bool {
        self.reverts_at_ms
            .is_some_and(|at_ms| at_ms + GUARDS_MOMENT_MS <= now_ms)
    }
}

/// A rig that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigChange {
    /// By which its owner knows it.
    pub name: RigName,
    pub topology: Topology,
    /// Empty until it is built.
    pub hosts: Vec<HeldHost>,
    /// Inode of its holder's UTS namespace, which its programs share; 0 until it is built.
    #[serde(default)]
    pub uts_namespace: u64,
}

impl Entry {
    /// Whether this thread is in the network namespace in which it was made.
    pub fn is_of_here(&self) -> bool {
        current_network_inode().is_ok_and(|here| self.is_of(here, current_network_cookie().ok()))
    }

    /// Whether it was made in the network namespace of this inode and this cookie, as far as either is known.
    pub(crate) fn is_of(&self, inode: u64, cookie: Option<u64>) -> bool {
        let is_another = self
            .cookie
            .zip(cookie)
            .is_some_and(|(ours, its)| ours != its);
        self.namespace == inode && !is_another
    }

    /// Whether the machine has been started again since.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn is_of_another_boot(&self) -> std::io::Result<bool> {
        Ok(self.boot_id != boot_id()?)
    }
}
