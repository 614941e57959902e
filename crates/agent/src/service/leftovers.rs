//! Clears a folder of ours whose owner is gone: kills the processes that came from there, and
//! removes the folder. Such a folder is left by a service whose keeper was killed, or by commands
//! that left programs behind.
//!
//! The name of a folder of ours contains a random number. It is written to our register before the
//! folder is made, and is known otherwise only to what is started in the folder, as its home. So no
//! folder and no process of others is taken for ours.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::failure::Failure;
use sys::folder::Folder;
use sys::pidfd::{self, EndSignal};

/// How long killed processes may take to end: only one that waits for a device does not end at
/// once.
const LONGEST: Duration = Duration::from_secs(5);
/// Hexadecimal digits of the random number. They are few, since the path of a socket in the folder
/// has at most 107 bytes (unix(7)).
const DIGITS: usize = 16;

/// An unpredictable path for a new folder of ours of one kind.
pub(crate) fn new_path(above: &Path, kind: &str) -> PathBuf {
    let number = sys::random::bytes().expect("a machine that runs programs has random numbers");
    let number = u64::from_be_bytes(number);
    // Where this fails, the current folder no longer exists, and nothing can be made in it.
    let above = std::path::absolute(above).unwrap_or_else(|_| above.to_owned());
    above.join(format!("linerate-{kind}-{number:0DIGITS$x}"))
}

/// Opens the folder above one of ours, which need not exist yet. Returns it with its path without
/// links.
///
/// # Errors
/// When somebody else could replace our folder, or its path was not made by [`new_path`].
pub(super) fn place_of(folder: &Path) -> Result<(Folder, PathBuf), Failure> {
    let failed = |what: &str| Failure {
        what: format!("{}: {what}", folder.display()),
        advice: "set TMPDIR to a folder in which nobody else can rename what is yours, or unset it"
            .to_owned(),
    };
    let above = folder.parent().filter(|_| is_new_path(folder));
    let above = above.ok_or_else(|| failed("that is no folder of ours"))?;
    let opened = above.canonicalize().and_then(|real| {
        let above = Folder::open(&real)?;
        Ok((above.keeps_ours()?, above, real))
    });
    match opened {
        Ok((true, above, real)) => Ok((above, real)),
        Ok((false, ..)) => Err(failed("others could put something else in its place")),
        Err(error) => Err(failed(&error.to_string())),
    }
}

/// Makes a folder of ours, which only we may enter.
///
/// # Errors
/// Those of [`place_of`], and those of making a folder.
pub(crate) fn make(folder: &Path) -> Result<Folder, Failure> {
    let (above, _) = place_of(folder)?;
    let made = above.make(folder.file_name().unwrap_or_default());
    made.map_err(|error| Failure {
        what: format!("making {}: {error}", folder.display()),
        advice: "check free space and permissions there, or set TMPDIR to another folder"
            .to_owned(),
    })
}

/// Kills the processes that came from a folder of ours, and removes the folder. It does so with the
/// rights of the folder's owner, so that nothing is removed that the owner could not remove.
///
/// A folder is left alone when it was never made, when others could replace it, or when its name is
/// not one that we give.
pub(crate) fn clear(folder: &Path) {
    let Some(left) = Left::find(folder) else {
        return;
    };
    if left.owner == sys::user::ours() {
        left.clear();
    } else {
        // Only root may act as another user; for others this fails.
        let _ = sys::user::act_as(left.owner, || left.clear());
    }
}

/// A folder of ours that exists, or what was put in its place.
struct Left {
    above: Folder,
    name: OsString,
    owner: u32,
    /// Its path as its programs were given it.
    given: PathBuf,
    /// Its path as `/proc` shows it: without links on the way there.
    real: PathBuf,
}

impl Left {
    fn find(folder: &Path) -> Option<Self> {
        let (above, real) = place_of(folder).ok()?;
        let name = folder.file_name()?;
        let found = fs::symlink_metadata(above.path_of(name).ok()?).ok()?;
        Some(Self {
            above,
            name: name.to_owned(),
            owner: found.uid(),
            given: folder.to_owned(),
            real: real.join(name),
        })
    }

    fn clear(&self) {
        sys::clock::wait_until(LONGEST, || {
            let left = self.processes();
            for pid in &left {
                self.kill(*pid);
            }
            left.is_empty()
        });
        let _ = self.above.remove(&self.name);
    }

    fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let pids = names.filter_map(|name| name.parse().ok());
        pids.filter(|pid| self.is_from_here(*pid)).collect()
    }

    /// Whether a process was started in the folder, or by one that was. Some programs overwrite
    /// their environment with their title. So a process also counts that has no `HOME`, works in
    /// the folder and has no terminal.
    fn is_from_here(&self, pid: u32) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variables = || environment.split(|byte| *byte == 0).filter_map(parts_of);
        if variables().any(|(_, value)| value == self.given.as_os_str()) {
            return true;
        }
        let has_a_home = variables().any(|(name, _)| name == "HOME");
        let works_at = fs::read_link(format!("/proc/{pid}/cwd"));
        !has_a_home && works_at.is_ok_and(|at| at.starts_with(&self.real)) && !has_terminal(pid)
    }

    /// Kills a process. Its number could have gone to another process in the meantime, so the
    /// process is checked again once an open pidfd keeps the number from changing hands.
    fn kill(&self, pid: u32) {
        if let Ok(process) = pidfd::open_any(pid)
            && self.is_from_here(pid)
        {
            let _ = pidfd::send(&process, EndSignal::Kill);
        }
    }
}

/// Name and value of a variable.
fn parts_of(variable: &[u8]) -> Option<(&OsStr, &OsStr)> {
    let at = variable.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&variable[..at], &variable[at + 1..]);
    Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
}

/// Whether a path could be one of [`new_path`].
fn is_new_path(path: &Path) -> bool {
    kind_of(path).is_some()
}

/// The kind of a path as [`new_path`] makes them.
pub(crate) fn kind_of(path: &Path) -> Option<&str> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let (kind, digits) = name.strip_prefix("linerate-")?.rsplit_once('-')?;
    let is_random = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (path.is_absolute() && is_random).then_some(kind)
}

/// Whether a process has a terminal. Without one, the seventh field of `/proc/PID/stat`
/// (proc_pid_stat(5)) is 0; the name before it, in parentheses, may contain anything.
fn has_terminal(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let terminal = after_name.split_whitespace().nth(4);
    terminal.is_some_and(|number| number != "0")
}
