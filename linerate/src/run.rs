//! One run from order to folder: starts an agent, drives the campaign, and says how it ended. The
//! main job, `study run`, `study resume` and `versus` share it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use model::lever::Leave;
use model::run::{MOST_ROUNDS, RUN_FILE};
use model::study::{Arm, Program, Role, SERVE};
use study::store::{Resumed, Store, StoreError};
use study::{Campaign, CampaignError, Monotonic, Order};
use sys::stop::{Again, StopSignal};

use crate::agents::{Agents, Place};
use crate::console::Console;
use crate::left_set;
use crate::new_folder::NewFolder;
use crate::progress::ConsoleProgress;
use crate::shown;
use crate::stopping;
use crate::strangers::{self, OwnWord};

/// Flags of all commands that measure.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunFlags {
    /// Rounds instead of the study's own; verdicts need 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)), help_heading = MEASURING, hide_short_help = true)]
    pub(crate) rounds: Option<u32>,
    /// Test that everything works: short blocks, and two rounds unless --rounds is given
    #[arg(long, hide_short_help = true, help_heading = MEASURING)]
    pub(crate) smoke: bool,
    /// Also see which functions of each server take the time, in bursts outside the blocks; needs
    /// root
    ///
    /// Each server's CPUs are sampled twice, for one second each, under the same load. The report
    /// shows as a flame graph what grew and what shrank from one server to the next; `*.folded` in
    /// the run's folder are for other tools.
    #[arg(long, help_heading = MEASURING, hide_short_help = true)]
    pub(crate) stacks: bool,
    /// Seed of the order of arms and of arrivals; the same seed repeats the same plan
    #[arg(long, value_name = "NUMBER", help_heading = MEASURING, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Load this machine even when it is at work
    ///
    /// Before a run this machine is checked. If other work uses its CPUs, or a server here has
    /// connections from elsewhere, a person at a terminal is asked; without one, nothing is loaded.
    #[arg(long, hide_short_help = true, help_heading = MEASURING)]
    pub(crate) yes: bool,
    /// Folder for the run [default: linerate-runs/STUDY-UTC]
    #[arg(long, value_name = "FOLDER", help_heading = RESULT)]
    pub(crate) out: Option<PathBuf>,
    /// Also record host name, user name and addresses in the run folder
    #[arg(long, help_heading = RESULT, hide_short_help = true)]
    pub(crate) full: bool,
    /// Print the judgement as one JSON value (docs/schema/judgement.json)
    ///
    /// For a study of commands: docs/schema/factorial.json.
    #[arg(long, help_heading = RESULT)]
    pub(crate) json: bool,
}

/// Folder of the runs for which no folder was named.
pub(crate) const RUNS: &str = "linerate-runs";
/// Rounds of a run with `--smoke`.
pub(crate) const SMOKE_ROUNDS: u32 = 2;
const MEASURING: &str = "Measuring";
const RESULT: &str = "Result";

impl RunFlags {
    /// Applies `--rounds` and `--smoke` to a study.
    pub(crate) fn shorten(&self, study: &mut model::Study) {
        study.stacks |= self.stacks;
        if let Some(rounds) = self.rounds.or_else(|| self.smoke.then_some(SMOKE_ROUNDS)) {
            study.design.rounds = rounds;
            if let Some(whole) = &mut study.whole {
                whole.confirm_rounds = rounds;
            }
        }
        if self.smoke {
            study.design.score_ms = 60;
            study.design.settle_ms = 20;
            if let Some(latency) = &mut study.latency {
                latency.blocks = 1;
                latency.score_ms = 60;
            }
        }
    }

    /// Returns the seed asked for, or a random one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(fresh_seed)
    }

    /// Returns the folder asked for, or a new one under `linerate-runs`, named by study and time.
    pub(crate) fn folder(&self, study: &str) -> NewFolder {
        let named = self.out.clone().map(NewFolder::named);
        named.unwrap_or_else(|| stamped(study))
    }
}

/// Makes a folder for one run under `linerate-runs`, named by this name and the time.
pub(crate) fn stamped(name: &str) -> NewFolder {
    let utc = humantime::format_rfc3339_seconds(sys::clock::wall()).to_string();
    let stamp: String = utc.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    NewFolder::unused(&Path::new(RUNS).join(format!("{name}-{stamp}")))
}

/// Returns a random seed.
pub(crate) fn fresh_seed() -> u64 {
    // Ten digits are enough to differ and few enough to type.
    let drawn = sys::random::bytes().map(u32::from_ne_bytes);
    let now = sys::clock::wall().duration_since(std::time::UNIX_EPOCH);
    let otherwise = now.map_or(0, |since| since.subsec_nanos());
    u64::from(drawn.unwrap_or(otherwise))
}

