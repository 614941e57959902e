//! `linerate levers`: shows, sets and restores settings of this machine.

pub(crate) mod apply;
pub(crate) mod catalogue;
pub(crate) mod journal;
mod overdue;
mod revert;
mod run;
pub(crate) mod status;
mod system_log;
pub(crate) mod try_out;
pub(crate) mod undo;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Subcommand;
use machine::levers::{self, DeviceName, Lever, Site};
use study::did_you_mean;

use crate::console::Console;

/// Exit code where the machine was left changed.
const LEFT_CHANGED: u8 = 3;

/// Show, set and restore the machine's settings that decide how fast it serves
///
/// A lever is read, planned, applied, verified and undone. The old value is written to a journal
/// and synced before anything is changed, so `undo` puts it back after a crash, a kill or a power
/// cut; a value that somebody else has set in the meantime is left alone and reported.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What is set here, what is recommended, and what could be changed?
    linerate levers status
  One lever, with the commands that would set it by hand:
    linerate levers show slow-start-after-idle
    sudo linerate levers apply slow-start-after-idle --dry-run
  What would a setting buy the server that is running?
    sudo linerate levers try tcp-autocorking=0 --url http://127.0.0.1:8080/
  Set it, and put it back:
    sudo linerate levers apply slow-start-after-idle
    sudo linerate levers undo slow-start-after-idle
  For one program, for as long as it runs:
    linerate levers run nice=10 timer-slack=1us -- ./server
  On a host of a rig, where nothing of this machine is touched:
    linerate rig exec server -- linerate levers apply congestion-control=reno

What reaches a device of this machine, or may cut off access to it or use up its memory, is put back
after 60 seconds unless `sudo linerate levers confirm` says that you can still reach the machine. If
that fails it is tried again until it works, and the system log says so; if the process that does it
was killed, the next `apply`, `undo`, `confirm` or `journal` does it. The journal is in
/var/lib/linerate for root, else in $XDG_STATE_HOME/linerate. Nothing survives a reboot; to keep a
setting, write the commands that `show` prints where your distribution looks for them.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the levers, by subject
    #[command(after_long_help = "\
Examples:
  linerate levers list
  Those that remove protection at worst, for a script:
    linerate levers list --json | jq -r '.levers[] | select(.worst_case.harm == \"protection\").name'")]
    List {
        /// Print them as one JSON value (docs/schema/levers-list.json)
        #[arg(long)]
        json: bool,
    },
    Status(status::Arguments),
    /// Show one lever: what it does, whom it helps and hurts, and the commands
    #[command(after_long_help = "\
Examples:
  linerate levers show guest-halt-poll
  The commands that would set it by hand, for a script:
    linerate levers show slow-start-after-idle --json | jq -r '.commands.set[]'")]
    Show {
        /// Name of a lever
        lever: String,
        /// The network device [default: that of the default route]
        #[arg(long)]
        device: Option<DeviceName>,
        /// Print it as one JSON value (docs/schema/levers-show.json)
        #[arg(long)]
        json: bool,
    },
    Try(Box<try_out::Arguments>),
    Apply(apply::Arguments),
    Run(run::Arguments),
    Undo(undo::Arguments),
    /// List what was set and not put back yet
    #[command(after_long_help = "\
Examples:
  linerate levers journal")]
    Journal {
        /// Print it as one JSON value (docs/schema/levers-journal.json)
        #[arg(long)]
        json: bool,
    },
    /// Keep a change that would be put back automatically
    #[command(after_long_help = "\
Examples:
  sudo linerate levers confirm mtu")]
    Confirm {
        /// The lever [default: all that wait to be confirmed]
        lever: Option<String>,
    },
    /// Wait for the time of an entry, and put it back; for Linerate itself
    #[command(hide = true)]
    Revert {
        /// Number of the entry
        id: u64,
    },
    /// Wait for the end of a process, and put back what it held; for Linerate itself
    #[command(hide = true)]
    RevertAfter {
        /// Number of the process
        holder: u32,
    },
    /// Wait for the end of a process, and remove the control groups that it made; for Linerate
    /// itself
    #[command(hide = true)]
    Sweep {
        /// Number of the process
        maker: u32,
    },
    /// Print the page of all levers, docs/levers/README.md
    #[command(hide = true)]
    Page,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json } => catalogue::list(*json, console),
        Action::Status(arguments) => status::run(arguments, console)?,
        Action::Show {
            lever,
            device,
            json,
        } => {
            let site = Site::here(device.clone());
            catalogue::show(find(lever)?, &site, *json, console);
        }
        Action::Try(arguments) => return try_out::run(arguments, console),
        Action::Apply(arguments) => return apply::run(arguments, console),
        Action::Run(arguments) => return run::run(arguments),
        Action::Sweep { maker } => run::sweep(*maker)?,
        Action::Undo(arguments) => {
            let outcome = undo::run(arguments, console);
            overdue::put_back(console)?;
            return outcome;
        }
        Action::Journal { json } => {
            overdue::put_back(console)?;
            journal::run(*json, console)?;
        }
        Action::Confirm { lever } => {
            overdue::put_back(console)?;
            undo::confirm(lever.as_deref(), console)?;
        }
        Action::Revert { id } => revert::in_time(*id)?,
        Action::RevertAfter { holder } => revert::after(*holder)?,
        Action::Page => catalogue::page(console),
    }
    Ok(ExitCode::SUCCESS)
}

/// Beginning of a command that changes what we have set. Root's journal needs `sudo`, but not on a
/// host of a rig, where every user is root.
fn by_whom() -> &'static str {
    match sys::user::ours() == 0 && !machine::rig::is_inside() {
        true => "sudo linerate levers",
        false => "linerate levers",
    }
}

/// The lever of that name, or an error that suggests the nearest name.
fn find(name: &str) -> anyhow::Result<&'static Lever> {
    levers::find(name).ok_or_else(|| {
        let meant = did_you_mean(name, levers::all().map(|lever| lever.name.as_str()));
        anyhow!("there is no lever `{name}`; `linerate levers list` shows those there are{meant}")
    })
}
