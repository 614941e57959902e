//! `linerate study`: the studies there are, and runs of them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use study::{Order, Targets};

use crate::console::Console;
use crate::run::{self, RunFlags};

/// Run a study, go on with one that was stopped, or report on a run
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// The studies there are
    List,
    /// A study's file: its question, method, steps and published figures
    Show {
        /// Name of a study, or path of its file
        study: String,
    },
    /// Measure a study on this machine
    Run {
        /// Name of a study, or path of its file; `studies/NAME.toml` here wins over the built-in
        study: String,
        #[command(flatten)]
        flags: RunFlags,
    },
    /// Go on with a run that was stopped
    Resume {
        /// Folder of the run
        folder: PathBuf,
        #[command(flatten)]
        flags: ResumeFlags,
    },
    /// Judge a run again and write its report
    Report {
        /// Folder of the run
        folder: PathBuf,
        /// Print the judgement as JSON
        #[arg(long)]
        json: bool,
    },
    /// Two runs side by side, without a verdict
    Compare {
        /// Folder of one run
        one: PathBuf,
        /// Folder of another run of the same study
        other: PathBuf,
    },
}

#[derive(clap::Args)]
struct ResumeFlags {
    /// Load this machine even when it is at work
    #[arg(long)]
    yes: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List => list(console),
        Action::Show { study } => show(study, console),
        Action::Run { study, flags } => measure(study, flags, console),
        Action::Resume { folder, flags } => {
            let ResumeFlags { yes, json } = *flags;
            run::resume(
                folder,
                &RunFlags {
                    yes,
                    json,
                    ..RunFlags::default()
                },
                console,
            )
        }
        Action::Report { folder, json } => run::show(folder, *json, console),
        Action::Compare { one, other } => compare(one, other, console),
    }
}

/// Measures a study by name: also the main job.
pub(crate) fn measure(name: &str, flags: &RunFlags, console: &Console) -> anyhow::Result<ExitCode> {
    let found = study::catalogue::find(name)?;
    found.check_levers(&machine::levers::shapes())?;
    let mut study = found.study;
    flags.shorten(&mut study);
    let seed = flags.seed();
    let folder = flags.folder(&study.name);
    let mut command = format!("linerate study run {name} --seed {seed}");
    if flags.smoke {
        command += " --smoke";
    }
    if let Some(rounds) = flags.rounds {
        command += &format!(" --rounds {rounds}");
    }
    let order = Order {
        study,
        targets: Targets::Ours,
        seed,
        command,
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        full: flags.full,
    };
    run::measure(order, &folder, flags, console)
}

fn list(console: &Console) -> anyhow::Result<ExitCode> {
    for study in study::catalogue::built_in()? {
        console.say(&format!("{:<16} {}", study.name, study.title));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str, console: &Console) -> anyhow::Result<ExitCode> {
    let text = study::catalogue::find(name)?.text;
    console.say(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn compare(
    one: &std::path::Path,
    other: &std::path::Path,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let (one_run, _, one_judged) = run::judged(one)?;
    let (other_run, _, other_judged) = run::judged(other)?;
    let page = report::compare::compare(
        (&one_run, &one_judged),
        (&other_run, &other_judged),
        console.width(),
    )?;
    console.say(&page);
    Ok(ExitCode::SUCCESS)
}
