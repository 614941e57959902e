//! Builds two commits under test in worktrees of their own, and starts what was built.
//!
//! The commands are the user's own. They run as that user, even as root, and in the user's
//! environment: a build needs its caches, and a container in CI has no other user.

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

/// A variable whose length differs at each start. It moves the stack, and so changes what shares a
/// cache line.
pub(crate) const PADDING: &str = "LINERATE_PADDING";
/// The variable by which we recognise the processes that a crash of ours leaves behind.
pub(crate) const FOLDER: &str = "LINERATE_FOLDER";
/// How long a server may take to end, ms: it is started again in every round.
const GRACE_MS: u32 = 300;
/// Limit of a log, bytes: more than any server under test writes.
const MOST_FILE_BYTES: u64 = 4 << 30;

/// A text whose length is drawn at random, below 4096 letters.
pub(crate) fn padding() -> String {
    let [high, low] = sys::random::bytes().unwrap_or_default();
    "x".repeat(usize::from(u16::from_be_bytes([high, low]) % 4096))
}

/// Starts what was built of a commit.
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

/// Describes the server as a service of which only the command that starts it is known.
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

/// The reading of a command line that succeeded; for any other, how it ended, in words.
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

/// Makes a command that runs a line with `sh` in a tree.
pub(crate) fn shell(line: &str, at: &Path, folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("/bin/sh");
    forget_the_hook(&mut command);
    command
        .args(["-c", line])
        .current_dir(at)
        .env(FOLDER, folder);
    command
}
