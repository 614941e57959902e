//! `linerate service`: the programs that a study can measure beside our own server.

mod detached;
pub(crate) mod list;
pub(crate) mod ready;
mod start;
pub(crate) mod stop;

use std::process::ExitCode;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use study::services;

use crate::console::Console;
use crate::shape;
use crate::trust::TrustFlag;

/// Find, start and stop programs that a study can measure, as their files say
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What can be measured here, and what is missing?
    linerate service list
  A Redis of your own, until Ctrl-C:
    linerate service start redis
  A ladder with nginx instead of our own server:
    linerate study run http-json --target nginx

A service is one TOML file: how to find a program and its version, how to configure it in a folder
of its own, how to start it without root on a socket or an address, when it is ready, what it must
answer, and how to stop it. `services/NAME.toml` in the current folder takes precedence over the
built-in one; a service that is not Linerate's own runs only with --trust.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List all services, whether their programs are installed, and which run
    #[command(after_long_help = "\
Examples:
  linerate service list
  What would have to be installed, for a script:
    linerate service list --json | jq -r '.services[].missing // empty'
  The command that connects to redis:
    linerate service list --json | jq -r '.running[] | select(.name == \"redis\").connect'")]
    List {
        /// Print them as one JSON value (docs/schema/services.json)
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        trust: TrustFlag,
    },
    /// Show a service's file
    #[command(after_long_help = "\
Examples:
  Read how nginx is found, configured, started and stopped:
    linerate service show nginx
  Begin a service of your own:
    mkdir services
    linerate service show nginx | sed 's/^name = .*/name = \"mine\"/' > services/mine.toml")]
    Show {
        /// Name of a service, or path of its file
        service: String,
        /// Print the service as one JSON value (docs/schema/service-show.json)
        #[arg(long)]
        json: bool,
    },
    Start(start::Arguments),
    /// Stop a service that was started, and remove its folder
    ///
    /// It is asked to end, and killed when its grace period is over, with all that it started. What
    /// a crash left of a service is removed too.
    #[command(after_long_help = "\
Examples:
  linerate service stop redis")]
    Stop {
        /// Name of a running service; `linerate service list` shows which run
        service: String,
        /// Print what was done as one JSON value (docs/schema/service-stop.json)
        #[arg(long)]
        json: bool,
    },
    /// Keep one service for another process of ours
    #[command(hide = true)]
    Keep,
}

/// One service, with its defaults filled in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServiceShow {
    /// Its file, below the current folder; null where it is built in.
    file: Option<String>,
    /// SHA-256 of its file, hexadecimal.
    sha256: String,
    /// The service.
    service: model::Service,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    if !matches!(arguments.action, Action::Keep | Action::Show { .. }) {
        agent::service::register::studies::clear_left();
    }
    match &arguments.action {
        Action::List { json, trust } => list::run(*json, *trust, console),
        Action::Show { service, json } => show(service, *json, console)?,
        Action::Start(arguments) => return start::run(arguments, console),
        Action::Stop { service, json } => stop::run(service, *json, console)?,
        Action::Keep => agent::service::keep()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str, as_json: bool, console: &Console) -> anyhow::Result<()> {
    let known = services::find(name)?;
    console.say(&if as_json {
        shape::lines(ServiceShow {
            sha256: known.sha256(),
            file: known.file,
            service: known.service,
        })
    } else {
        known.text.trim_end().to_owned()
    });
    Ok(())
}
