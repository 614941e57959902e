//! Two commits under test: what is built of them in worktrees of their own, and how it is started.
//!
//! Their commands are the user's own and are run as the user, root included, in his environment: a build needs its
//! caches, and a container of CI has nobody else.

mod git;
mod runs;
mod trees;

use std::net::Ipv4Addr;
use std::path::Path;

use machine::cpus::CpuSplit;
use model::Service;
use model::command::{CommandReading, CommandTrouble};
use model::failure::Failure;
use model::gate::{Build, Job};
use model::request::RequestSpec;
use model::service::{
    Exchange, Find, Logs, Protocol, Readiness, Ready, SERVICE_FORMAT, Start, Stop, StopSignal,
};
use wire::url::HttpUrl;

use crate::Setup;
use crate::command::Kept;
use crate::held_server::HeldServer;
use crate::running;
use crate::service::register::studies;
use crate::service::{self, RunningService, Wish};
use crate::speaks::Speaks;
use crate::target::Target;

pub(crate) use git::forget_the_hook;
pub use git::{Repository, Resolved};
pub(crate) use runs::{Runs, measure};
pub(crate) use trees::{Tree, Trees};

/// A variable of another length at each start: it moves the stack, and with it what lies in one line of a cache.
pub(crate) const PADDING: &str = "LINERATE_PADDING";
/// The variable by which what a crash of ours leaves is told from anything else.
pub(crate) const FOLDER: &str = "LINERATE_FOLDER";
/// How long it may take to end, ms: in every round it is started anew.
const GRACE_MS: u32 = 300;
/// More than any server of a test writes.
const MOST_FILE_BYTES: u64 = 4 << 30;

/// So many letters as were drawn now.
pub(crate) fn padding() -> String {
    let [high, low] = sys::random::bytes().unwrap_or_default();
    "x".repeat(usize::from(u16::from_be_bytes([high, low]) % 4096))
}

/// Starts what was built.
pub(crate) fn start(setup: &Setup, tree: &Tree, cpus: &CpuSplit) -> Result<Target, Failure> {
    match &tree.build.job {
        Job::Serve {
            command,
            request,
            within_ms,
        } => serve(
            setup,
            tree,
            &described(&tree.build, command, *within_ms),
            (request, cpus),
        )
        .map_err(|failure| Failure {
            what: format!("`{command}`: {}", failure.what),
            ..failure
        }),
        Job::Run { command } => {
            Runs::begin(tree, command).map(|runs| Target::of_runs(Box::new(runs)))
        }
    }
}

fn serve(
    setup: &Setup,
    tree: &Tree,
    service: &Service,
    (request, cpus): (&RequestSpec, &CpuSplit),
) -> Result<Target, Failure> {
    let folder = service::new_folder();
    let found_by = studies::enter(service, &folder)?;
    let wish = Wish {
        address: Some(Ipv4Addr::LOCALHOST.into()),
        workers: u32::try_from(cpus.server.len()).unwrap_or(1).max(1),
        cpus: cpus.server.clone(),
        folder,
        site: Some(tree.path.clone()),
        ..Wish::default()
    };
    let mut process = RunningService::start(&setup.program, service, wish)?;
    let address = process.network_address()?;
    let url = HttpUrl::parse(&request.url).map_err(|error| Failure::plain(error.to_string()))?;
    let (asked, answers) = running::look(&address.into(), &url, request)
        .map_err(|wrong| process.failure(&format!("is up, but {}", wrong.what)))?;
    let mut target = Target::met(address.into(), Speaks::Asked(Box::new(asked)), Vec::new());
    target.pids = vec![process.up.pid];
    target.answers = answers;
    target.hold(HeldServer::Service(Box::new(process), found_by));
    Ok(target)
}

/// The server as a service, of which nothing is known but how it is started.
fn described(build: &Build, command: &str, within_ms: u32) -> Service {
    Service {
        format: SERVICE_FORMAT,
        name: build.name.clone(),
        title: build.title.clone(),
        protocol: Protocol::Http,
        find: Find {
            version: None,
            path: None,
            programs: vec!["sh".to_owned()],
            places: Vec::new(),
            version_arguments: Vec::new(),
            version_pattern: String::new(),
            install: [].into(),
            home: String::new(),
        },
        environment: [].into(),
        files: [].into(),
        prepare: Vec::new(),
        start: Start {
            program: None,
            arguments: vec!["-c".to_owned(), command.to_owned()],
            on_socket: None,
            on_address: Vec::new(),
        },
        socket: None,
        connect: None,
        ready: Ready {
            when: Readiness::Exchange(Exchange {
                send: String::new(),
                expect: String::new(),
            }),
            within_ms,
        },
        serves: [].into(),
        stop: Stop {
            signal: StopSignal::Terminate,
            grace_ms: GRACE_MS,
        },
        logs: Logs {
            files: Vec::new(),
            limit_bytes: MOST_FILE_BYTES,
        },
    }
}

/// What a line spent that ended well; of another, how it ended, in words.
fn ended_well(
    ran: Result<(CommandReading, Kept), CommandTrouble>,
) -> Result<CommandReading, String> {
    match ran {
        Ok((reading, _)) if reading.end.is_success() => Ok(reading),
        Ok((reading, _)) => Err(reading.ending()),
        Err(CommandTrouble::Failed(failure)) => Err(failure.what),
        Err(CommandTrouble::Stopped) => Err("was ended by a signal to us".to_owned()),
    }
}

/// A line for `sh` in a tree.
pub(crate) fn shell(line: &str, at: &Path, folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("/bin/sh");
    forget_the_hook(&mut command);
    command
        .args(["-c", line])
        .current_dir(at)
        .env(FOLDER, folder);
    command
}
