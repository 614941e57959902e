//! The namespace of our own that live levers need: they set rules and taps there and nowhere else.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;

use sys::namespace::{NetworkNamespace, current_network_inode};

/// Inode of the network namespace that this process made or was put into; unset until then.
static OURS: OnceLock<u64> = OnceLock::new();

/// Open lists of the TCP sockets of the machine's namespace. An open file of `/proc/net` keeps
/// showing the namespace in which it was opened.
static LEFT_BEHIND: OnceLock<Vec<File>> = OnceLock::new();

/// The machine's namespace, if we have left it and may enter it again.
static THE_MACHINES: OnceLock<NetworkNamespace> = OnceLock::new();

/// The name of this process in `/proc`.
const OURSELVES: &str = "self";

/// Proof that the calling thread is in a network namespace that this process made, or that a rig
/// of ours made for it, so that nothing set there can touch the machine. Only [`enter`], [`adopt`]
/// and [`ours`] make one.
#[derive(Clone, Copy, Debug)]
pub struct PrivateNamespace(());

/// Moves this process into a network namespace of its own. Call it before the first thread is
/// started.
///
/// # Errors
/// `EPERM` or `ENOSPC` if user namespaces are forbidden; `EINVAL` in a process with threads.
pub fn enter() -> io::Result<PrivateNamespace> {
    let before = current_network_inode()?;
    let lists = open_tcp_lists(OURSELVES)?;
    let machines = NetworkNamespace::of(std::process::id());
    sys::namespace::enter_private()?;
    let inside = current_network_inode()?;
    if inside == before {
        return Err(io::Error::other(
            "the network namespace is still the old one",
        ));
    }
    keep(inside, lists, machines)
}

/// Accepts the network namespace in which this process was started as one that a rig made, if it
/// has the inode that the rig knows. The parent is in the machine's namespace, and its lists of
/// sockets are the machine's.
///
/// # Errors
/// If this process is in another namespace than that, or in its parent's.
pub fn adopt(inode: u64) -> io::Result<PrivateNamespace> {
    let parent = std::os::unix::process::parent_id();
    if current_network_inode()? != inode {
        return Err(io::Error::other(
            "this process is in another network namespace than its rig's",
        ));
    }
    match fs::metadata(format!("/proc/{parent}/ns/net")) {
        Ok(theirs) if theirs.ino() == inode => {
            return Err(io::Error::other(
                "the network namespace is that of the process that started this one",
            ));
        }
        // A process that was put into a user namespace may not see it. Its parent's network
        // namespace is then another one.
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        _ => {}
    }
    let lists = open_tcp_lists(&parent.to_string())?;
    keep(inode, lists, NetworkNamespace::of(parent))
}

fn keep(
    inode: u64,
    lists: Vec<File>,
    machines: io::Result<NetworkNamespace>,
) -> io::Result<PrivateNamespace> {
    if let Ok(machines) = machines {
        THE_MACHINES.get_or_init(|| machines);
    }
    OURS.set(inode)
        .map_err(|_| io::Error::other("a private namespace was entered before"))?;
    // If the kernel refuses, the levers of devices report that `/sys` shows other devices than
    // ours.
    let _ = sys::own_devices::show();
    LEFT_BEHIND.get_or_init(|| lists);
    Ok(PrivateNamespace(()))
}

/// Does some work in the machine's network namespace, since some settings of the whole machine are
/// shown nowhere else. A thread enters it, does the work and ends.
///
/// # Errors
/// `EPERM` in a process that left the machine's namespace by way of a user namespace.
///
/// # Panics
/// If `work` panics.
pub fn in_the_machines<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let Some(machines) = THE_MACHINES.get() else {
        return Ok(work());
    };
    let there = || machines.enter().map(|()| work());
    let outcome = std::thread::scope(|scope| scope.spawn(there).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads the texts of `/proc/net/tcp` and `tcp6` of the machine, that is, of the network namespace
/// that this process began in, whether it has left it or not.
///
/// # Errors
/// Those of opening or reading a file.
#[expect(
    clippy::verbose_file_reads,
    reason = "the files were opened in the namespace that was left"
)]
pub fn tcp_lists_of_the_machine() -> io::Result<String> {
    let opened;
    let lists = match LEFT_BEHIND.get() {
        Some(lists) => lists,
        None => {
            opened = open_tcp_lists(OURSELVES)?;
            &opened
        }
    };
    let mut text = String::new();
    for mut list in lists {
        list.rewind()?;
        list.read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Opens the lists of the namespace that a process is in, for both IP versions. A kernel without
/// IPv6 lacks the second.
fn open_tcp_lists(process: &str) -> io::Result<Vec<File>> {
    let list = |name| File::open(format!("/proc/{process}/net/{name}"));
    let mut lists = vec![list("tcp")?];
    lists.extend(list("tcp6").ok());
    Ok(lists)
}

/// Returns the proof again, once [`enter`] or [`adopt`] has succeeded.
///
/// # Errors
/// Says why there is no proof.
pub fn ours() -> Result<PrivateNamespace, &'static str> {
    let Some(ours) = OURS.get() else {
        return Err("it is only set in a network namespace of our own, and there is none");
    };
    match current_network_inode() {
        Ok(current) if current == *ours => Ok(PrivateNamespace(())),
        _ => Err("it is only set in our own network namespace, and this thread has left it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_no_rig_made_is_not_adopted() {
        let words = |inode| adopt(inode).unwrap_err().to_string();
        assert!(words(1).contains("another network namespace than its rig's"));
        let shared = words(current_network_inode().unwrap());
        assert!(
            shared.contains("the process that started this one"),
            "{shared}"
        );
    }

    #[test]
    fn without_entering_there_is_no_proof() {
        assert!(ours().unwrap_err().ends_with("there is none"));
    }
}
