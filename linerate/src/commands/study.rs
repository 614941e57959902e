//! `linerate study`: lists studies, runs them and reports on runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use model::run::RunKind;
use model::study::StudyFile;
use schemars::JsonSchema;
use serde::Serialize;
use study::Order;
use study::catalogue::Listed;

use crate::agents::Place;
use crate::command_run;
use crate::commands::{bench, load};
use crate::console::Console;
use crate::cpu_flags::CpuFlags;
use crate::ladder_flags::LadderFlags;
use crate::repeat;
use crate::rig_flags::RigFlags;
use crate::run::{self, RunFlags};
use crate::shape;
use crate::shown;
use crate::strangers::OwnWord;
use crate::target::{self, TargetFlags};
use crate::told::{self, template};
use crate::waiting::{self, Waiting};

/// Run a study, resume one that was stopped, or report on a run
///
/// A study is a question with a design, factors and a workload: one TOML file. Some are built in;
/// `studies/NAME.toml` below the current folder takes precedence over a built-in one of that name.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: StudyAction,
}

#[derive(Subcommand)]
enum StudyAction {
    /// List the studies: those built in, and the files of `./studies`
    ///
    /// After them come the runs that wait for a reboot, each with the command that resumes it:
    /// those in the current folder and in `linerate-runs`.
    #[command(after_long_help = "\
Examples:
  linerate study list
  Only the names, for a script:
    linerate study list --json | jq -r '.studies[].name'")]
    List {
        /// Print one JSON value (docs/schema/study-list.json)
        #[arg(long)]
        json: bool,
    },
    /// Show a study's file: its question, method, steps and published figures
    #[command(after_long_help = "\
Examples:
  Read what the main job asks and how:
    linerate study show http-json
  Begin a study of your own:
    linerate study show http-json > mine.toml")]
    Show {
        /// Name of a study, or path of its file
        study: String,
        /// Print the study as one JSON value (docs/schema/study-show.json)
        #[arg(long)]
        json: bool,
    },
    /// Measure a study on this machine
    ///
    /// Client and server run in a network namespace of their own; nothing of this machine is
    /// changed unless `--host` is given. A study of commands runs them as an ordinary user in a
    /// folder of their own, which is removed when the run ends. Results are on the disk after each
    /// block; a run that was stopped resumes with the round that was under way.
    #[command(after_long_help = "\
Examples:
  The main job, with its folder named:
    linerate study run http-json --out before
  The same with nginx instead of our own server:
    linerate study run http-json --target nginx
  How throughput grows with the workers:
    linerate study run http-json --target nginx --workers 1,2,4
  With client and server in namespaces of their own and a router between:
    linerate study run http-json --target nginx --rig router
  On two machines of yours, over SSH:
    linerate study run http-json --hosts hosts.toml
  Every step of the ladder, and the one that needs a reboot, for which the run waits:
    linerate study run http-json --whole --reboot --out ladder
  Which steps can be climbed here, and what is missing for the rest:
    linerate study run http-json --whole --dry-run
  A first try of a study of your own:
    linerate study run mine.toml --smoke
  The judgement for another program:
    linerate study run http-json --json --quiet")]
    Run {
        /// Name of a study, or path of its file
        study: String,
        #[command(flatten)]
        target: TargetFlags,
        #[command(flatten)]
        rig: RigFlags,
        #[command(flatten)]
        ladder: LadderFlags,
        #[command(flatten)]
        cpus: CpuFlags,
        #[command(flatten)]
        flags: RunFlags,
    },
    /// Resume a run that was stopped
    ///
    /// Rounds that were saved completely are kept. The rest of the plan is measured in a new epoch,
    /// with the CPU, the kernel and the version of Linerate that the run was begun with. A run that
    /// waits for a reboot resumes in another boot, if its step really took effect there. `--host`,
    /// `--trust` and `--hosts` must be given again: a run folder cannot give your permission.
    #[command(after_long_help = "\
Examples:
  linerate study resume linerate-runs/http-json-20260101T120000Z
  After the reboot that a run waits for, and after each further one back and forth:
    linerate study resume ladder")]
    Resume {
        /// Folder of the run
        folder: PathBuf,
        /// Load this machine even when it is at work
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        word: OwnWord,
        /// Print the judgement as one JSON value (docs/schema/judgement.json; for a study of
        /// commands, factorial.json; for `linerate bench`, bench.json)
        #[arg(long)]
        json: bool,
    },
    /// Judge a run again and write its report
    ///
    /// It reads only the run folder, so it works on any machine. The report is written into the
    /// folder as `report.html`.
    #[command(after_long_help = "\
Examples:
  linerate study report linerate-runs/http-json-20260101T120000Z
  The effect of each step, for a script:
    linerate study report before --json | jq '.steps[] | [.arm, .effect.ratio]'")]
    Report {
        /// Folder of the run
        folder: PathBuf,
        /// Print the judgement as one JSON value (docs/schema/judgement.json; for a study of
        /// commands, factorial.json; for `linerate bench`, bench.json)
        #[arg(long)]
        json: bool,
    },
    /// Show two runs side by side, without a verdict
    ///
    /// Between two runs the machine itself may have changed, so there are figures and no verdict.
    /// For a verdict, measure both as arms of one run.
    #[command(after_long_help = "\
Examples:
  linerate study compare before after")]
    Compare {
        /// Folder of one run
        one: PathBuf,
        /// Folder of another run of the same study
        other: PathBuf,
        /// Print one JSON value (docs/schema/study-compare.json; for studies of commands,
        /// study-compare-commands.json)
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        StudyAction::List { json } => list(*json, console),
        StudyAction::Show { study, json } => show(study, *json, console),
        StudyAction::Run {
            study,
            target,
            rig,
            ladder,
            cpus,
            flags,
        } => measure(study, target, rig, *ladder, cpus, flags, console),
        StudyAction::Resume {
            folder,
            yes,
            word,
            json,
        } => resume(folder, *yes, word, *json, console),
        StudyAction::Report { folder, json } => shown::report(folder, *json, console),
        StudyAction::Compare { one, other, json } => compare(one, other, *json, console),
    }
}

