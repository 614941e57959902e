//! A share of the machine's memory. It limits how much of it a lever may give away.

use serde::Deserialize;

use crate::tree::Tree;

/// The share 1/`one_of` of the memory.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Share {
    one_of: i64,
    unit: Unit,
}

/// The unit in which a setting counts memory.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Bytes,
    Kib,
    Pages,
    /// Entries of the tables of receive flow steering (RFS), 8 bytes each.
    Flows,
}

impl Unit {
    fn bytes(self) -> i64 {
        match self {
            Self::Bytes => 1,
            Self::Kib => 1024,
            Self::Pages => page_bytes(),
            Self::Flows => 8,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Kib => "KiB",
            Self::Pages => "pages",
            Self::Flows => "entries of 8 bytes",
        }
    }
}

impl Share {
    /// The share in units, at most what the kernel's `int` holds. `None` if the kernel does not
    /// report how much memory there is.
    pub(super) fn units(self, tree: &Tree) -> Option<i64> {
        let bytes = i64::try_from(tree.memory_kib()?).ok()?.checked_mul(1024)?;
        let units = bytes / self.one_of / self.unit.bytes();
        Some(units.min(i64::from(i32::MAX)))
    }

    /// Whether a number of units is within the share, or the share is unknown.
    pub(super) fn has(self, number: i64, tree: &Tree) -> bool {
        self.units(tree).is_none_or(|most| number <= most)
    }

    /// Describes the share of any machine, as a page of the documentation does.
    pub(super) fn words(self) -> String {
        format!("1/{} of the memory in {}", self.one_of, self.unit.word())
    }

    /// Describes the share of this machine, with its number of units.
    pub(super) fn words_at(self, tree: &Tree) -> String {
        let units = self.units(tree).map(|units| format!("{units}, "));
        units.unwrap_or_default() + &self.words()
    }
}

fn page_bytes() -> i64 {
    /// The page size if the kernel does not report it, bytes.
    const USUAL: i64 = 4096;
    let told = sys::mapped_file::page_bytes().ok();
    told.and_then(|bytes| bytes.try_into().ok())
        .unwrap_or(USUAL)
}
