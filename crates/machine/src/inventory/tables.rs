//! The words of the inventory, which are the tables of `inventory.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

pub(crate) static TABLES: LazyLock<Tables> =
    LazyLock::new(|| crate::tables::own(include_str!("../../inventory.toml")));

/// What each is, the file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    /// Files, and what is missing without them.
    pub(super) sources: Vec<(String, String)>,
    /// Name, module and a function.
    pub(super) parts: Vec<(String, String, String)>,
    /// Names of lines, and the units of their values.
    pub(super) limits: Vec<(String, String)>,
    pub(super) capabilities: Vec<(u32, String)>,
    pub(super) device_flags: Vec<(u32, String)>,
    pub(super) device_states: Vec<String>,
    pub(super) device_prefixes: Vec<String>,
    pub(super) mount_points: Vec<String>,
    pub(super) pci_classes: Vec<(String, String)>,
    pub(super) usb_classes: Vec<(String, String)>,
    pub(crate) makers: Vec<(String, String)>,
    pub(crate) clocks: Vec<(String, String)>,
    pub(super) setting: Vec<Meanings>,
}

/// A sysctl by its name with dots, and what its values mean, the first that the value is at most.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meanings {
    pub(super) name: String,
    pub(super) meanings: Vec<(i64, String)>,
}

/// The names of the bits that are set.
pub(super) fn named_bits(names: &[(u32, String)], bits: u64) -> Vec<String> {
    let set = names.iter().filter(|(bit, _)| bits >> bit & 1 == 1);
    set.map(|(_, name)| name.clone()).collect()
}
