//! Whether a network namespace that a change was made in is still there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::journal::{Change, Entry};

/// Where ip-netns(8) keeps namespaces without a process.
const NAMED: &str = "/run/netns";

/// Whether a process is in it, a rig of ours holds it, or it has a name. What else may hold one,
/// a descriptor of somebody else's, is not looked for.
pub(super) fn is_there(namespace: u64, entries: &[Entry]) -> bool {
    is_of_a_rig(namespace, entries) || is_named(namespace) || is_lived_in(namespace)
}

fn is_of_a_rig(namespace: u64, entries: &[Entry]) -> bool {
    let rigs = entries.iter().filter_map(|entry| match &entry.change {
        Change::Rig(rig) if entry.owner.is_alive() => Some(rig),
        _ => None,
    });
    rigs.flat_map(|rig| &rig.hosts)
        .any(|host| host.namespace == namespace)
}

fn is_named(namespace: u64) -> bool {
    entries_of(Path::new(NAMED)).any(|path| has_inode(&path, namespace))
}

fn is_lived_in(namespace: u64) -> bool {
    entries_of(Path::new("/proc")).any(|process| has_inode(&process.join("ns/net"), namespace))
}

fn entries_of(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// The inode of a namespace is its identity for as long as it lives (namespaces(7)).
fn has_inode(path: &Path, inode: u64) -> bool {
    fs::metadata(path).is_ok_and(|found| found.ino() == inode)
}
