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

/// All services, whether their programs are installed, and which run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List {
    /// One entry for each service, by name.
    services: Vec<Entry>,
    /// One entry for each service that was started here and runs, by name.
    running: Vec<Running>,
    /// One entry for each service that ended on its own in the background, until it is started or
    /// stopped again.
    failed: Vec<Failed>,
}

/// A service that ended on its own in the background, where nobody saw it.
#[derive(Serialize, JsonSchema)]
struct Failed {
    /// Name for `service stop`.
    name: String,
    /// Title for a reader.
    title: String,
    /// What happened, with the last lines of its logs.
    why: String,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// Name for `--target`.
    name: String,
    /// Title for a reader; its name where its file is wrong.
    title: String,
    /// Protocol that it speaks; null where its file is wrong.
    protocol: Option<model::service::Protocol>,
    /// Its file, below the current folder; null where it is built in.
    file: Option<String>,
    /// SHA-256 of its file, hexadecimal; null where its file is wrong.
    sha256: Option<String>,
    /// Paths that it answers.
    serves: Vec<String>,
    /// Path of its program here; null where it is not installed.
    program: Option<String>,
    /// Version that the program reports; null where it is not installed, or where it may not be
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

/// Returns the entry of a service. Asking a program for its version runs it, so the program of a
/// service that is not trusted is only located.
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

/// Returns the entry of a service whose file is wrong, so that the others are still listed.
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
