//! How a child becomes an ordinary user: what is measured never runs as root.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::check;

/// The user and group that the kernel shows for whom it cannot name (`/proc/sys/kernel/overflowuid`)
/// and that distributions call `nobody`: it owns no files.
pub const NOBODY: u32 = 65_534;

/// What a child of this process does between fork and exec to be an ordinary user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Descent {
    /// Stay who we are.
    #[default]
    Stay,
    /// Become `nobody`.
    ToNobody,
    /// Go into a user namespace of its own, and be `nobody` there. For the root of a user
    /// namespace that maps one user: he is that ordinary user to the machine, but a program that
    /// sees user 0 takes itself for root, and holds every capability over the namespace.
    IntoNamespace,
}

impl Descent {
    /// What a child of this process needs.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn from_here() -> io::Result<Self> {
        // SAFETY: no pointers; it cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(Self::Stay);
        }
        let map = fs::read_to_string("/proc/self/uid_map")?;
        Ok(if maps(&map, NOBODY) {
            Self::ToNobody
        } else {
            Self::IntoNamespace
        })
    }

    /// Who must own the files that such a child writes, as user and group; `None` where what we
    /// make is already its own.
    #[must_use]
    pub fn owner(self) -> Option<u32> {
        (self == Self::ToNobody).then_some(NOBODY)
    }

    /// Whether a child that comes down so may execute it: `nobody` is neither the owner nor of the
    /// group of anything, so that only the permissions of others count, those of all folders on the
    /// way included. Anybody else has been asked for by looking.
    #[must_use]
    pub fn may_run(self, path: &Path) -> bool {
        if self.owner().is_none() {
            return true;
        }
        let open = |path: &Path| {
            path.metadata()
                .is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
        };
        let real = path.canonicalize();
        let ways = [Some(path), real.as_deref().ok()];
        ways.into_iter()
            .flatten()
            .all(|way| way.ancestors().all(open))
    }

    /// Carries it out; to be called in the child, before it executes anything.
    pub(crate) fn carry_out(self) -> io::Result<()> {
        match self {
            Self::Stay => Ok(()),
            Self::ToNobody => become_nobody(),
            Self::IntoNamespace => enter_namespace_as_nobody(),
        }
    }
}

/// Groups first: whoever has given up being root may not change them any more.
fn become_nobody() -> io::Result<()> {
    // SAFETY: setgroups reads no list of length 0; the others take no pointers.
    check(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) })?;
    Ok(())
}

/// Capabilities over the new namespace go at exec, since the user in it is not 0.
fn enter_namespace_as_nobody() -> io::Result<()> {
    // SAFETY: no pointers; a forked child has one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", "65534 0 1")?;
    fs::write("/proc/self/gid_map", "65534 0 1")
}

/// Whether a user has a number in this namespace; see user_namespaces(7) for the lines, each
/// `inside outside count`.
fn maps(uid_map: &str, user: u32) -> bool {
    uid_map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        match (numbers.next(), numbers.nth(1)) {
            (Some(Ok(first)), Some(Ok(count))) => user >= first && user - first < count,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::{ChildSetup, prepare_child};

    #[test]
    fn a_map_of_one_user_does_not_hold_nobody() {
        assert!(maps("         0          0 4294967295\n", NOBODY));
        assert!(maps("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!maps("         0       1000          1\n", NOBODY));
        assert!(!maps("", NOBODY));
    }

    fn status_of_a_child(program: &str, arguments: &[&str], descent: Descent) -> String {
        let mut command = Command::new(program);
        command.args(arguments);
        let setup = ChildSetup {
            descent,
            ..ChildSetup::default()
        };
        prepare_child(&mut command, setup);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_child_that_came_down_is_no_root_and_has_no_capability() {
        let descent = Descent::from_here().unwrap();
        let status = status_of_a_child("cat", &["/proc/self/status"], descent);
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let users: Vec<&str> = field("Uid:").unwrap().split_whitespace().collect();
        assert!(users.iter().all(|user| *user != "0"), "{status}");
        let capabilities = field("CapEff:").unwrap().trim();
        assert_eq!(capabilities.trim_start_matches('0'), "", "{status}");
    }

    #[test]
    fn a_child_that_came_down_still_dies_with_its_parent() {
        let descent = Descent::from_here().unwrap();
        // What prctl(PR_GET_PDEATHSIG) would say has no file; a child that reports it has.
        let mut command = Command::new("true");
        prepare_child(
            &mut command,
            ChildSetup {
                descent,
                ..ChildSetup::default()
            },
        );
        // SAFETY: prctl writes one int, which lives through the call.
        let check_signal = move || unsafe {
            let mut signal: libc::c_int = 0;
            libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal);
            if signal == libc::SIGKILL {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(libc::EDOM))
            }
        };
        // SAFETY: the closure makes one system call.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, check_signal) };
        assert!(command.status().unwrap().success());
    }
}
