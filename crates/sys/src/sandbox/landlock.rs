//! Rules about files and connections that a process sets for itself (Landlock: landlock(7),
//! linux/landlock.h).

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use crate::{check, opened};

const ASK_VERSION: libc::c_uint = 1;
const RULE_PATH_BENEATH: libc::c_int = 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
/// `LANDLOCK_ACCESS_NET_BIND_TCP` and `…_CONNECT_TCP`.
const ALL_OF_TCP: u64 = 0b11;
/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET` and `…_SIGNAL`.
const ALL_SCOPES: u64 = 0b11;

/// `struct landlock_ruleset_attr`, of which older kernels know only the beginning.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`, which the kernel declares packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    folder: RawFd,
}

/// Returns the version of the kernel's Landlock rules.
///
/// # Errors
/// `ENOSYS` before Linux 5.13 or in a kernel built without Landlock, `EOPNOTSUPP` where it was not
/// enabled at boot.
pub(super) fn version() -> io::Result<u32> {
    let nothing: libc::c_long = 0;
    // SAFETY: when asked for the version, the kernel reads no rules.
    let version = check(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            nothing,
            nothing,
            ASK_VERSION,
        )
    })?;
    Ok(version.unsigned_abs())
}

/// Whether this version has rules about TCP.
pub(super) fn has_network(version: u32) -> bool {
    version >= 4
}

/// Restricts this thread, and what it starts, from now on. They read what lies below `root` and
/// touch no other file of any file system, open no TCP port or connection, and reach no process
/// outside by signals or abstract sockets, as far as the version has rules about these.
pub(super) fn restrict(version: u32, root: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let (all, bytes) = everything(version);
    let no_flags: libc::c_long = 0;
    // SAFETY: the attributes are readable for the size that is passed along.
    let rules = unsafe {
        opened(libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const all,
            bytes,
            no_flags,
        ))
    }?;
    if let Some(root) = root {
        allow_reading(&rules, root)?;
    }
    let rules = libc::c_long::from(rules.as_raw_fd());
    // SAFETY: no pointers.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, no_flags) })?;
    Ok(())
}

/// Everything that the version has rules about, and the size of its attributes.
fn everything(version: u32) -> (Ruleset, usize) {
    let rights = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    let all = Ruleset {
        files: (1 << rights) - 1,
        network: ALL_OF_TCP,
        scopes: ALL_SCOPES,
    };
    let fields = match version {
        1..=3 => 1,
        4 | 5 => 2,
        _ => 3,
    };
    (all, fields * size_of::<u64>())
}

fn allow_reading(rules: &OwnedFd, root: BorrowedFd<'_>) -> io::Result<()> {
    let rule = PathBeneath {
        allowed: READ_FILE | READ_FOLDER,
        folder: root.as_raw_fd(),
    };
    let no_flags: libc::c_long = 0;
    let rules = libc::c_long::from(rules.as_raw_fd());
    // SAFETY: the rule is readable for the length of the call, and of the kind that is passed
    // along.
    check(unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules,
            RULE_PATH_BENEATH,
            &raw const rule,
            no_flags,
        )
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_for_what_it_knows() {
        let asked = |version| {
            let (all, bytes) = everything(version);
            (all.files, bytes)
        };
        let expected = [
            (1, (0x1fff, 8)),
            (2, (0x3fff, 8)),
            (3, (0x7fff, 8)),
            (4, (0x7fff, 16)),
            (5, (0xffff, 16)),
            (6, (0xffff, 24)),
            (9, (0xffff, 24)),
        ];
        for (version, known) in expected {
            assert_eq!(asked(version), known, "{version}");
        }
    }
}
