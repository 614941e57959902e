//! Checks the folder that a file server gets. Everyone who reaches the server can ask for every
//! file there that the server's user may read. Every user of the machine reaches it, and other
//! machines do where it listens for them.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use model::failure::Failure;
use sys::descent::Descent;

use super::failed;

/// The most entries that are checked; a folder with more is refused.
const MOST_ENTRIES: usize = 10_000;
const READ: u32 = 0o004;
const ENTER: u32 = 0o001;

/// Refuses a folder through which the server would show others what they may not read. Besides the
/// file itself the folder may hold only what they may read anyway; a server that root starts reads
/// no more than that. Where others than this machine reach the server, it may hold nothing else.
pub(super) fn check_open(folder: &Path, file: &Path, ip: IpAddr) -> Result<(), Failure> {
    if !ip.to_canonical().is_loopback() {
        return check_alone(folder, file);
    }
    let descent = Descent::from_here().map_err(|error| failed("/proc/self/uid_map", &error))?;
    if descent != Descent::Stay {
        return Ok(());
    }
    let closed = closed_to_others(folder, file);
    let closed = closed.map_err(|error| failed(&folder.display().to_string(), &error))?;
    let Some(closed) = closed else {
        return Ok(());
    };
    Err(Failure {
        what: format!(
            "through a server of {} every user of this machine could read what is closed to them: {closed}",
            folder.display()
        ),
        advice: "put the file, or a hard link to it, into a folder of its own".to_owned(),
    })
}

fn check_alone(folder: &Path, file: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| failed(&folder.display().to_string(), &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path != file {
            return Err(Failure {
                what: format!(
                    "whoever reaches the server of {} could read more than the file: {} is there",
                    folder.display(),
                    path.display()
                ),
                advice: "put the file, or a hard link to it, into a folder of its own".to_owned(),
            });
        }
    }
    Ok(())
}

/// Finds the first entry below the folder that others may not read or reach, in words.
fn closed_to_others(folder: &Path, file: &Path) -> io::Result<Option<String>> {
    let mut is_reachable = true;
    for ancestor in folder.ancestors() {
        is_reachable &= others_may(ancestor, ENTER)?;
    }
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let (path, kind) = {
                let entry = entry?;
                (entry.path(), entry.file_type()?)
            };
            looked_at += 1;
            let wanted = if kind.is_dir() { READ | ENTER } else { READ };
            // A link counts as closed: its own mode does not say who may read what it leads to.
            let is_open = is_reachable && !kind.is_symlink() && others_may(&path, wanted)?;
            if looked_at > MOST_ENTRIES {
                return Ok(Some(format!("more than {MOST_ENTRIES} files, not checked")));
            }
            if path != file && !is_open {
                return Ok(Some(path.display().to_string()));
            }
            if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(None)
}

fn others_may(path: &Path, bits: u32) -> io::Result<bool> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    Ok(mode & bits == bits)
}
