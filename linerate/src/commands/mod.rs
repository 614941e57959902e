//! The commands, one file each: arguments in, a call into a library, words out.

mod agent;
mod ask;
pub(crate) mod bench;
mod completions;
pub(crate) mod doctor;
pub(crate) mod download;
mod echo;
mod explain;
mod facts;
mod gate;
pub(crate) mod levers;
mod limits;
pub(crate) mod link;
pub(crate) mod load;
mod man;
pub(crate) mod packets;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod probe;
mod quantiles;
pub(crate) mod rig;
mod role;
mod serve;
pub(crate) mod service;
pub(crate) mod stream;
pub(crate) mod study;
mod traffic_price;
mod versus;
mod whole_machine;

use std::process::ExitCode;

use clap::Subcommand;

use crate::console::Console;
use crate::cpu_flags::CpuFlags;
use crate::ladder_flags::LadderFlags;
use crate::rig_flags::RigFlags;
use crate::run::RunFlags;
use crate::target::TargetFlags;

/// The study that runs without a command.
const MAIN_STUDY: &str = "http-json";

#[derive(Subcommand)]
pub(crate) enum Command {
    Versus(versus::Arguments),
    Bench(Box<bench::Arguments>),
    Gate(Box<gate::Arguments>),
    Explain(Box<explain::Arguments>),
    Doctor(doctor::Arguments),
    Facts(facts::Arguments),
    Study(study::Arguments),
    Levers(levers::Arguments),
    Service(service::Arguments),
    Rig(rig::Arguments),
    Serve(serve::Arguments),
    Load(Box<load::Arguments>),
    Download(download::Arguments),
    Link(Box<link::Arguments>),
    Page(page::Arguments),
    Packets(packets::Arguments),
    Stream(Box<stream::Arguments>),
    Plan(plan::Arguments),
    Probe(probe::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[command(hide = true)]
    Echo(echo::Arguments),
    #[command(hide = true)]
    Ask(ask::Arguments),
    #[command(hide = true)]
    Agent(agent::Arguments),
    #[command(hide = true)]
    Role(role::Arguments),
}

/// Runs one command; without one, the main job.
pub(crate) fn run(
    command: Option<Command>,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    match command {
        Some(Command::Versus(arguments)) => versus::run(&arguments, console),
        Some(Command::Bench(arguments)) => bench::run(&arguments, console),
        Some(Command::Gate(arguments)) => gate::run(&arguments, console),
        Some(Command::Explain(arguments)) => explain::run(&arguments, console),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments, console),
        Some(Command::Facts(arguments)) => facts::run(&arguments, console),
        Some(Command::Study(arguments)) => study::run(&arguments, console),
        Some(Command::Levers(arguments)) => levers::run(&arguments, console),
        Some(Command::Service(arguments)) => service::run(&arguments, console),
        Some(Command::Serve(arguments)) => serve::run(&arguments, console),
        Some(Command::Load(arguments)) => load::run(&arguments, console),
        Some(Command::Download(arguments)) => download::run(&arguments, console),
        Some(Command::Link(arguments)) => link::run(&arguments, console),
        Some(Command::Page(arguments)) => page::run(&arguments, console),
        Some(Command::Packets(arguments)) => packets::run(&arguments, console),
        Some(Command::Stream(arguments)) => stream::run(&arguments, console),
        Some(Command::Plan(arguments)) => plan::run(&arguments, console),
        Some(Command::Probe(arguments)) => probe::run(&arguments, console),
        Some(Command::Completions(arguments)) => Ok(completions::run(&arguments, console)),
        Some(Command::Man(arguments)) => man::run(&arguments, console),
        Some(Command::Rig(arguments)) => rig::run(&arguments, console),
        Some(Command::Echo(arguments)) => echo::run(&arguments, console),
        Some(Command::Ask(arguments)) => ask::run(&arguments, console),
        Some(Command::Agent(arguments)) => agent::run(&arguments),
        Some(Command::Role(arguments)) => role::run(&arguments),
        None => study::measure(
            MAIN_STUDY,
            &TargetFlags::default(),
            &RigFlags::default(),
            LadderFlags::default(),
            &CpuFlags::default(),
            flags,
            console,
        ),
    }
}
