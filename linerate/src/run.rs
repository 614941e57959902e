//! One run from order to report, as the main job, `study run`, `study resume` and `versus` share
//! it: start an agent, drive the campaign, judge, write the report, say the answer.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use model::{BlockRecord, Judgement, RunRecord};
use study::transport::LocalAgent;
use study::{Campaign, CampaignError, Monotonic, Order};
use sys::stop::{Again, StopSignal};

use crate::console::Console;
use crate::progress::ConsoleProgress;
use crate::stopping;

/// Name of the report in a run folder.
pub(crate) const REPORT_FILE: &str = "report.html";

/// Flags of everything that measures.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunFlags {
    /// Folder for the run [default: linerate-runs/STUDY-UTC]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Load this machine even when it is at work
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also record host name, user name and addresses in the run folder
    #[arg(long)]
    pub(crate) full: bool,
    /// Seed of the order of arms and of arrivals; the same seed repeats the same plan
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Rounds instead of the study's own; verdicts need 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub(crate) rounds: Option<u32>,
    /// Two short rounds to see that everything works; gives figures but no verdicts
    #[arg(long, conflicts_with = "rounds")]
    pub(crate) smoke: bool,
}

impl RunFlags {
    /// Applies `--rounds` and `--smoke` to a study.
    pub(crate) fn shorten(&self, study: &mut model::Study) {
        if let Some(rounds) = self.rounds {
            study.design.rounds = rounds;
        }
        if self.smoke {
            study.design.rounds = 2;
            study.design.score_ms = 60;
            study.design.settle_ms = 20;
            if let Some(latency) = &mut study.latency {
                latency.blocks = 1;
                latency.score_ms = 60;
            }
        }
    }

    /// The seed asked for, or one that nobody has chosen.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(fresh_seed)
    }

    /// The folder asked for, or one under `linerate-runs` that carries study and time.
    pub(crate) fn folder(&self, study: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let utc = humantime::format_rfc3339_seconds(sys::clock::wall()).to_string();
            let stamp: String = utc.chars().filter(|c| !matches!(c, '-' | ':')).collect();
            PathBuf::from("linerate-runs").join(format!("{study}-{stamp}"))
        })
    }
}

/// A seed that nobody has chosen.
pub(crate) fn fresh_seed() -> u64 {
    let now = sys::clock::wall().duration_since(std::time::UNIX_EPOCH);
    // Ten digits are enough to differ and few enough to type.
    now.map_or(0, |since| u64::from(since.subsec_nanos()))
}

/// Measures an order into a new folder and reports on it.
pub(crate) fn measure(
    order: Order,
    folder: &Path,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let ours = matches!(order.targets, study::Targets::Ours);
    let outcome = with_campaign(ours, flags.yes, console, |campaign| {
        campaign.run(order, folder).map(drop)
    });
    conclude(outcome, folder, ours, flags.json, console)
}

/// Goes on with a run that was stopped, and reports on it.
pub(crate) fn resume(
    folder: &Path,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let outcome = with_campaign(true, flags.yes, console, |campaign| {
        campaign.resume(folder).map(drop)
    });
    conclude(outcome, folder, true, flags.json, console)
}

/// Shows a run that ended, and says what is left of one that did not.
fn conclude(
    outcome: anyhow::Result<()>,
    folder: &Path,
    can_resume: bool,
    json: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let Err(error) = outcome else {
        return show(folder, json, console);
    };
    let left = whats_left(folder, can_resume);
    match (sys::stop::heard(), left) {
        (Some(signal), left) => {
            let left = left.unwrap_or_else(|| "nothing was measured, nothing is left".to_owned());
            console.error(&format!("stopped by {}; {left}", stopping::name(signal)));
            Ok(stopping::exit_code(signal))
        }
        (None, Some(left)) => Err(error.context(format!("the run stopped early; {left}"))),
        (None, None) => Err(error),
    }
}

/// What is kept of a run that did not end, and how to go on; `None` before its description.
fn whats_left(folder: &Path, can_resume: bool) -> Option<String> {
    folder.join(model::run::RUN_FILE).exists().then(|| {
        let (action, does) = if can_resume {
            ("resume", "goes on")
        } else {
            ("report", "judges it")
        };
        let folder = folder.display();
        format!("what was measured is kept: `linerate study {action} {folder}` {does}")
    })
}

fn with_campaign(
    private_namespace: bool,
    yes: bool,
    console: &Console,
    work: impl FnOnce(&mut Campaign<'_>) -> Result<(), CampaignError>,
) -> anyhow::Result<()> {
    let _stop = StopSignal::listen(Again::Kills)?;
    let mut agent = start_agent(private_namespace)?;
    let mut progress = ConsoleProgress::new(console, yes);
    let clock = Monotonic::default();
    let mut campaign = Campaign {
        agent: &mut agent,
        progress: &mut progress,
        clock: &clock,
    };
    let outcome = work(&mut campaign);
    progress.end();
    if sys::stop::heard().is_some() {
        // It may be in the midst of a block; without this it would go on to the block's end.
        let _ = sys::process::terminate(agent.process());
    }
    Ok(outcome?)
}

pub(crate) fn start_agent(private_namespace: bool) -> anyhow::Result<LocalAgent> {
    let program = std::env::current_exe().context("finding the program itself")?;
    let mut command = Command::new(program);
    command.arg("agent");
    if private_namespace {
        command.arg("--private-namespace");
    }
    // Ctrl-C on a terminal goes to us alone; we tell the agent, which undoes what it did.
    command.process_group(0);
    sys::process::outlive_to_undo(&mut command);
    let is_stopped = || sys::stop::heard().is_some();
    Ok(LocalAgent::start(&mut command, is_stopped)?)
}

/// Reads a run folder, judges it, writes its report and says the answer.
pub(crate) fn show(folder: &Path, json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let (run, blocks, judgement) = judged(folder)?;
    let page = folder.join(REPORT_FILE);
    // A report that cannot be written takes nothing from the figures.
    let written = std::fs::write(&page, report::html::render(&run, &blocks, &judgement));
    if json {
        console.say(&report::json::render(&judgement));
        return Ok(ExitCode::SUCCESS);
    }
    console.say(&report::text::render(
        &run,
        &judgement,
        console.width(),
        console.colour(),
    ));
    console.say(&format!("\nrepeat: {}", run.command));
    match written {
        Ok(()) => console.say(&format!("report: {}", page.display())),
        Err(error) => console.note(&format!("no report: {}: {error}", page.display())),
    }
    if blocks.is_empty() {
        console.note("no block was measured");
    }
    Ok(ExitCode::SUCCESS)
}

/// A run folder and what the judge makes of it.
pub(crate) fn judged(folder: &Path) -> anyhow::Result<(RunRecord, Vec<BlockRecord>, Judgement)> {
    let (run, blocks) = report::folder::read(folder)?;
    let judgement = judge::judge(&run, &blocks);
    Ok((run, blocks, judgement))
}
