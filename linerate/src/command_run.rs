//! Runs a study of commands, from the order to the saved folder.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{bail, ensure};
use model::run::Rig;
use model::{CommandStudy, Doubt};
use study::commands::CommandOrder;
use study::store::{ResumedCommands, Store};

use crate::agents::Place;
use crate::console::Console;
use crate::repeat;
use crate::rig_flags::RigFlags;
use crate::run::{self, Left, RunFlags, RunFolder};
use crate::shown;
use crate::strangers::OwnWord;
use crate::target::TargetFlags;
use crate::trust;

const GOES_ON: Left = Left::Resumed { on_host: false };

/// Measures a study of commands into a new folder and reports on it. In a dry run it prints what it
/// would run, and runs nothing.
pub(crate) fn measure(
    name: &str,
    mut study: CommandStudy,
    target: &TargetFlags,
    rig: &RigFlags,
    dry_run: bool,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    if let Some(target) = &target.target {
        bail!("{name} measures commands of its own; leave --target {target} out");
    }
    let place = match rig.kind()? {
        None => Place::Loopback,
        Some(kind) => Place::of(kind, None, || rig.hosts.find(console))?,
    };
    if !dry_run {
        target.trust.check_study(&study)?;
    }
    ensure!(
        !flags.stacks,
        "--stacks is for studies of servers: `linerate explain -- COMMAND` says where a command's time goes"
    );
    if dry_run {
        console.say(&trust::would_run(&study));
        return Ok(ExitCode::SUCCESS);
    }
    let of_sizes = match flags.smoke {
        true => study.shorten_for_smoke(run::SMOKE_ROUNDS),
        false => None,
    };
    study.design.rounds = flags.rounds.unwrap_or(study.design.rounds);
    let seed = flags.seed();
    let folder = flags.folder(&study.name);
    let order = CommandOrder {
        study,
        seed,
        command: repeat::command(&["study", "run", name], seed, console),
        full: flags.full,
        doubts: of_sizes.map(Doubt::Command).into_iter().collect(),
    };
    let into = RunFolder::of_new(&folder);
    let outcome = run::with_campaign(&place, into, flags.yes, console, |campaign| {
        campaign.run_commands(order, &folder)
    });
    match run::conclude(outcome, into, GOES_ON, console)? {
        Some(stopped) => Ok(stopped),
        None => shown::show(&folder, flags.json, console),
    }
}

/// Resumes a run of commands that was stopped; returns the exit code if it is stopped again.
pub(crate) fn resume(
    folder: &Path,
    yes: bool,
    word: &OwnWord,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    // The folder is read once, so that what is checked here is what is resumed.
    let opened: ResumedCommands = Store::resume(folder)?;
    word.check(&opened.1)?;
    word.trust.check_study(&opened.1.study)?;
    let place = match &opened.1.rig {
        Rig::Loopback { .. } => Place::Loopback,
        rig => Place::of(rig.kind(), None, || word.hosts.find(console))?,
    };
    let folder = RunFolder::of_resumed(folder);
    let outcome = run::with_campaign(&place, folder, yes, console, |campaign| {
        campaign.resume_commands(opened)
    });
    run::conclude(outcome, folder, GOES_ON, console)
}
