//! What is left of a folder of ours when its owner is gone: processes that work in it, and the folder:
//! of a service whose keeper was killed, and of commands that left programs behind. One that went to
//! another folder is not found, as what calls daemon(3) goes to `/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sys::pidfd::{self, Order};

/// A killed process is gone at once but for one that waits for a device.
const LONGEST: Duration = Duration::from_secs(5);

/// Kills the processes that work in the folder or below it, and takes it away. A process with a
/// terminal is left alone: somebody looks at the folder.
///
/// The folder may lie in a public place and belong to `nobody`, who could have put a link there to
/// anywhere: that goes by itself, and where it leads is not looked at.
pub(crate) fn clear(folder: &Path) {
    // One that is not there was never made.
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    if !found.is_dir() {
        let _ = fs::remove_file(folder);
        return;
    }
    let Some(real) = place_of(folder) else {
        return;
    };
    sys::clock::wait_until(LONGEST, || {
        let left = processes_in(&real);
        for pid in &left {
            kill(*pid, &real);
        }
        left.is_empty()
    });
    let _ = fs::remove_dir_all(folder);
}

/// Where it is, as processes show it: without links on the way there. Its own name is not followed,
/// whatever stands there by now.
fn place_of(folder: &Path) -> Option<PathBuf> {
    let above = folder.parent()?.canonicalize().ok()?;
    Some(above.join(folder.file_name()?))
}

fn processes_in(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse().ok());
    pids.filter(|pid| works_in(*pid, folder)).collect()
}

fn works_in(pid: u32, folder: &Path) -> bool {
    let here = fs::read_link(format!("/proc/{pid}/cwd"));
    here.is_ok_and(|here| here.starts_with(folder)) && !has_terminal(pid)
}

/// The seventh field of `/proc/PID/stat` (proc_pid_stat(5)) is 0 without one; the name before it,
/// in parentheses, may hold anything.
fn has_terminal(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let terminal = after_name.split_whitespace().nth(4);
    terminal.is_some_and(|number| number != "0")
}

/// The number could have gone to another process meanwhile, so it is looked at again once it
/// cannot any more.
fn kill(pid: u32, folder: &Path) {
    if let Ok(process) = pidfd::open_any(pid)
        && works_in(pid, folder)
    {
        let _ = pidfd::send(&process, Order::Kill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A process that works in a folder, out of any terminal's reach.
    fn sleeper(folder: &Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").current_dir(folder);
        sys::process::detach(&mut command);
        command.spawn().unwrap()
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_goes_and_nothing_where_it_leads() {
        let root = std::env::temp_dir().join(format!("linerate-leftovers-{}", std::process::id()));
        let (folder, link) = (root.join("folder"), root.join("link"));
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let mut works = sleeper(&folder);
        clear(&link);
        let survived = works.try_wait().unwrap().is_none() && folder.is_dir();
        let link_is_gone = fs::symlink_metadata(&link).is_err();
        clear(&folder);
        let killed = sys::clock::wait_until(LONGEST, || works.try_wait().unwrap().is_some());
        let left = fs::read_dir(&root).unwrap().count();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!((survived, link_is_gone), (true, true));
        assert_eq!((killed, left), (true, 0));
    }
}
