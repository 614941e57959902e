//! The guests: which kernels can be booted, and what they are made from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::store::Wanted;

/// A kernel to boot, with the name that `--guest` takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) name: &'static str,
    pub(super) cards: Cards,
    pub(super) kernel: Wanted,
}

/// The network cards of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cards {
    /// No card that the kernel can use, and no modules: the kernel that is built here to account
    /// for the time of interrupts separately, as no kernel of Debian's does, has few drivers.
    None,
    /// Two e1000e cards on a wire of their own.
    Wire,
    /// Two virtio cards on a bridge, with a queue for each of four processors.
    Queues,
}

/// Modules of the guests' devices; `init.sh` loads them.
const DRIVERS: &str = "virtio_pci virtio_console virtio_blk ext4 e1000e";
/// Modules that a guest can load, by hand or because the kernel asks for them by an alias, as it
/// does for the ciphers of tls.
const LOADABLE: &str = "tls gcm ghash_generic ctr chacha20poly1305 tcp_bbr \
    tcp_diag udp_diag unix_diag af_packet_diag \
    sch_fq sch_fq_codel sch_netem sch_tbf sch_ingress sch_cake \
    cls_u32 cls_bpf cls_matchall act_mirred act_police \
    ifb veth tun dummy bridge vxlan ipip ip_gre wireguard virtio_net \
    nf_tables nf_conntrack nft_ct nft_limit nft_numgen";

/// Script that builds the kernel `irq-time`. It takes some minutes, once for each version and set
/// of options.
const IRQ_TIME: &str = include_str!("irq-time.sh");
const READY: &str = include_str!("kernel.sh");
const BOOKWORM: &str = "debian bookworm\ndebian-security bookworm-security";

/// Every guest, the usual one first.
pub(crate) const GUESTS: [Guest; 4] = [
    with_cards("6.1", Cards::Wire, USUAL),
    with_cards(
        "newer",
        Cards::Wire,
        of_debian("newer", "debian bookworm-backports"),
    ),
    with_cards("queues", Cards::Queues, USUAL),
    Guest {
        name: "irq-time",
        cards: Cards::None,
        kernel: Wanted {
            name: "irq-time",
            package: "linux-source-6.1",
            suites: BOOKWORM,
            finish: IRQ_TIME,
            options: Some(("irq-time.config", include_str!("irq-time.config"))),
        },
    },
];

/// The package of busybox, which provides the basic programs of every guest.
pub(super) const BUSYBOX: Wanted = Wanted {
    name: "busybox",
    package: "busybox-static",
    suites: BOOKWORM,
    finish: "",
    options: None,
};

const USUAL: Wanted = of_debian("6.1", BOOKWORM);

/// The newest kernel that Debian has in these suites.
const fn of_debian(name: &'static str, suites: &'static str) -> Wanted {
    Wanted {
        name,
        package: "linux-image-amd64",
        suites,
        finish: READY,
        options: None,
    }
}

const fn with_cards(name: &'static str, cards: Cards, kernel: Wanted) -> Guest {
    Guest {
        name,
        cards,
        kernel,
    }
}

/// The guest that is used where none is named.
pub(crate) const fn usual() -> &'static Guest {
    &GUESTS[0]
}

/// The guest with this name.
pub(super) fn named(name: &str) -> anyhow::Result<&'static Guest> {
    let found = GUESTS.iter().find(|guest| guest.name == name);
    found.with_context(|| {
        let names = GUESTS.map(|guest| guest.name);
        format!("there is no guest `{name}`; there are {}", names.join(", "))
    })
}

/// A kernel in the store, ready to boot.
pub(super) struct Kernel {
    pub(super) folder: PathBuf,
    /// The release that `uname -r` prints.
    pub(super) release: String,
    /// Modules that `init.sh` loads, then further ones that can be loaded.
    pub(super) drivers: &'static str,
    pub(super) loadable: &'static str,
}

impl Kernel {
    /// The kernel of a guest, from its folder in the store.
    pub(super) fn of(guest: &Guest, folder: PathBuf) -> anyhow::Result<Self> {
        let (drivers, loadable) = match guest.cards {
            Cards::None => ("", ""),
            Cards::Wire | Cards::Queues => (DRIVERS, LOADABLE),
        };
        Ok(Self {
            release: release_in(&folder)?,
            folder,
            drivers,
            loadable,
        })
    }

    /// The kernel image that qemu starts.
    pub(super) fn image(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }
}

/// The kernel's release: the name of the only folder of modules.
fn release_in(folder: &Path) -> anyhow::Result<String> {
    let modules = folder.join("lib/modules");
    let shown = modules.display().to_string();
    let mut names = fs::read_dir(&modules).with_context(|| shown.clone())?;
    let name = names
        .next()
        .with_context(|| format!("{shown} is empty"))??;
    ensure!(names.next().is_none(), "{shown} has modules of two kernels");
    Ok(name.file_name().to_string_lossy().into_owned())
}