/// Measures an order into a new folder; returns an exit code if a signal stopped it.
pub(crate) fn measure(
    order: Order,
    place: &Place,
    folder: &Path,
    flags: &RunFlags,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    let ours = matches!(order.targets, study::Targets::Started { .. });
    let (on_host, leave) = (order.on_host, order.leave());
    let into = RunFolder::of_new(folder);
    let outcome = with_campaign(place, into, flags.yes, console, |campaign| {
        campaign.run(order, folder)
    });
    let left = if ours {
        Left::Resumed { on_host }
    } else {
        Left::Judged
    };
    let ended = conclude(outcome, into, left, console);
    left_set::see(leave != Leave::default(), ended, console)
}

/// Says what an order would do: which arms would be climbed, what would be set for them, and what
/// is missing. It loads nothing, so it does no harm to a machine at work.
pub(crate) fn plan(order: Order, place: &Place, console: &Console) -> anyhow::Result<ExitCode> {
    let compares_programs = order.study.compares_programs();
    let mut planned = None;
    // Nothing is saved there.
    let nowhere = RunFolder::of_new(Path::new(RUNS));
    with_campaign(place, nowhere, true, console, |campaign| {
        planned = Some(campaign.plan(order)?);
        Ok(())
    })?;
    let planned = planned.expect("a campaign that did not fail has set it");
    let is_climbed = |arm: &&Arm| matches!(arm.role, Role::Baseline | Role::Step);
    for arm in planned.arms.iter().filter(is_climbed) {
        let target = target_of(arm).filter(|_| compares_programs);
        console.say(&arm_line(arm, target));
    }
    for left_out in &planned.left_out {
        console.say(&format!(
            "{} is not climbed: {}",
            left_out.step, left_out.why
        ));
    }
    for doubt in &planned.doubts {
        console.say(&format!("doubt: {}", doubt.what()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of an arm's program in a study file; `None` for one that no study starts.
fn target_of(arm: &Arm) -> Option<&str> {
    match &arm.program {
        Program::Serve => Some(SERVE),
        Program::Service(name) => Some(name),
        _ => None,
    }
}

/// Describes an arm that would be climbed, with its target if it has its own, and its levers.
fn arm_line(arm: &Arm, target: Option<&str>) -> String {
    let levers: Vec<String> = arm.levers.iter().map(ToString::to_string).collect();
    let target = target.map(|name| format!("target {name}"));
    let levers = (!levers.is_empty()).then(|| levers.join(" "));
    let more: Vec<String> = target.into_iter().chain(levers).collect();
    let more = match more.as_slice() {
        [] => String::new(),
        more => format!(" ({})", more.join(", ")),
    };
    format!("{}: {}{more}", arm.name, arm.title)
}

/// Resumes a run that was stopped; returns an exit code if it is stopped again.
pub(crate) fn resume(
    folder: &Path,
    yes: bool,
    word: &OwnWord,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    // Read once, so that the run that is checked here is the one that is resumed.
    let opened: Resumed = Store::resume(folder)?;
    let run = &opened.1;
    word.check(run)?;
    let (on_host, link) = (run.on_host, run.study.link.as_ref());
    let place = Place::of(run.rig.kind(), link, || word.hosts.find(console))?.drawing(run.seed);
    let folder = RunFolder::of_resumed(folder);
    let outcome = with_campaign(&place, folder, yes, console, |campaign| {
        campaign.resume(opened)
    });
    let left = Left::Resumed { on_host };
    let ended = conclude(outcome, folder, left, console);
    left_set::see(on_host, ended, console)
}

/// The folder of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunFolder<'a> {
    path: &'a Path,
    /// Whether it already held another run, which this one does not resume.
    is_anothers: bool,
}

impl<'a> RunFolder<'a> {
    /// Returns the folder of a run that is to begin.
    pub(crate) fn of_new(path: &'a Path) -> Self {
        Self {
            path,
            is_anothers: path.join(RUN_FILE).exists(),
        }
    }

    /// Returns the folder of a run that is resumed.
    pub(crate) fn of_resumed(path: &'a Path) -> Self {
        Self {
            path,
            is_anothers: false,
        }
    }

    /// Whether the description of this run is in the folder.
    fn has_run(self) -> bool {
        !self.is_anothers && self.path.join(RUN_FILE).exists()
    }
}

/// What can be done with a run that did not end.
#[derive(Clone, Copy)]
pub(crate) enum Left {
    /// It can be resumed; with `--host` if it sets levers of the machine.
    Resumed { on_host: bool },
    /// It can be judged as it is.
    Judged,
}

/// Says what is left of a run that did not end; returns an exit code if a signal stopped it.
pub(crate) fn conclude(
    outcome: anyhow::Result<()>,
    folder: RunFolder<'_>,
    left: Left,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    let Err(error) = outcome else {
        return Ok(None);
    };
    if let Some(
        CampaignError::Reboot(_)
        | CampaignError::Store(StoreError::Taken { .. } | StoreError::InUse { .. }),
    ) = error.downcast_ref()
    {
        // The error itself says how to go on, or the folder belongs to another run.
        return Err(error);
    }
    // A run that was refused was neither begun nor resumed.
    let is_refused = matches!(error.downcast_ref(), Some(CampaignError::Refused(_)));
    let left = whats_left(folder, left, console);
    match (sys::stop::heard(), left) {
        (Some(signal), left) => {
            let left = left.unwrap_or_else(|| "nothing was measured, nothing is left".to_owned());
            console.error(&format!("stopped by {}; {left}", stopping::name(signal)));
            Ok(Some(stopping::exit_code(signal)))
        }
        (None, Some(left)) if !is_refused => {
            Err(error.context(format!("the run stopped early; {left}")))
        }
        (None, _) => Err(error),
    }
}

/// Says what is saved of a run that did not end, and how to go on; `None` if its description was
/// not saved yet.
fn whats_left(folder: RunFolder<'_>, left: Left, console: &Console) -> Option<String> {
    folder.has_run().then(|| {
        let folder = shown::quoted(folder.path);
        let next = match left {
            Left::Resumed { on_host } => {
                let goes_on = strangers::resume_command(&folder, on_host, console);
                format!("`{goes_on}` goes on")
            }
            Left::Judged => format!("`linerate study report {folder}` judges it"),
        };
        format!("what was measured is kept: {next}")
    })
}

pub(crate) fn with_campaign(
    place: &Place,
    folder: RunFolder<'_>,
    yes: bool,
    console: &Console,
    work: impl FnOnce(&mut Campaign<'_>) -> Result<(), CampaignError>,
) -> anyhow::Result<()> {
    let _stop = StopSignal::listen(Again::Kills)?;
    let mut agents = Agents::start(place)?;
    let mut progress = ConsoleProgress::new(console, yes);
    let clock = Monotonic::default();
    let outcome = agents.as_one(&clock, |agent| {
        work(&mut Campaign {
            agent,
            progress: &mut progress,
            clock: &clock,
        })
    });
    progress.end();
    if sys::stop::heard().is_some() {
        agents.end();
    }
    with_link(outcome, keep_link(&mut agents, folder))
}

/// Returns how a run ended; if the link has failed too, that is given as the reason.
fn with_link(outcome: Result<(), CampaignError>, link: anyhow::Result<()>) -> anyhow::Result<()> {
    match (outcome, link) {
        (Err(run), Err(link)) => Err(anyhow::Error::from(run).context(format!("{link:#}"))),
        (outcome, link) => Ok(outcome?).and(link),
    }
}

/// Saves what the link carried with the run, if there is a run.
fn keep_link(agents: &mut Agents, folder: RunFolder<'_>) -> anyhow::Result<()> {
    match agents.link_record()? {
        Some(record) if folder.has_run() => Ok(study::store::append_link(folder.path, &record)?),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Result<(), CampaignError> {
        Err(study::transport::AgentError::Garbled("half an answer".to_owned()).into())
    }

    #[test]
    fn an_arm_is_told_with_its_levers_and_its_target_and_without_empty_brackets() {
        let service = Program::Service("mine".to_owned());
        let mut arm = Arm::new("baseline", "mine one", Role::Baseline, service);
        assert_eq!(arm_line(&arm, None), "baseline: mine one");
        let target = target_of(&arm);
        assert_eq!(arm_line(&arm, target), "baseline: mine one (target mine)");
        let levers = ["one=1", "two=2"].into_iter();
        arm.levers = levers.map(|lever| lever.parse().unwrap()).collect();
        assert_eq!(arm_line(&arm, None), "baseline: mine one (one=1 two=2)");
        assert_eq!(
            arm_line(&arm, Some("mine")),
            "baseline: mine one (target mine, one=1 two=2)"
        );
    }

    #[test]
    fn a_link_that_has_failed_too_is_why_a_run_failed() {
        let broken = || Err(anyhow::anyhow!("the link has ended"));
        let words = |result: anyhow::Result<()>| format!("{:#}", result.unwrap_err());
        let both = words(with_link(failed(), broken()));
        assert!(both.starts_with("the link has ended: "), "{both}");
        assert!(both.contains("half an answer"), "{both}");
        assert_eq!(words(with_link(Ok(()), broken())), "the link has ended");
        assert!(!words(with_link(failed(), Ok(()))).contains("link"));
        with_link(Ok(()), Ok(())).unwrap();
    }
}
