//! Finds out whether the network namespace of a change still exists.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sys::namespace::NetworkNamespace;

use crate::journal::{Change, Entry};

/// Folder in which ip-netns(8) keeps namespaces that need no process.
const NAMED: &str = "/run/netns";

/// Whether a process is in the namespace, a rig of ours holds it, or it has a name. A namespace
/// that only a file descriptor of another program keeps alive is not found.
pub(super) fn is_there(entry: &Entry, all: &[Entry]) -> bool {
    let lived_in = entries_of(Path::new("/proc")).map(|process| process.join("ns/net"));
    is_of_a_rig(entry, all)
        || is_among(entries_of(Path::new(NAMED)), entry)
        || is_among(lived_in, entry)
}

fn is_of_a_rig(entry: &Entry, all: &[Entry]) -> bool {
    let rigs = all.iter().filter_map(|entry| match &entry.change {
        Change::Rig(rig) if entry.owner.is_alive() => Some(rig),
        _ => None,
    });
    rigs.flat_map(|rig| &rig.hosts)
        .any(|host| entry.is_of(host.namespace, host.cookie))
}

/// Whether one of the files is the entry's namespace. Those with its inode are all one namespace,
/// and the cookie tells it from a later one.
fn is_among(mut places: impl Iterator<Item = PathBuf>, entry: &Entry) -> bool {
    let place = places.find(|path| has_inode(path, entry.namespace));
    place.is_some_and(|path| {
        let cookie = NetworkNamespace::at(&path).and_then(|it| it.cookie());
        entry.is_of(entry.namespace, cookie.ok())
    })
}

fn entries_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// The inode number identifies a namespace as long as it exists (namespaces(7)).
fn has_inode(path: &Path, inode: u64) -> bool {
    fs::metadata(path).is_ok_and(|found| found.ino() == inode)
}
