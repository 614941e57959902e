//! How the kernel was started, and how a person can start it with other options.

mod loader;

use std::sync::LazyLock;

use model::lever::LeverSetting;
use model::reboot::{Boot, BootChange, BootTell};
use serde::Deserialize;

use crate::tree::Tree;
use crate::{journal, levers};
use loader::Loader;

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| crate::tables::own(include_str!("../../boot.toml")));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    /// Options of the command line that are reported.
    told: Vec<String>,
    loader: Vec<Loader>,
    unknown: Loader,
}

/// Describes this machine's boot, and how to start it with what a boot lever wants. Such a lever
/// has the name of its kernel option.
pub fn tell(wanted: &LeverSetting) -> BootTell {
    let tree = Tree::of_this_machine();
    let boot = Boot {
        // A machine that does not report a boot id has none that could equal another's.
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

/// Whether a change is one that we would describe ourselves, on any machine, for a boot with this
/// option. Its warning is free text and is not compared.
pub fn knows(option: &str, boot: &Boot, change: &BootChange) -> bool {
    let ours = |known: &BootChange| {
        (&known.loader, &known.make, &known.undo) == (&change.loader, &change.make, &change.undo)
    };
    loader::all(option, boot.settles(option)).iter().any(ours)
}

/// The options of a command line that are reported.
pub(crate) fn options(command_line: &str) -> Vec<String> {
    let is_reported = |option: &&str| {
        let name = option.split('=').next().unwrap_or_default();
        TABLES.told.iter().any(|known| known == name)
    };
    let reported = command_line.split_whitespace().filter(is_reported);
    reported.map(str::to_owned).collect()
}

fn warning(lever: &str) -> String {
    levers::find(lever).map_or_else(String::new, |lever| lever.hurts.clone())
}