fn resume(
    folder: &Path,
    yes: bool,
    word: &OwnWord,
    json: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let stopped = match report::folder::kind(folder) {
        Ok(RunKind::Commands) => command_run::resume(folder, yes, word, console)?,
        Ok(RunKind::Bench) => bench::resume(folder, word, console)?,
        Ok(RunKind::ManyBlocks) => return load::many_blocks::resume(folder, word, json, console),
        // For a folder that cannot be read, `run::resume` says why.
        Ok(RunKind::Look) => {
            anyhow::bail!("a look cannot be resumed: `linerate explain` makes a new one")
        }
        Ok(RunKind::Streams) => {
            anyhow::bail!(
                "a test of streams cannot be resumed: `linerate stream` begins a new one; `linerate study report` shows what was saved"
            )
        }
        Ok(RunKind::Load) | Err(_) => run::resume(folder, yes, word, console)?,
    };
    match stopped {
        Some(stopped) => Ok(stopped),
        None => shown::show(folder, json, console),
    }
}

/// Measures a study by its name; the main job is measured so too.
pub(crate) fn measure(
    name: &str,
    target: &TargetFlags,
    rig: &RigFlags,
    ladder: LadderFlags,
    cpus: &CpuFlags,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let found = study::catalogue::find(name)?;
    found.check_levers(&machine::planted::shapes())?;
    let mut study = match found.study {
        StudyFile::Load(study) => *study,
        StudyFile::Commands(study) => {
            ladder.refuse(name)?;
            cpus.refuse(name)?;
            return command_run::measure(name, *study, target, rig, ladder.dry_run, flags, console);
        }
    };
    let targets = target.targets(&mut study)?;
    ladder.apply(&mut study)?;
    cpus.apply(&mut study);
    study.name_target(target::name(&targets));
    flags.shorten(&mut study);
    study.rig = rig.kind()?.unwrap_or(study.rig);
    let seed = flags.seed();
    let found = || rig.hosts.find(console);
    let place = Place::of(study.rig, study.link.as_ref(), found)?.drawing(seed);
    if let Place::Linked(plan) = &place {
        console.note(&format!("link: {}", report::link::words(plan)));
    }
    let run_name = match target.name() {
        Some(service) => format!("{}-{service}", study.name),
        None => study.name.clone(),
    };
    let command = repeat::command(&["study", "run", name], seed, console);
    let order = Order {
        cpus: cpus.wish(),
        full: flags.full,
        on_host: ladder.host,
        reboot: ladder.reboot,
        ..Order::new(study, targets, seed, command)
    };
    if ladder.dry_run {
        return run::plan(order, &place, console);
    }
    let folder = flags.folder(&run_name);
    match run::measure(order, &place, &folder, flags, console)? {
        Some(stopped) => Ok(stopped),
        None => shown::show(&folder, flags.json, console),
    }
}

/// All studies: those built in, and the files of `./studies`; and the runs that wait for a reboot.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StudyList {
    /// One entry for each study.
    studies: Vec<StudyShape>,
    /// One entry for each run in the current folder or in `linerate-runs` that waits for a reboot.
    waiting: Vec<Waiting>,
}

/// A study, or what is wrong with its file.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum StudyShape {
    Good {
        /// Name for `study run` and `study show`.
        name: String,
        /// Path of its file; null for a study built in.
        file: Option<String>,
        /// Title for a reader.
        title: String,
        /// The question it answers.
        question: String,
    },
    Bad {
        /// Name for `study run` and `study show`.
        name: String,
        /// Path of its file; null for a study built in.
        file: Option<String>,
        /// What is wrong with its file.
        error: String,
    },
}

/// One study, with its defaults filled in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StudyShow {
    /// Path of its file; for a built-in study, the name that its file had.
    file: String,
    /// The study: of servers under load, or of commands.
    study: model::study::StudyFile,
}

fn list(as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let list = StudyList {
        studies: study::catalogue::all().iter().map(listed_shape).collect(),
        waiting: waiting::runs(console),
    };
    told::say(&list, template!("study-list"), as_json, console);
    Ok(ExitCode::SUCCESS)
}

fn listed_shape(listed: &Listed) -> StudyShape {
    let (name, file) = (listed.name.clone(), listed.file.clone());
    match &listed.study {
        Ok(study) => StudyShape::Good {
            name,
            file,
            title: study.title().to_owned(),
            question: study.question().to_owned(),
        },
        Err(error) => StudyShape::Bad {
            name,
            file,
            error: error.to_string(),
        },
    }
}

fn show(name: &str, as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let found = study::catalogue::find(name)?;
    console.say(&if as_json {
        let (file, study) = (found.file, found.study);
        shape::lines(StudyShow { file, study })
    } else {
        found.text.trim_end().to_owned()
    });
    Ok(ExitCode::SUCCESS)
}

fn compare(one: &Path, other: &Path, as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    console.say(&shown::compared(one, other, as_json, console)?);
    Ok(ExitCode::SUCCESS)
}
