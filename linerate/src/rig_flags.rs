//! The flags that choose the hosts and links of a run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use model::rig::RigKind;
use study::hosts::Hosts;

use crate::console::Console;
use crate::values;

/// Name of a hosts file.
const FILE: &str = "hosts.toml";

/// Flags of commands that can run on several hosts.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RigFlags {
    /// Hosts and links to measure on, instead of the study's own
    ///
    /// `loopback`: client and server on one loopback, in a network namespace of our own where the
    /// kernel allows it. `netns`: a namespace each, joined by a pair of virtual devices. `router`:
    /// a third namespace between them forwards. `tunnel`: as `router`, with a tunnel over it.
    /// `hosts`: machines of yours over SSH, named in a hosts file.
    #[arg(long, value_name = "RIG", value_parser = values::one_of::<RigKind>(RigKind::ALL.map(RigKind::name)))]
    pub(crate) rig: Option<RigKind>,
    #[command(flatten)]
    pub(crate) hosts: HostsFlag,
}

/// The machines of the rig `hosts`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct HostsFlag {
    /// File that names your machines, for the rig `hosts`
    ///
    /// By default it is your own, `linerate/hosts.toml` below `$XDG_CONFIG_HOME` or `~/.config`;
    /// one in the current folder is used only if it is given here. The machines in it may be
    /// loaded.
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
}

impl RigFlags {
    /// Returns the rig that was asked for.
    ///
    /// # Errors
    /// When machines are named for a rig that has none.
    pub(crate) fn kind(&self) -> anyhow::Result<Option<RigKind>> {
        if let Some(rig) = self.rig {
            self.hosts.check(rig)?;
        }
        Ok(self.asked())
    }

    /// Returns the rig that was asked for; `--hosts` alone asks for the rig `hosts`.
    fn asked(&self) -> Option<RigKind> {
        let hosts = || self.hosts.hosts.as_ref().map(|_| RigKind::Hosts);
        self.rig.or_else(hosts)
    }
}

impl HostsFlag {
    /// Checks that the flag, if it is given, fits the rig of a run.
    ///
    /// # Errors
    /// When that rig has no machines.
    pub(crate) fn check(&self, rig: RigKind) -> anyhow::Result<()> {
        ensure!(
            self.hosts.is_none() || rig == RigKind::Hosts,
            "--hosts names machines for the rig `hosts`, and the rig of this run is `{}`; leave \
             --hosts out, or measure on the rig `hosts`",
            rig.name()
        );
        Ok(())
    }

    /// Returns the machines that the file names. A file that lies in the current folder and was not
    /// given is not the owner's permission; a remark says that it is not used.
    pub(crate) fn find(&self, console: &Console) -> anyhow::Result<Hosts> {
        let own = own();
        if self.hosts.is_none() {
            own.as_deref().map_or(Ok(()), check_owner)?;
            if Path::new(FILE).exists() {
                console.note(&format!(
                    "{FILE} in this folder is not used; --hosts ./{FILE} takes it, if you trust it: its \
                     machines may be loaded"
                ));
            }
        }
        Ok(study::hosts::find(self.hosts.as_deref(), own.as_deref())?)
    }

    /// Returns the machines for a caller that can do without: a file in the current folder is not
    /// looked for, and one of another user is ignored.
    pub(crate) fn find_quietly(&self) -> anyhow::Result<Hosts> {
        let own = own().filter(|own| check_owner(own).is_ok());
        Ok(study::hosts::find(self.hosts.as_deref(), own.as_deref())?)
    }
}

/// Returns the path of the user's own file.
fn own() -> Option<PathBuf> {
    // Relative paths must be ignored (XDG Base Directory 0.8).
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(is_absolute)
    };
    let below_home = || variable("HOME").map(|home| home.join(".config"));
    let config = variable("XDG_CONFIG_HOME").or_else(below_home);
    config.map(|config| config.join("linerate").join(FILE))
}

/// Refuses a file of another user. The environment can be somebody else's, as sudo(8) may leave it
/// to root, and another user's file is not the permission of this one.
fn check_owner(file: &Path) -> anyhow::Result<()> {
    let us = sys::user::ours();
    let owner = std::fs::metadata(file).map(|found| found.uid());
    match owner {
        Ok(owner) if owner != us && owner != 0 => bail!(
            "{}: it belongs to user {owner} and not to {us}, so it is not your word that its machines \
             may be loaded; give it with --hosts if you trust it",
            file.display()
        ),
        // The code that reads the file says that there is none.
        _ => Ok(()),
    }
}
