//! How the kernel was started, and how a person has it started otherwise.

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
    /// Options of the command line that are told.
    told: Vec<String>,
    loader: Vec<Loader>,
    unknown: Loader,
}

/// What is told of this machine's boot, and of how it starts with what a lever of the boot wants:
/// such a lever is called as its option of the kernel is.
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
        TABLES.told.iter().any(|told| told == name)
    };
    let told = command_line.split_whitespace().filter(is_told);
    told.map(str::to_owned).collect()
}

fn warning(lever: &str) -> String {
    levers::find(lever).map_or_else(String::new, |lever| lever.hurts.clone())
}
