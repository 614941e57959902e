//! `linerate rig`: hosts and links made of network namespaces.

mod exec;
pub(crate) mod shapes;

use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Subcommand;
use machine::rig::standing::{Standing, StandingError, TakenDown};
use model::Topology;
use model::rig::RigName;

use crate::console::Console;
use crate::ourselves::OURSELVES;
use crate::told::{self, template};
use crate::values;
use shapes::{RigClean, RigStatus, RigUp};

/// Exit code if a rig could not be taken down.
const COULD_NOT_RUN: u8 = 2;
/// Exit code if the machine was left changed.
const LEFT_CHANGED: u8 = 3;

/// Build a client and a server with their own network between them, all on this machine
///
/// A rig is a few hosts, each a network namespace, joined by virtual devices that are never seen
/// outside. This machine's own network is not touched. Root gets plain network namespaces; any
/// other user gets them within a user namespace, where the kernel allows that, and may do in them
/// what root may.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Client and server joined by a cable, a server on the one and load from the other:
    linerate rig up
    linerate rig exec server -- linerate serve --listen 198.18.0.2:8080 &
    linerate rig exec client -- linerate load http://198.18.0.2:8080/json
    linerate rig clean
  The same through a router, and through a tunnel:
    linerate rig up router
    linerate rig up tunnel --name vpn

Kinds, with the addresses of client and server:
  netns   client 198.18.0.1 – server 198.18.0.2, joined by a veth pair
  router  client 198.18.0.1 – router – server 198.18.1.1; the router forwards
  tunnel  as router, with a VXLAN between client 198.18.2.1 and server 198.18.2.2

198.18.0.0/15 is reserved for benchmarks (RFC 2544), so no network that this machine is in has
these addresses. A rig is held by one small process. When that ends, however it ends, the kernel
takes the rig down as soon as no program runs in it.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Put up a rig that stays until it is cleaned
    #[command(after_long_help = "\
Examples:
  linerate rig up
  Another one beside it, and the addresses of one for a script:
    linerate rig up router --name other
    linerate rig up tunnel --json | jq -r '.rig.hosts[] | [.name, .address] | @tsv'")]
    Up {
        /// Hosts and links: netns, router or tunnel
        // Without `wire`: it carries nothing by itself, so a rig of it that stays would only
        // puzzle.
        #[arg(default_value = "netns", value_parser = values::one_of::<Topology>(["netns", "router", "tunnel"]))]
        kind: Topology,
        /// Name of the rig [default: its kind]
        #[arg(long)]
        name: Option<RigName>,
        /// Print it as one JSON value (docs/schema/rig-up.json)
        #[arg(long)]
        json: bool,
    },
    /// List the rigs of this user, including those left by a crash
    #[command(after_long_help = "\
Examples:
  linerate rig status
  As another program sees a host:
    sudo nsenter --net=$(linerate rig status --json | jq -r '.rigs[0].hosts[0].enter') ip address")]
    Status {
        /// Print them as one JSON value (docs/schema/rig-status.json)
        #[arg(long)]
        json: bool,
    },
    /// Take down a rig and all that runs in it, or what a crash left of one; without a name, all
    #[command(after_long_help = "\
Examples:
  linerate rig clean netns
  All rigs, and what a crash left:
    linerate rig clean

Processes that `rig exec` started there, and their children, are asked to end and killed after two
seconds, even as another user, as a daemon or in network namespaces of their own: they share a UTS
namespace with the rig. Of a rig whose holder has ended, only processes still on one of its hosts
are found. A process that somebody else put into a rig's network namespaces, or that has left that
UTS namespace, is not ended: it is named, and exit code 3 says that the namespaces stay until it
has ended.")]
    Clean {
        /// Name of the rig [default: all]
        name: Option<RigName>,
        /// Print what was done as one JSON value (docs/schema/rig-clean.json)
        #[arg(long)]
        json: bool,
    },
    /// Run a program on a host of a rig
    #[command(after_long_help = "\
Examples:
  linerate rig exec client -- curl http://198.18.0.2:8080/json
  On one of several rigs, by its name:
    linerate rig exec --name vpn server -- tcpdump -n -i lr-tunnel
  A shell there:
    linerate rig exec router -- bash

