//! `linerate service start`: runs a service until Ctrl-C or `linerate service stop`.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use agent::service::register::{self, Claim, Entry, Register};
use agent::service::{RunningService, Wish, new_folder};
use anyhow::Context as _;
use model::Service;
use model::failure::Failure;
use sys::epoll::{Epoll, Events, Interest};
use sys::stop::{Again, StopSignal};

use super::detached;
use super::ready::Ready;
use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::stopping;
use crate::trust::TrustFlag;

/// Start a service and wait until it is ready
///
/// It runs without root and in a folder of its own, which no other user may enter. Caches and
/// databases listen on a Unix socket there, and on an address if you ask for one; HTTP services
/// listen on a port of loopback unless you give another address. It stays until Ctrl-C, SIGTERM,
/// SIGHUP or `linerate service stop` ends it; then no process and no file of it is left, except the
/// cache that a few services keep. That holds even if Linerate itself is killed; if its keeper was
/// killed with it, the next `linerate service list`, `start` or `stop` removes what is left. Its
/// data starts empty each time.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  nginx until Ctrl-C, on any free port:
    linerate service start nginx
  PostgreSQL in the background, with a client, and how to stop it:
    linerate service start postgresql --detach
    sh -c \"$(linerate service list --json | jq -r '.running[].connect')\"
    linerate service stop postgresql
  A Redis that programs reach over the network stack, with its password:
    linerate service start redis --port 6379
  Four workers on four CPUs, the address for a script:
    linerate service start caddy --workers 4 --cpus 0-3 --detach --json | jq -r .address")]
pub(crate) struct Arguments {
    /// Name of a service, or path of its file
    service: String,
    /// Workers, if it has any [default: one per CPU of --cpus]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: Option<u32>,
    /// CPUs to run on, such as 1 or 0-3,8 [default: those this process may use]
    #[arg(long, value_name = "LIST", value_parser = crate::serving::parse_cpus)]
    cpus: Option<std::vec::Vec<usize>>,
    /// Address of this machine to listen on
    ///
    /// Without it, and without --port, caches and databases listen only on their socket, all others
    /// on 127.0.0.1. Beyond loopback, anyone who reaches that address reaches the service. Caches
    /// and databases ask for a password, which is in a file of their folder; even so, PostgreSQL
    /// and MariaDB let nobody in from another host.
    #[arg(long, value_name = "ADDR")]
    address: Option<IpAddr>,
    /// Port of --address, or of 127.0.0.1 [default: any free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Return when it is ready, and leave it running
    #[arg(long)]
    detach: bool,
    /// Record in the register that it ended on its own, since nobody reads the output; stay only if
    /// the caller can be told that it is ready
    #[arg(long, hide = true)]
    unattended: bool,
    #[command(flatten)]
    trust: TrustFlag,
    /// Print where it is, once it is ready, as one JSON value (docs/schema/service-start.json)
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Returns the address asked for; a port alone means loopback.
    fn network_address(&self) -> Option<IpAddr> {
        let loopback = self.port.map(|_| Ipv4Addr::LOCALHOST.into());
        self.address.or(loopback)
    }
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let service = study::services::find(&arguments.service)?.service;
    arguments.trust.check(&service)?;
    let stop = StopSignal::listen(Again::Kills)?;
    let done = if arguments.detach && !arguments.unattended {
        detached::start(unattended(), arguments.json, console)
    } else {
        serve(&service, arguments, &stop, console)
    };
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => match sys::stop::heard() {
            Some(signal) => {
                let by = stopping::name(signal);
                console.error(&format!(
                    "stopped by {by} before {} was ready",
                    service.title
                ));
                Ok(stopping::exit_code(signal))
            }
            None => Err(error),
        },
    }
}

fn serve(
    service: &Service,
    arguments: &Arguments,
    stop: &StopSignal,
    console: &Console,
) -> anyhow::Result<()> {
    let (claim, entry) = enter(service).map_err(words)?;
    let wish = wish(arguments, entry.folder.clone())?;
    let running = RunningService::start(Path::new(OURSELVES), service, wish);
    let mut running = running.map_err(words)?;
    let entry = Entry {
        address: running.up.address,
        socket: running
            .up
            .service
            .socket
            .clone()
            .filter(|_| running.listens_on_its_socket()),
        password_file: running.up.password_file.clone(),
        connect: running.up.service.connect.clone(),
        ..entry
    };
    claim.publish(&entry).map_err(words)?;
    tell(&Ready::new(&entry, &running), arguments, console)?;
    if !ended_before(&running, stop)? {
        return Ok(());
    }
    // The check of a service that has ended says why it did.
    let Err(why) = running.check() else {
        return Ok(());
    };
    let why = words(why);
    if arguments.unattended {
        // Its folder is removed before its entry reports its end.
        drop(running);
        claim.fail(entry, why.to_string()).map_err(words)?;
    }
    Err(why)
}

/// Reports that the service is ready. In the background it stays only if the process that asked for
/// it receives the report.
fn tell(ready: &Ready, arguments: &Arguments, console: &Console) -> anyhow::Result<()> {
    let shown = ready.shown(arguments.json || arguments.unattended);
    if !arguments.unattended {
        console.say(&shown);
        return Ok(());
    }
    sys::process::outlive_parent()?;
    Console::tell(&shown).context("nobody is there to be told that it is ready")
}

/// Claims the service's name in the register of those that run.
fn enter(service: &Service) -> Result<(Claim, Entry), Failure> {
    let entry = Entry {
        name: service.name.clone(),
        title: service.title.clone(),
        version: agent::service::find(service)?.version,
        owner: register::ourselves()?,
        folder: new_folder(),
        address: None,
        socket: None,
        password_file: None,
        connect: None,
        failed: None,
        grace_ms: service.stop.grace_ms,
    };
    Ok((Register::here()?.claim(&entry)?, entry))
}

fn wish(arguments: &Arguments, folder: std::path::PathBuf) -> anyhow::Result<Wish> {
    let cpus = match &arguments.cpus {
        Some(cpus) => {
            sys::cpu::all_allowed(cpus).context("--cpus")?;
            cpus.clone()
        }
        None => sys::cpu::allowed().context("asking which CPUs may be used")?,
    };
    Ok(Wish {
        address: arguments.network_address(),
        port: arguments.port,
        workers: match arguments.workers {
            Some(workers) => workers,
            None => u32::try_from(cpus.len())?,
        },
        cpus,
        folder,
        ..Wish::default()
    })
}

/// Whether the service ended before anybody asked us to stop.
fn ended_before(running: &RunningService, stop: &StopSignal) -> anyhow::Result<bool> {
    let epoll = Epoll::new()?;
    epoll.add(running.as_fd(), 0, Interest::READ)?;
    epoll.add(stop.as_fd(), 1, Interest::READ)?;
    let mut events = Events::with_capacity(2);
    while events.iter().next().is_none() && sys::stop::heard().is_none() {
        epoll.wait(&mut events, None)?;
    }
    Ok(sys::stop::heard().is_none())
}

/// Returns the command that starts a service in a process that stays, with the arguments that were
/// typed after `start`.
fn unattended() -> Command {
    let typed = std::env::args_os().skip(1);
    let typed = typed.skip_while(|word| word != "start").skip(1);
    let mut command = Command::new(OURSELVES);
    command
        .args(["service", "start", "--unattended"])
        .args(typed);
    command
}
