//! The words of the inventory: the tables of `inventory.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

pub(crate) static TABLES: LazyLock<Tables> =
    LazyLock::new(|| crate::tables::own(include_str!("../../inventory.toml")));

/// The tables; the file explains each of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    /// Paths of files, each with what is missing without it.
    pub(super) sources: Vec<(String, String)>,
    /// Parts of the kernel: name, module, and a function that the part has.
    pub(super) parts: Vec<(String, String, String)>,
    /// Names of lines of `/proc/self/limits`, each with the unit of its value.
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

/// A sysctl by its name with dots, and the meanings of its values. A meaning holds for values up to
/// its number; the first that fits counts.
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
