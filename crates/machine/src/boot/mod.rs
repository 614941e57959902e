//! How the kernel was started, and how a person has it started otherwise.

mod loader;

use model::lever::LeverSetting;
use model::reboot::{Boot, BootChange, BootTell};

use crate::tree::Tree;
use crate::{journal, levers};

/// Options of the command line that bear on speed; it may hold secrets too, so no other is told.
const TOLD: [&str; 60] = [
    "amd_pstate",
    "apparmor",
    "audit",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.governor",
    "default_hugepagesz",
    "gather_data_sampling",
    "hugepages",
    "hugepagesz",
    "idle",
    "indirect_target_selection",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kpti",
    "kvm.nx_huge_pages",
    "l1tf",
    "lsm",
    "maxcpus",
    "mds",
    "mem",
    "mitigations",
    "mmio_stale_data",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nokaslr",
    "nopti",
    "nosmt",
    "nospec_store_bypass_disable",
    "nospectre_bhb",
    "nospectre_v1",
    "nospectre_v2",
    "nowatchdog",
    "nr_cpus",
    "preempt",
    "processor.max_cstate",
    "pti",
    "rcu_nocbs",
    "reg_file_data_sampling",
    "retbleed",
    "selinux",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_bhi",
    "spectre_v2",
    "spectre_v2_user",
    "srbds",
    "ssbd",
    "transparent_hugepage",
    "tsa",
    "tsc",
    "tsx_async_abort",
    "vmscape",
];

/// What is told of this machine's boot, and of how it starts with what a lever of the boot wants:
/// such a lever is called as its option of the kernel is.
#[must_use]
pub fn tell(wanted: &LeverSetting) -> BootTell {
    let tree = Tree::of_this_machine();
    let boot = Boot {
        // A machine that does not say which boot this is has none that is like another's.
        boot_id: journal::boot_id().unwrap_or_default(),
        kernel_build: tree.text("proc/sys/kernel/version").unwrap_or_default(),
        options: options(&tree.text("proc/cmdline").unwrap_or_default()),
    };
    let option = wanted.to_string();
    BootTell {
        change: BootChange {
            warning: warning(&wanted.name),
            ..loader::change(&tree, &option, boot.settles(&option))
        },
        boot,
    }
}

/// Whether this is how a machine, whatever it is, has a boot started with an option: words that we
/// would say ourselves. Its warning is a sentence and is not looked at.
#[must_use]
pub fn knows(option: &str, boot: &Boot, change: &BootChange) -> bool {
    let said = |known: &BootChange| {
        (&known.loader, &known.make, &known.undo) == (&change.loader, &change.make, &change.undo)
    };
    loader::all(option, boot.settles(option)).iter().any(said)
}

/// The options of a command line that are told.
pub(crate) fn options(command_line: &str) -> Vec<String> {
    let is_told = |option: &&str| {
        let name = option.split('=').next().unwrap_or_default();
        TOLD.contains(&name)
    };
    let told = command_line.split_whitespace().filter(is_told);
    told.map(str::to_owned).collect()
}

fn warning(lever: &str) -> String {
    levers::find(lever).map_or_else(String::new, |lever| lever.hurts.clone())
}
