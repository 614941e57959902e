//! `linerate service list`.

use agent::service::register::{Entry as Running, Register};
use schemars::JsonSchema;
use serde::Serialize;
use study::Refusal;
use study::services::{self, KnownService};

use crate::console::Console;
use crate::failure::words;
use crate::told::{self, template};
use crate::trust::TrustFlag;

/// The services there are, whether their programs are installed, and which run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List {
    /// One entry for each service, by name.
    services: Vec<Entry>,
    /// One entry for each service that was started here and runs, by name.
    running: Vec<Running>,
    /// One entry for each service that ended unasked in the background, until it is started or
    /// stopped again.
    failed: Vec<Failed>,
}

/// A service that ended unasked while nobody was there to be told.
#[derive(Serialize, JsonSchema)]
struct Failed {
    /// What `service stop` takes.
    name: String,
    /// What readers call it.
    title: String,
    /// What happened, with the ends of its logs.
    why: String,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// What `--target` takes.
    name: String,
    /// What readers call it; its name where its file is wrong.
    title: String,
    /// What it speaks on its port; null where its file is wrong.
    protocol: Option<model::service::Protocol>,
    /// Its file, below the current folder; null where it is built in.
    file: Option<String>,
    /// SHA-256 of its file, hexadecimal; null where its file is wrong.
    sha256: Option<String>,
    /// Paths that it answers.
    serves: Vec<String>,
    /// Path of its program here; null where it is not installed.
    program: Option<String>,
    /// What the program calls its version; null where it is not installed, or where it may not be
    /// asked without --trust.
    version: Option<String>,
    /// What is missing and how to install it, or what is wrong in its file; null where the program
    /// is here.
    missing: Option<String>,
}

pub(super) fn run(json: bool, trust: TrustFlag, console: &Console) {
    let found = |name: String| match services::find(&name) {
        Ok(known) => entry(&known, trust),
        Err(error) => unusable(name, &error),
    };
    let services: Vec<Entry> = services::names().into_iter().map(found).collect();
    // Where there is no register, nothing was started.
    let entries = Register::here().map_or_else(|_| Vec::new(), |register| register.entries());
    let (running, ended): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| entry.failed.is_none());
    let failed: Vec<Failed> = ended.into_iter().map(failed).collect();
    let list = List {
        services,
        running,
        failed,
    };
    told::say(&list, template!("service-list"), json, console);
}

/// Asking a program for its version runs it, so one of somebody else's is only looked for.
fn entry(known: &KnownService, trust: TrustFlag) -> Entry {
    let service = &known.service;
    let (program, version, missing) = if trust.check(service).is_ok() {
        match agent::service::find(service) {
            Ok(found) => (Some(found.program), Some(found.version), None),
            Err(failure) => (None, None, Some(words(failure).to_string())),
        }
    } else {
        match agent::service::locate(service) {
            Ok(program) => (Some(program.display().to_string()), None, None),
            Err(failure) => (None, None, Some(words(failure).to_string())),
        }
    };
    Entry {
        name: service.name.clone(),
        title: service.title.clone(),
        protocol: Some(service.protocol),
        file: known.file.clone(),
        sha256: Some(known.sha256()),
        serves: service.serves.keys().cloned().collect(),
        program,
        version,
        missing,
    }
}

/// One whose file is wrong: the others are there all the same.
fn unusable(name: String, error: &Refusal) -> Entry {
    Entry {
        title: name.clone(),
        protocol: None,
        file: Some(services::path_of(&name)),
        name,
        sha256: None,
        serves: Vec::new(),
        program: None,
        version: None,
        missing: Some(error.to_string()),
    }
}

fn failed(entry: Running) -> Failed {
    Failed {
        name: entry.name,
        title: entry.title,
        why: entry.failed.unwrap_or_default(),
    }
}
