//! What is left of a folder of ours when its owner is gone: processes that came from there, and the
//! folder: of a service whose keeper was killed, and of commands that left programs behind.
//!
//! A folder of ours has a name with a random number in it, which stands in our register before the
//! folder is made, and nowhere else but with what is started in it, as its home. So neither a folder
//! nor a process is taken for ours that is not.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::failure::Failure;
use sys::folder::Folder;
use sys::pidfd::{self, EndSignal};

/// A killed process is gone at once but for one that waits for a device.
const LONGEST: Duration = Duration::from_secs(5);
/// Digits of the random number, hexadecimal: the path of a socket below has 107 bytes at most
/// (unix(7)).
const DIGITS: usize = 16;

/// A path for a new folder of ours, of one kind, that nobody can foretell.
pub(crate) fn new_path(above: &Path, kind: &str) -> PathBuf {
    let number = sys::random::bytes().expect("a machine that runs programs has random numbers");
    let number = u64::from_be_bytes(number);
    // A folder that is no more is no place anyway.
    let above = std::path::absolute(above).unwrap_or_else(|_| above.to_owned());
    above.join(format!("linerate-{kind}-{number:0DIGITS$x}"))
}

/// Opens the folder in which one of ours is or is to be made, and says where that is without links.
///
/// # Errors
/// When somebody else could put another in the place of ours, or its path is none of [`new_path`].
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
/// As [`place_of`], and those of making a folder.
pub(crate) fn make(folder: &Path) -> Result<Folder, Failure> {
    let (above, _) = place_of(folder)?;
    let made = above.make(folder.file_name().unwrap_or_default());
    made.map_err(|error| Failure {
        what: format!("making {}: {error}", folder.display()),
        advice: "see to room and permissions there, or set TMPDIR to another folder".to_owned(),
    })
}

/// Kills the processes that came from a folder of ours, and takes it away: with the rights of the user
/// whose it is, so that nothing goes that he could not take away himself.
///
/// A folder that was never made, lies where others could exchange it, or is of no name that we
/// give is left alone.
pub(crate) fn clear(folder: &Path) {
    let Some(left) = Left::find(folder) else {
        return;
    };
    if left.owner == sys::user::ours() {
        left.clear();
    } else {
        // Whoever is not root is refused.
        let _ = sys::user::act_as(left.owner, || left.clear());
    }
}

/// A folder of ours that is there, or what was put in its place.
struct Left {
    above: Folder,
    name: OsString,
    owner: u32,
    /// As its programs were told.
    told: PathBuf,
    /// As processes show it: without links on the way there.
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
            told: folder.to_owned(),
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

    /// Whether a process was started in the folder, or by one that was. Some programs overwrite their
    /// environment with their title: one without any home that works here, and that nobody looks at,
    /// is such a one.
    fn is_from_here(&self, pid: u32) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variables = || environment.split(|byte| *byte == 0).filter_map(parts_of);
        if variables().any(|(_, value)| value == self.told.as_os_str()) {
            return true;
        }
        let has_a_home = variables().any(|(name, _)| name == "HOME");
        let works_at = fs::read_link(format!("/proc/{pid}/cwd"));
        !has_a_home && works_at.is_ok_and(|at| at.starts_with(&self.real)) && !has_terminal(pid)
    }

    /// The number could have gone to another process meanwhile, so it is looked at again once it
    /// cannot any more.
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

/// The seventh field of `/proc/PID/stat` (proc_pid_stat(5)) is 0 without one; the name before it,
/// in parentheses, may hold anything.
fn has_terminal(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let terminal = after_name.split_whitespace().nth(4);
    terminal.is_some_and(|number| number != "0")
}
