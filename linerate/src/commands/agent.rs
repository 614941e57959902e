//! `linerate agent`: works on one host for a study, over standard input and output.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agent::Place;
use agent::held_line::{HeldLine, heard_to_its_end};
use anyhow::Context as _;
use model::run::Rig;
use sys::stop::{Again, StopSignal};

use crate::ourselves::OURSELVES;

/// Work on one host for a study: requests on standard input, answers on standard output
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Work in a network namespace of its own, if the kernel allows it
    #[arg(long)]
    private_namespace: bool,
    /// Work as a host of this rig
    #[arg(long, value_name = "RIG", value_parser = rig)]
    rig: Option<Rig>,
    /// The network namespace that a rig put this process into, by its inode
    #[arg(long, value_name = "INODE", requires = "rig")]
    namespace: Option<u64>,
    /// Treat the line as cut when nothing comes for this many seconds
    #[arg(long, value_name = "SECONDS")]
    silence_limit_s: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(inode) = arguments.namespace {
        machine::namespace::adopt(inode).context("using the rig's namespace")?;
    }
    let setup = agent::Setup {
        program: PathBuf::from(OURSELVES),
        place: match &arguments.rig {
            Some(rig) => Place::Host(rig.clone()),
            None if arguments.private_namespace => Place::PrivateNamespace,
            None => Place::Here,
        },
    };
    let _stop = StopSignal::listen(Again::Kills)?;
    let output = std::io::stdout().lock();
    match arguments.silence_limit_s.map(Duration::from_secs) {
        None => agent::answer(setup, std::io::stdin().lock(), output)?,
        Some(limit) => {
            let input = File::from(sys::standard_input::take()?);
            let input = heard_to_its_end(HeldLine::new(input, limit)?)?;
            agent::answer(setup, BufReader::new(input), output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the name of a rig with several hosts.
fn rig(name: &str) -> Result<Rig, String> {
    let all = [Rig::Netns, Rig::Router, Rig::Tunnel, Rig::Hosts];
    all.into_iter()
        .find(|rig| rig.kind().name() == name)
        .ok_or_else(|| format!("there is no rig `{name}` with several hosts"))
}
