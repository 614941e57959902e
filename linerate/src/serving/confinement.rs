//! What a worker gives up before it accepts its first connection: root, and the system calls and
//! files that it never needs.

use std::os::fd::AsFd as _;

use anyhow::{Context as _, bail, ensure};
use sys::descent::Descent;
use sys::root_folder::RootFolder;
use sys::sandbox::{self, User};
use sys::user::NOBODY;

use crate::console::Console;
use crate::tls_flags::Switch;

/// Heading of the flags for a server that is left running.
const LEFT_RUNNING: &str = "Left running";
const ROOT: User = User { user: 0, group: 0 };

#[derive(clap::Args)]
pub(crate) struct ConfinementFlags {
    /// Serve as this user, by name or number [default: nobody, when started by root]
    ///
    /// It becomes that user once it listens and has opened certificates and --root, and keeps no
    /// other group. That user must be able to read what it serves. `--user root` stays root.
    #[arg(long, value_name = "NAME|UID", hide_short_help = true, help_heading = LEFT_RUNNING)]
    user: Option<String>,

    /// Whether workers confine themselves: on or off
    ///
    /// Confined, they gain no new privileges (`PR_SET_NO_NEW_PRIVS`), read files only below --root
    /// and open no connections of their own (Landlock), and make only the system calls of a running
    /// server (seccomp). What the kernel lacks for this is reported.
    #[arg(long, value_name = "WHEN", default_value = "on", hide_possible_values = true, hide_short_help = true, help_heading = LEFT_RUNNING)]
    sandbox: Switch,
}

/// What a process gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confinement {
    /// User that it becomes; `None` to stay the same user.
    pub(crate) user: Option<User>,
    sandbox: bool,
}

impl ConfinementFlags {
    pub(crate) fn confinement(&self) -> anyhow::Result<Confinement> {
        Ok(Confinement {
            user: self.user()?,
            sandbox: self.sandbox == Switch::On,
        })
    }

    fn user(&self) -> anyhow::Result<Option<User>> {
        let wanted = match &self.user {
            Some(wanted) => Some(find(wanted)?),
            None => None,
        };
        let own = sys::user::ours();
        if own != 0 {
            let others = wanted.filter(|wanted| wanted.user != own);
            ensure!(
                others.is_none(),
                "--user needs root: only root may become another user"
            );
            return Ok(None);
        }
        if let Some(wanted) = wanted {
            return Ok(Some(wanted).filter(|wanted| *wanted != ROOT));
        }
        // Root of a user namespace with one user is that ordinary user to the machine.
        let descent = Descent::from_here().context("--user: /proc/self/uid_map")?;
        Ok(descent.owner().map(|user| User { user, group: user }))
    }

    /// Reports, once for all workers, what the kernel lacks for confining them.
    pub(crate) fn tell_lacks(&self, console: &Console) {
        if self.sandbox == Switch::Off {
            return;
        }
        for lack in sandbox::lacks() {
            console.note(&format!("the server is confined less: {lack}"));
        }
    }
}

impl Confinement {
    /// Whether a confined process may no longer remove what it made, such as its socket.
    pub(crate) fn keeps_from_files(self) -> bool {
        self.user.is_some() || self.sandbox
    }

    /// Gives the rights up, for good.
    pub(crate) fn enter(self, root: Option<&RootFolder>) -> anyhow::Result<()> {
        if let Some(user) = self.user {
            let User { user, group } = user;
            sandbox::become_user(User { user, group }).with_context(|| {
                format!("--user: becoming user {user} of group {group}; `--user root` stays root")
            })?;
            if root.is_some_and(|root| root.open_below(c".").is_err()) {
                bail!(
                    "--root: user {user}, as whom files are served, may not enter that folder; let \
                     others enter it (chmod o+rx), or name another user with --user (`root` stays root)"
                );
            }
        }
        if self.sandbox {
            let root = root.map(|root| root.as_fd());
            sandbox::enter(root).context("confining the server; `--sandbox off` does without")?;
        }
        Ok(())
    }
}

/// Finds a user. A number need not be known; a name must be in `/etc/passwd`.
fn find(wanted: &str) -> anyhow::Result<User> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_in(&passwd, wanted).with_context(|| {
        format!("--user: there is no user `{wanted}` in /etc/passwd; give a name from there, or a number")
    })
}

/// Finds a user in the lines of passwd(5): `name:password:user:group:…`.
fn find_in(passwd: &str, wanted: &str) -> Option<User> {
    let number = wanted.parse().ok().filter(|number| *number != u32::MAX);
    let mut entries = passwd.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, group, ..] = fields[..] else {
            return None;
        };
        let (user, group) = (user.parse().ok()?, group.parse().ok()?);
        Some((name, User { user, group }))
    });
    let found = entries.find(|(name, user)| *name == wanted || Some(user.user) == number);
    let by_number = number.or_else(|| (wanted == "nobody").then_some(NOBODY));
    found
        .map(|(_, user)| user)
        .or_else(|| by_number.map(|user| User { user, group: user }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_or_number_and_an_unknown_name_is_nobody() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nwww:x:33:34::/:/bin/false\nbroken:x\n";
        let found = |wanted| find_in(passwd, wanted).map(|User { user, group }| (user, group));
        assert_eq!(found("www"), Some((33, 34)));
        assert_eq!(found("33"), Some((33, 34)));
        assert_eq!(found("77"), Some((77, 77)));
        assert_eq!(found("nobody"), Some((NOBODY, NOBODY)));
        for wrong in ["", "broken", "nginx", "-1", "4294967295", "x"] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }
}
