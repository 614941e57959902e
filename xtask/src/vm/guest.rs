//! The guests: which kernels there are to boot, and where they come from.

use anyhow::Context as _;

/// A kernel to boot, by the name that `--guest` takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) name: &'static str,
    /// Where its package stands: a folder of the mirror, and a suite below it.
    pub(super) suites: &'static [(&'static str, &'static str)],
}

/// Every guest, the usual one first.
pub(crate) const GUESTS: [Guest; 2] = [
    Guest {
        name: "6.1",
        suites: &[
            ("debian", "bookworm"),
            ("debian-security", "bookworm-security"),
        ],
    },
    Guest {
        name: "newer",
        suites: &[("debian", "bookworm-backports")],
    },
];

/// The guest that is taken where none is named.
pub(crate) const fn usual() -> &'static Guest {
    &GUESTS[0]
}

/// The guest of that name.
pub(super) fn named(name: &str) -> anyhow::Result<&'static Guest> {
    let found = GUESTS.iter().find(|guest| guest.name == name);
    found.with_context(|| {
        let names = GUESTS.map(|guest| guest.name);
        format!("there is no guest `{name}`; there are {}", names.join(", "))
    })
}
