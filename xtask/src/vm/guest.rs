//! The guests: which kernels there are to boot, and where they come from.

use anyhow::Context as _;

/// A kernel to boot, by the name that `--guest` takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) name: &'static str,
    pub(super) origin: Origin,
    /// Where its package stands: a folder of the mirror, and a suite below it.
    pub(super) suites: &'static [(&'static str, &'static str)],
}

/// What a kernel is made from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The kernel that Debian builds, whose clocks of processes hold the time of interrupts.
    Package,
    /// Debian's source, built here to keep that time apart, which no kernel of Debian's does. It has few
    /// drivers, no modules, and no network card.
    Source,
}

const BOOKWORM: &[(&str, &str)] = &[
    ("debian", "bookworm"),
    ("debian-security", "bookworm-security"),
];

/// Every guest, the usual one first.
pub(crate) const GUESTS: [Guest; 3] = [
    Guest {
        name: "6.1",
        origin: Origin::Package,
        suites: BOOKWORM,
    },
    Guest {
        name: "newer",
        origin: Origin::Package,
        suites: &[("debian", "bookworm-backports")],
    },
    Guest {
        name: "irq-time",
        origin: Origin::Source,
        suites: BOOKWORM,
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