The program replaces this process: its exit code is ours, signals and the terminal are its own. It
runs as the calling user; in a rig of an ordinary user, that user is root in it and nowhere else.
The file system is the machine's, including /sys, which still shows the machine's own devices. The
host name is a copy, in the rig's own UTS namespace, by which `rig clean` knows what to end.
LINERATE_RIG is set to the rig's name.")]
    Exec {
        /// client, server or router
        host: String,
        /// Name of the rig, if there are several
        #[arg(long)]
        name: Option<RigName>,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<std::ffi::OsString>,
    },
    /// Hold a rig as commanded on standard input; for Linerate itself
    #[command(hide = true)]
    Hold { kind: Topology },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let is_ours = matches!(arguments.action, Action::Hold { .. });
    ensure!(
        is_ours || !is_on_a_host(),
        "this is a host of a rig, and rigs are put up, looked at and cleaned from outside: do it in \
         another terminal, or leave this host first"
    );
    match &arguments.action {
        Action::Up { kind, name, json } => up(*kind, name.clone(), *json, console),
        Action::Status { json } => status(*json, console),
        Action::Clean { name, json } => clean(name.as_ref(), *json, console),
        Action::Exec {
            host,
            name,
            command,
        } => exec::run(name.as_ref(), host, command),
        Action::Hold { kind } => {
            machine::rig::hold(*kind, std::io::stdin().lock(), std::io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Whether this is a host of a rig. An ordinary user is root here, and root's rigs are not the
/// user's own; and a `clean` by root would end itself.
fn is_on_a_host() -> bool {
    std::env::var_os(machine::rig::MARK).is_some() || machine::rig::is_inside()
}

fn up(
    kind: Topology,
    name: Option<RigName>,
    as_json: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let name = name.unwrap_or_else(|| kind.into());
    let rig = Standing::put_up(Path::new(OURSELVES), kind, &name)?;
    let up = RigUp { rig: rig.told() };
    told::say(&up, template!("rig"), as_json, console);
    Ok(ExitCode::SUCCESS)
}

fn status(as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let rigs = Standing::all()?.iter().map(Standing::told).collect();
    told::say(&RigStatus { rigs }, template!("rig"), as_json, console);
    Ok(ExitCode::SUCCESS)
}

fn clean(name: Option<&RigName>, as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let (taken, failed) = match name {
        Some(name) => (vec![Standing::take_down(name)?], Vec::new()),
        None => take_all_down()?,
    };
    if as_json || failed.is_empty() || !taken.is_empty() {
        let cleaned = taken.clone();
        told::say(&RigClean { cleaned }, template!("rig"), as_json, console);
    }
    let kept: Vec<String> = taken.iter().filter_map(kept).collect();
    let failed = failed.iter().map(ToString::to_string);
    let errors: Vec<String> = failed.chain(kept.iter().cloned()).collect();
    for error in &errors {
        console.error(error);
    }
    Ok(match (kept.is_empty(), errors.is_empty()) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(COULD_NOT_RUN),
        (false, _) => ExitCode::from(LEFT_CHANGED),
    })
}

/// Says which processes still keep a rig's namespaces, and what to do.
fn kept(rig: &TakenDown) -> Option<String> {
    let pids: Vec<String> = rig.kept_by.iter().map(ToString::to_string).collect();
    let pids = pids.join(" ");
    (!pids.is_empty()).then(|| {
        format!(
            "namespaces of the rig `{}` stay for as long as processes run in them that `rig exec` \
             did not start, or that do not end when killed: {pids}; end them if they are yours: \
             kill {pids}",
            rig.name
        )
    })
}

/// Takes down all rigs. If one cannot be taken down, the others still are.
fn take_all_down() -> Result<(Vec<TakenDown>, Vec<StandingError>), StandingError> {
    let (mut taken, mut failed) = (Vec::new(), Vec::new());
    for rig in Standing::all()? {
        match Standing::take_down(rig.name()) {
            Ok(down) => taken.push(down),
            // Another process has taken it down first.
            Err(StandingError::Unknown { .. }) => {}
            Err(error) => failed.push(error),
        }
    }
    Ok((taken, failed))
}
