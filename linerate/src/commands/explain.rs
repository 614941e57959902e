//! `linerate explain`: what holds a running program back?

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::ValueHint;
use model::Workload;
use model::cpus::Workers;
use model::run::RunKind;
use model::study::url_without_secrets;
use study::explain::{ExplainOrder, Whose};

use super::versus;
use crate::agents::Place;
use crate::console::Console;
use crate::new_folder::NewFolder;
use crate::request::{RequestFlags, WHERE};
use crate::rig_flags::HostsFlag;
use crate::run::{self, Left, RunFolder};
use crate::{repeat, shown, values};

/// Find what holds a running program back, and prove it by slowing the accused down
///
/// The program is neither restarted nor changed. It is observed for a few seconds: at random
/// moments, who has a request, and what the program is doing; besides that, what its threads, the
/// kernel and the machine count. Each part of a request's time is put into one account. Then the
/// accusation is tested in alternate moments: a thread of ours takes a part of the accused CPUs'
/// time, and answers must become fewer by as much; or our load opens half as many connections more,
/// and answers become more where each request waits by itself, and stay as many where all wait in
/// one queue.
///
/// A URL is put under load of ours; with --pid and --port the program is observed under its own
/// work and nothing is slowed down, also on another machine with --on. If the program waits for
/// another one behind it, that one is followed while the same load goes on, at most three programs
/// deep. A command after -- is started without input, under root as the user `nobody`, and
/// observed with all that it starts until it ends; what it prints goes to standard error.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What holds the server at port 8080 back, under a load of 64 connections?
    sudo linerate explain http://127.0.0.1:8080/
  And this process, under its present work?
    sudo linerate explain --pid 4711 --for 10s
  Where does the time of a program go that is no server?
    sudo linerate explain -- sh -c 'sort big | uniq -c'
  What holds a database back on a machine of my hosts file?
    linerate explain --port 5432 --on server
  The same record, read again on another machine:
    linerate explain --from linerate-runs/explain-20261125T040000Z

Without root it says what it could not observe.

Exit codes:
  0    observed, even if the cause cannot be told
  2    could not run")]
pub(crate) struct Arguments {
    /// URL of a server that is put under load of ours
    #[arg(value_hint = ValueHint::Url, conflicts_with_all = ["pid", "port", "from"])]
    url: Option<String>,
    /// Observe a process, with all its descendants, under its own work
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["port", "from"], help_heading = WHERE)]
    pid: Option<u32>,
    /// Observe the processes that listen on this port of any address, under their own work
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "from", help_heading = WHERE)]
    port: Option<u16>,
    /// Machine to observe, with --pid or --port: its name in the hosts file, `client` or `server`
    #[arg(long, value_name = "HOST", conflicts_with_all = ["url", "from", "command"], help_heading = WHERE)]
    on: Option<String>,
    #[command(flatten)]
    hosts: HostsFlag,
    /// Folder of a saved observation
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with_all = ["time", "no_touch", "out", "seed"])]
    from: Option<PathBuf>,
    /// Length of the observation [default: 4s, a command until it ends]
    ///
    /// A command that is still running then is ended, and after ten minutes in any case.
    #[arg(long = "for", value_name = "TIME", value_parser = values::parse_duration)]
    time: Option<Duration>,
    /// Command to start and observe, with its arguments
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["url", "pid", "port", "from"])]
    command: Vec<String>,
    /// Slow nothing down: what is found is then not proved
    #[arg(long)]
    no_touch: bool,
    /// Connections held open to the server
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Load threads; connections are dealt evenly between them
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    threads: u32,
    /// This host is mine: needed for another address of this machine than loopback
    #[arg(long, value_name = "HOST", help_heading = WHERE, hide_short_help = true)]
    mine: Vec<String>,
    #[command(flatten)]
    request: RequestFlags,
    /// Load this machine even when it is at work
    #[arg(long)]
    yes: bool,
    /// Seed of the random moments and of the test
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
    /// Folder for the record and its report [default: linerate-runs/explain-UTC]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the explanation as one JSON value (docs/schema/explain.json)
    #[arg(long)]
    json: bool,
}

