//! `linerate service`: the programs that a study can measure beside our own server.

use std::process::ExitCode;

use clap::Subcommand;
use model::message::Failure;
use serde::Serialize;
use serde_json::json;
use study::services::{self, KnownService};

use crate::console::Console;
use crate::target::TrustFlag;

/// Version of the shapes of `list --json` and `show --json`.
const FORMAT: u32 = 1;

/// The programs that a study can measure with `--target`: described as data, found, not installed
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What can be measured here, and what is missing?
    linerate service list
  A ladder with nginx in the place of our own server:
    linerate study run http-json --target nginx

A service is one TOML file: how to find a program and tell its version, how to configure it in a
folder of its own, how to start it without root on a free loopback port, when it is ready, what it
must answer, and how to stop it. `services/NAME.toml` in the current folder wins over the one that
is built in; what is not Linerate's own runs only with --trust.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// The services there are, and whether their programs are installed
    #[command(after_long_help = "\
Examples:
  linerate service list
  What would have to be installed, for a script:
    linerate service list --json | jq -r '.services[].missing // empty'")]
    List {
        /// Print them as one JSON value (docs/schema/services.json)
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        trust: TrustFlag,
    },
    /// A service's file
    #[command(after_long_help = "\
Examples:
  Read how nginx is found, configured, started and stopped:
    linerate service show nginx
  Begin a service of your own:
    mkdir services && linerate service show nginx > services/mine.toml")]
    Show {
        /// Name of a service, or path of its file
        service: String,
        /// Print the service as one JSON value (docs/schema/service-show.json)
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json, trust } => list(*json, *trust, console)?,
        Action::Show { service, json } => show(service, *json, console)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str, as_json: bool, console: &Console) -> anyhow::Result<()> {
    let known = services::find(name)?;
    console.say(&if as_json {
        let (file, sha256) = (&known.file, known.sha256());
        let value =
            json!({ "format": FORMAT, "file": file, "sha256": sha256, "service": known.service });
        format!("{value:#}")
    } else {
        known.text.trim_end().to_owned()
    });
    Ok(())
}

/// All services; see `docs/schema/services.json`.
#[derive(Serialize)]
struct List {
    format: u32,
    services: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    title: String,
    file: Option<String>,
    sha256: String,
    serves: Vec<String>,
    program: Option<String>,
    version: Option<String>,
    missing: Option<String>,
}

fn list(json: bool, trust: TrustFlag, console: &Console) -> anyhow::Result<()> {
    let entries: Result<Vec<Entry>, _> = services::names()
        .iter()
        .map(|name| services::find(name).map(|known| entry(&known, trust)))
        .collect();
    let services = entries?;
    if json {
        let format = FORMAT;
        console.say(&serde_json::to_string_pretty(&List { format, services })?);
        return Ok(());
    }
    for entry in &services {
        console.say(&line(entry));
    }
    Ok(())
}

/// Asking a program for its version runs it, so one of somebody else's is only looked for.
fn entry(known: &KnownService, trust: TrustFlag) -> Entry {
    let service = &known.service;
    let (program, version, missing) = if trust.check(service).is_ok() {
        match agent::service::find(service) {
            Ok(found) => (Some(found.program), Some(found.version), None),
            Err(failure) => (None, None, Some(words(&failure))),
        }
    } else {
        match agent::service::locate(service) {
            Ok(program) => (Some(program.display().to_string()), None, None),
            Err(failure) => (None, None, Some(words(&failure))),
        }
    };
    Entry {
        name: service.name.clone(),
        title: service.title.clone(),
        file: known.file.clone(),
        sha256: known.sha256(),
        serves: service.serves.keys().cloned().collect(),
        program,
        version,
        missing,
    }
}

fn words(failure: &Failure) -> String {
    match failure.advice.as_str() {
        "" => failure.what.clone(),
        advice => format!("{}; {advice}", failure.what),
    }
}

fn line(entry: &Entry) -> String {
    let state = match (&entry.missing, &entry.version) {
        (Some(missing), _) => missing.clone(),
        (None, Some(version)) => format!("{} {version}", entry.title),
        (None, None) => format!("{}; its version is asked for with --trust", entry.title),
    };
    let from = entry.file.as_ref();
    let from = from.map_or_else(String::new, |file| format!(" ({file})"));
    format!("{:<16} {state}{from}", entry.name)
}
