//! One run from order to folder, as the main job, `study run`, `study resume` and `versus` share it:
//! start an agent, drive the campaign, and say how it ended.

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

/// Flags of everything that measures.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunFlags {
    /// Rounds instead of the study's own; verdicts need 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)), help_heading = MEASURING, hide_short_help = true)]
    pub(crate) rounds: Option<u32>,
    /// Short blocks, and two rounds unless --rounds says how many, to see that everything works
    #[arg(long, hide_short_help = true, help_heading = MEASURING)]
    pub(crate) smoke: bool,
    /// Also see which functions of each server take the time, in bursts outside the blocks; takes root
    ///
    /// Twice for each server it is seen for a second under the same load what is under way on its CPUs. The report shows
    /// as a flame graph what grew and what shrank from one to the next, and `*.folded` in the run's folder are for other tools.
    #[arg(long, help_heading = MEASURING, hide_short_help = true)]
    pub(crate) stacks: bool,
    /// Seed of the order of arms and of arrivals; the same seed repeats the same plan
    #[arg(long, value_name = "NUMBER", help_heading = MEASURING, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Load this machine even when it is at work
    ///
    /// Before a run this machine is looked at. Where other work uses its CPUs, or a server here has
    /// connections from elsewhere, a person at a terminal is asked, and nobody else is loaded.
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
    /// That of a study of commands is of docs/schema/factorial.json.
    #[arg(long, help_heading = RESULT)]
    pub(crate) json: bool,
}

/// The folder of runs for which none was named.
pub(crate) const RUNS: &str = "linerate-runs";
/// Rounds of the smoke form.
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

    /// The seed asked for, or one that nobody has chosen.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(fresh_seed)
    }

    /// The folder asked for, or one of its own under `linerate-runs` that carries study and time.
    pub(crate) fn folder(&self, study: &str) -> NewFolder {
        let named = self.out.clone().map(NewFolder::named);
        named.unwrap_or_else(|| stamped(study))
    }
}

/// A folder for a run of that name alone, under `linerate-runs`, that carries the time.
pub(crate) fn stamped(name: &str) -> NewFolder {
    let utc = humantime::format_rfc3339_seconds(sys::clock::wall()).to_string();
    let stamp: String = utc.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    NewFolder::unused(&Path::new(RUNS).join(format!("{name}-{stamp}")))
}

/// A seed that nobody has chosen.
pub(crate) fn fresh_seed() -> u64 {
    // Ten digits are enough to differ and few enough to type.
    let drawn = sys::random::bytes().map(u32::from_ne_bytes);
    let now = sys::clock::wall().duration_since(std::time::UNIX_EPOCH);
    let otherwise = now.map_or(0, |since| since.subsec_nanos());
    u64::from(drawn.unwrap_or(otherwise))
}

/// Measures an order into a new folder; the exit code to give where a signal stopped it.
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

/// Says what an order comes to: what would be climbed, what would be set for it, and what is missing. That loads
/// nothing, so it does no harm to a machine at work.
pub(crate) fn plan(order: Order, place: &Place, console: &Console) -> anyhow::Result<ExitCode> {
    let compares_programs = order.study.compares_programs();
    let mut planned = None;
    // Nothing is kept of it.
    let nowhere = RunFolder::of_new(Path::new(RUNS));
    with_campaign(place, nowhere, true, console, |campaign| {
        planned = Some(campaign.plan(order)?);
        Ok(())
    })?;
    let planned = planned.expect("it is there where the campaign did well");
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

/// The program of an arm as a study file calls it; `None` of one that no study starts.
fn target_of(arm: &Arm) -> Option<&str> {
    match &arm.program {
        Program::Serve => Some(SERVE),
        Program::Service(name) => Some(name),
        _ => None,
    }
}

/// An arm that would be climbed, with its target where that is its own, and its levers.
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

/// Goes on with a run that was stopped; the exit code to give where it is stopped again.
pub(crate) fn resume(
    folder: &Path,
    yes: bool,
    word: &OwnWord,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    // Read once: what is looked at here is what goes on.
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

/// Where a run is kept.
#[derive(Clone, Copy)]
pub(crate) struct RunFolder<'a> {
    path: &'a Path,
    /// A run lay there before this one, which does not go on with it.
    is_anothers: bool,
}

impl<'a> RunFolder<'a> {
    /// For a run that is to begin.
    pub(crate) fn of_new(path: &'a Path) -> Self {
        Self {
            path,
            is_anothers: path.join(RUN_FILE).exists(),
        }
    }

    /// Of a run that goes on.
    pub(crate) fn of_resumed(path: &'a Path) -> Self {
        Self {
            path,
            is_anothers: false,
        }
    }

    /// Whether this run is described there.
    fn has_run(self) -> bool {
        !self.is_anothers && self.path.join(RUN_FILE).exists()
    }
}

/// What can be done with what is left of a run.
#[derive(Clone, Copy)]
pub(crate) enum Left {
    /// It goes on, with levers of the machine where it set such.
    Resumed { on_host: bool },
    /// It is judged as it is.
    Judged,
}

/// Says what is left of a run that did not end.
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
        // It says how to go on itself, and what lies in the folder is of another run.
        return Err(error);
    }
    // Nothing was begun, or gone on with.
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

/// What is kept of a run that did not end, and how to go on; `None` before its description.
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

/// How a run went; where the link has failed too, that is why.
fn with_link(outcome: Result<(), CampaignError>, link: anyhow::Result<()>) -> anyhow::Result<()> {
    match (outcome, link) {
        (Err(run), Err(link)) => Err(anyhow::Error::from(run).context(format!("{link:#}"))),
        (outcome, link) => Ok(outcome?).and(link),
    }
}

/// What the link carried goes with the run, where there is a run.
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
