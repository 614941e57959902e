//! A folder that nobody else may enter, for the socket of a connection.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A socket's path may have 107 bytes (unix(7)): of them 26 for our name, 8 for the socket's and 17
/// for what `ssh` appends to it until it is ready.
const LONGEST_BASE: usize = 107 - 26 - 8 - 17;
/// Where the base will not do.
const USUAL: &str = "/tmp";
/// Folders that processes of our number may have left behind.
const MOST_TRIES: u32 = 1_000;

/// Gone with everything in it when this is dropped.
#[derive(Debug)]
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one below the folder for temporary files, or in the usual place where somebody else could
    /// exchange it there.
    pub(super) fn new() -> io::Result<Self> {
        let base = short(std::env::temp_dir());
        Self::below(if keeps_ours(&base)? {
            &base
        } else {
            Path::new(USUAL)
        })
    }

    fn below(base: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let mut names = (0..MOST_TRIES).map(|number| format!("linerate-ssh-{pid}-{number}"));
        let made = names.find_map(|name| {
            let path = base.join(name);
            // It must be new: one that somebody else made in a public place could be his trap.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                made => Some(made.map(|()| Self(path))),
            }
        });
        made.unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The usual place, where a socket's path would be too long, or `ssh` would read it as another: it
/// splits the value of an option at spaces, and puts others in for `%` and `${}` (ssh_config(5)).
fn short(base: PathBuf) -> PathBuf {
    let bytes = base.as_os_str().as_bytes();
    if bytes.len() <= LONGEST_BASE && bytes.iter().copied().all(is_taken_as_it_is) {
        base
    } else {
        PathBuf::from(USUAL)
    }
}

/// Whether nobody but us and root can rename what we make in a folder: others may write to it only
/// where they cannot (inode(7), the sticky bit).
fn keeps_ours(base: &Path) -> io::Result<bool> {
    let (found, us) = (std::fs::metadata(base)?, std::fs::metadata("/proc/self")?);
    let is_shared = found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0;
    Ok([0, us.uid()].contains(&found.uid()) && !is_shared)
}

fn is_taken_as_it_is(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_left_behind_is_passed_over_and_stays() {
        let base = std::env::temp_dir().join(format!("linerate-folders-{}", std::process::id()));
        std::fs::create_dir_all(&base).unwrap();
        let left = PrivateFolder::below(&base).unwrap();
        let made = PrivateFolder::below(&base).unwrap();
        assert_ne!(left.path(), made.path());
        drop(made);
        assert!(left.path().is_dir());
        drop(left);
        // Nothing but the base is left of it.
        std::fs::remove_dir(&base).unwrap();
    }

    #[test]
    fn a_base_in_which_others_may_rename_keeps_nothing_of_ours() {
        use std::os::unix::fs::PermissionsExt as _;
        let base = std::env::temp_dir().join(format!("linerate-bases-{}", std::process::id()));
        std::fs::create_dir(&base).unwrap();
        let keeps = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&base, mode).unwrap();
            keeps_ours(&base).unwrap()
        };
        let kept = [0o700, 0o1777, 0o777].map(keeps);
        std::fs::remove_dir(&base).unwrap();
        assert_eq!(kept, [true, true, false]);
    }

    #[test]
    fn where_a_socket_could_not_be_the_usual_place_is_taken() {
        let longest = "/".repeat(LONGEST_BASE);
        assert_eq!(short(PathBuf::from(&longest)), PathBuf::from(&longest));
        assert_eq!(short(PathBuf::from(longest + "a")), PathBuf::from("/tmp"));
        let as_it_is = "/var/tmp/A_b-1.c";
        assert_eq!(short(as_it_is.into()), PathBuf::from(as_it_is));
        for read_as_another in ["/t m", "/%h", "/${HOME}", "/\"", "/~", "/é"] {
            assert_eq!(short(read_as_another.into()), PathBuf::from("/tmp"));
        }
    }
}