/// Shortest observation: fewer moments show nothing.
const SHORTEST: Duration = Duration::from_secs(1);
/// Default length: enough to know shares within a few hundredths.
const USUAL: Duration = Duration::from_secs(4);
/// Longest observation, and the default for a command.
const LONGEST: Duration = Duration::from_secs(600);

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let folder = match &arguments.from {
        Some(folder) => {
            let is_look = report::folder::kind(folder)? == RunKind::Look;
            ensure!(
                is_look,
                "{} is another run: `linerate study report` judges it",
                folder.display()
            );
            NewFolder::named(folder.clone())
        }
        None => {
            let named = arguments.out.clone().map(NewFolder::named);
            let folder = named.unwrap_or_else(|| run::stamped("explain"));
            if let Some(stopped) = look(arguments, &folder, console)? {
                return Ok(stopped);
            }
            folder
        }
    };
    shown::show(&folder, arguments.json, console)
}

/// Observes and saves the record. Returns the exit code to give where a signal stopped it.
fn look(
    arguments: &Arguments,
    folder: &Path,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    let order = order(arguments, console)?;
    let place = place(arguments, console)?;
    let into = RunFolder::of_new(folder);
    let outcome = run::with_campaign(&place, into, arguments.yes, console, |campaign| {
        campaign.explain(&order, folder)
    });
    let outcome = match &arguments.on {
        Some(host) => outcome.with_context(|| format!("on {host}")),
        None => outcome,
    };
    run::conclude(outcome, into, Left::Judged, console)
}

/// The machine to observe on: this one, or the one named by `--on`.
fn place(arguments: &Arguments, console: &Console) -> anyhow::Result<Place> {
    let Some(name) = &arguments.on else {
        ensure!(
            arguments.hosts.hosts.is_none(),
            "--hosts names machines, and --on says which of them to observe"
        );
        return Ok(Place::Loopback);
    };
    let hosts = arguments.hosts.find(console)?;
    Ok(Place::Machine(hosts.named(name)?.to_owned()))
}

fn order(arguments: &Arguments, console: &Console) -> anyhow::Result<ExplainOrder> {
    arguments.request.check()?;
    let time = arguments.time.unwrap_or(match arguments.command[..] {
        [] => USUAL,
        [_, ..] => LONGEST,
    });
    ensure!(
        (SHORTEST..=LONGEST).contains(&time),
        "an observation lasts from 1 s to 10 min: give --for a time in that range"
    );
    let seed = arguments.seed.unwrap_or_else(run::fresh_seed);
    let (whose, title) = match (&arguments.url, arguments.pid, arguments.port) {
        (Some(url), ..) => {
            let request = versus::asked(&arguments.request, &arguments.mine, (url, None), seed)?;
            (Whose::Asked(Box::new(request)), url_without_secrets(url))
        }
        (None, Some(pid), _) => (Whose::Process(pid), format!("process {pid}")),
        (None, None, Some(port)) => {
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
            (Whose::Listener(address), format!("port {port}"))
        }
        (None, None, None) if arguments.on.is_some() => {
            bail!("--on: give --pid or --port of that machine as well")
        }
        (None, None, None) if !arguments.command.is_empty() => {
            let title = format!("the command `{}`", arguments.command.join(" "));
            (Whose::Command(arguments.command.clone()), title)
        }
        (None, None, None) => {
            bail!("give a URL, --pid, --port or --from, or -- and a command to start")
        }
    };
    let on = arguments.on.as_ref().map(|host| format!(" of {host}"));
    Ok(ExplainOrder {
        whose,
        title: title + &on.unwrap_or_default(),
        workload: Workload {
            path: "/".to_owned(),
            connections: arguments.connections,
            threads: arguments.threads,
            workers: Workers::default(),
        },
        look_ms: u32::try_from(time.as_millis()).unwrap_or(u32::MAX),
        touch: !arguments.no_touch,
        seed,
        command: repeat::command(&[], seed, console),
    })
}
