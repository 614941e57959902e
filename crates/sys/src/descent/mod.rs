//! How a child becomes an ordinary user: measured programs never run as root.

mod terminal;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitiesSecureBits, UnshareFlags, set_capabilities_secure_bits};

use crate::namespace::leave;
use crate::user::{self, NOBODY, become_in_this_thread as become_user, maps};

/// Users of our services: the first one and their number, a power of two. The first range lies
/// beyond what distributions, containers and directory services assign (systemd's page "UIDS-GIDS";
/// SSSD's `ldap_idmap_range_max`). The second is for containers that have no more: it is that of
/// systemd's `DynamicUser=`, whose users are in no user file.
const OWN_USERS: [(u32, u32); 2] = [(0x7800_0000, 1 << 26), (61_184, 1 << 12)];

/// How a child of this process becomes an ordinary user between fork and exec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Descent {
    /// Stay who we are.
    #[default]
    Stay,
    /// Become `nobody`.
    ToNobody,
    /// Become a user that nothing else uses, and be `nobody` in a user namespace of its own, since
    /// programs such as initdb ask for the name that a user has. Where the kernel refuses the
    /// namespace, that user has no name.
    ToOwn(u32),
    /// Go into a user namespace of its own, and be `nobody` there. For the root of a user namespace
    /// that maps one user: to the machine it is that ordinary user, but a program that sees user 0
    /// takes itself for root, and holds every capability over the namespace.
    IntoNamespace,
}

impl Descent {
    /// Returns the descent that a child of this process needs.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn from_here() -> io::Result<Self> {
        if user::ours() != 0 {
            return Ok(Self::Stay);
        }
        let map = user::map()?;
        Ok(if maps(&map, NOBODY) {
            Self::ToNobody
        } else {
            Self::IntoNamespace
        })
    }

    /// Returns the descent that a service of that name needs. Under root each service gets a user
    /// of its own, so that none can look into another, nor into what runs as `nobody`.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn of_service(name: &str) -> io::Result<Self> {
        let here = Self::from_here()?;
        if here != Self::ToNobody {
            return Ok(here);
        }
        let map = user::map()?;
        Ok(own_user(name, &map).map_or(here, Self::ToOwn))
    }

    /// User and group that must own the files that such a child writes; `None` where files that we
    /// make already belong to it.
    pub fn owner(self) -> Option<u32> {
        match self {
            Self::ToNobody => Some(NOBODY),
            Self::ToOwn(user) => Some(user),
            Self::Stay | Self::IntoNamespace => None,
        }
    }

    /// Whether a child with this descent may execute `path`. A user of its own or `nobody` is
    /// neither the owner nor in the group of any file, so only the permissions of others count,
    /// including those of all folders on the way. Any other child has our rights, so finding the
    /// path was the check.
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

    /// Carries out the descent; to be called in the child, before it executes anything.
    pub(crate) fn carry_out(self) -> io::Result<()> {
        if self != Self::Stay {
            terminal::give_up()?;
        }
        match self {
            Self::Stay => Ok(()),
            Self::ToNobody => become_user(NOBODY),
            Self::ToOwn(user) => become_own(user),
            Self::IntoNamespace => enter_namespace_as_nobody(),
        }
    }
}

/// Shuts other processes of a service's own user off from the memory and the open files of this
/// process, if it runs as such a user. Its files below `/proc` then belong to root, and only root
/// may trace it (`PR_SET_DUMPABLE`, prctl(2)).
///
/// # Errors
/// None are known.
pub fn shut_off_own_user() -> io::Result<()> {
    // The first is such a user's number with a namespace of its own, the second where that was
    // refused.
    let numbers = [user::ours_outside(), user::ours()];
    if numbers.into_iter().any(is_own_user) {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

fn is_own_user(user: u32) -> bool {
    let mut ranges = OWN_USERS.into_iter();
    ranges.any(|(first, count)| user >= first && user - first < count)
}

/// Becomes a service's own user. It creates the namespace with root's capabilities, as some
/// distributions refuse it to anybody else; entering it drops them. Where a kernel or container
/// refuses it to root too, the user goes without.
fn become_own(user: u32) -> io::Result<()> {
    // Capabilities stay when the user changes (capabilities(7)).
    let keep = CapabilitiesSecureBits::NO_SETUID_FIXUP;
    if set_capabilities_secure_bits(keep).is_err() {
        return become_user(user);
    }
    become_user(user)?;
    if leave(UnshareFlags::NEWUSER).is_ok() {
        // Until then, `/proc` files of a process that changed its user are root's (PR_SET_DUMPABLE,
        // prctl(2)).
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        return map_to_nobody(user);
    }
    // Become root again, whose capabilities are dropped with the change to another user.
    become_user(0)?;
    set_capabilities_secure_bits(CapabilitiesSecureBits::empty())?;
    become_user(user)
}

/// Enters a user namespace as `nobody`. Capabilities over it are dropped at exec, since the user in
/// it is not 0.
fn enter_namespace_as_nobody() -> io::Result<()> {
    leave(UnshareFlags::NEWUSER)?;
    map_to_nobody(0)
}

/// Maps the user, and the group with the same number, to `nobody` in the namespace that was just
/// entered.
fn map_to_nobody(user: u32) -> io::Result<()> {
    // Nothing may be allocated after a fork.
    let mut line = [0; 32];
    let mut rest = &mut line[..];
    write!(rest, "{NOBODY} {user} 1")?;
    let left = rest.len();
    let line = &line[..line.len() - left];
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", line)?;
    fs::write("/proc/self/gid_map", line)
}

/// The user for a service's name. It is the same at each start, so that the service's cache stays
/// its own.
fn own_user(name: &str, uid_map: &str) -> Option<u32> {
    let (first, count) = OWN_USERS
        .into_iter()
        .find(|(first, count)| maps(uid_map, *first) && maps(uid_map, first + count - 1))?;
    // FNV-1a of 32 bits.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    Some(first + (hash ^ (hash >> 16)) % count)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::{ChildSetup, prepare_child};

    #[test]
    fn services_are_a_user_each_that_a_container_has_too() {
        let names = [
            "caddy",
            "go-http",
            "h2o",
            "mariadb",
            "memcached",
            "nginx",
            "node-http",
            "postgresql",
            "python-http",
            "redis",
        ];
        for (map, beyond) in [
            ("0 0 4294967295\n", 0x7800_0000),
            ("0 100000 65536\n", 61_184),
        ] {
            let users = names.map(|name| own_user(name, map).unwrap());
            let mut apart = users.to_vec();
            apart.sort_unstable();
            apart.dedup();
            assert_eq!(apart.len(), names.len(), "{users:?}");
            assert!(apart[0] >= beyond && maps(map, apart[9]), "{users:?}");
        }
        assert_eq!(own_user("redis", "0 1000 1\n"), None);
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
        for descent in [Descent::from_here(), Descent::of_service("redis")] {
            assert_is_ordinary(descent.unwrap());
        }
    }

    fn assert_is_ordinary(descent: Descent) {
        let status = status_of_a_child("cat", &["/proc/self/status"], descent);
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let users: Vec<&str> = field("Uid:").unwrap().split_whitespace().collect();
        assert!(users.iter().all(|user| *user != "0"), "{status}");
        let capabilities = field("CapEff:").unwrap().trim();
        assert_eq!(capabilities.trim_start_matches('0'), "", "{status}");
    }

    #[test]
    fn a_child_that_came_down_still_dies_with_its_parent() {
        let descent = Descent::of_service("redis").unwrap();
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
