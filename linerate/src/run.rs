//! One run from order to report, as the main job, `study run`, `study resume` and `versus` share
//! it: start an agent, drive the campaign, judge, write the report, say the answer.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use model::bench::{BenchRecord, SavedBench};
use model::lever::Leave;
use model::run::{RUN_FILE, RunKind};
use model::{BlockRecord, Judgement, RunRecord};
use study::store::{Resumed, Store};
use study::{Campaign, CampaignError, Monotonic, Order};
use sys::stop::{Again, StopSignal};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::{Agents, Place};
use crate::commands::levers::try_out::outcome::LeversTried;
use crate::console::Console;
use crate::left_set;
use crate::load_forms;
use crate::progress::ConsoleProgress;
use crate::slo::HeldObjective;
use crate::stopping;
use crate::strangers::{self, OwnWord};

/// Name of the report in a run folder.
pub(crate) const REPORT_FILE: &str = "report.html";

/// Flags of everything that measures.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunFlags {
    /// Rounds instead of the study's own; verdicts need 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000), help_heading = MEASURING)]
    pub(crate) rounds: Option<u32>,
    /// Two short rounds to see that everything works; no verdicts
    #[arg(long, conflicts_with = "rounds", hide_short_help = true, help_heading = MEASURING)]
    pub(crate) smoke: bool,
    /// Seed of the order of arms and of arrivals; the same seed repeats the same plan
    #[arg(long, value_name = "NUMBER", help_heading = MEASURING, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Load this machine even when it is at work
    ///
    /// Before a run this machine is looked at. Where other work uses its CPUs, or a server here has
    /// connections from elsewhere, a person at a terminal is asked, and nobody else is loaded.
    #[arg(long, help_heading = MEASURING)]
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
const MEASURING: &str = "Measuring";
const RESULT: &str = "Result";

impl RunFlags {
    /// Applies `--rounds` and `--smoke` to a study.
    pub(crate) fn shorten(&self, study: &mut model::Study) {
        if let Some(rounds) = self.rounds {
            study.design.rounds = rounds;
            if let Some(whole) = &mut study.whole {
                whole.confirm_rounds = rounds;
            }
        }
        if self.smoke {
            study.design.rounds = 2;
            study.design.score_ms = 60;
            study.design.settle_ms = 20;
            if let Some(whole) = &mut study.whole {
                whole.confirm_rounds = 2;
            }
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
            PathBuf::from(RUNS).join(format!("{study}-{stamp}"))
        })
    }
}

/// A seed that nobody has chosen.
pub(crate) fn fresh_seed() -> u64 {
    // Ten digits are enough to differ and few enough to type.
    let mut drawn = [0; 4];
    let read = File::open("/dev/urandom").and_then(|mut kernel| kernel.read_exact(&mut drawn));
    let now = sys::clock::wall().duration_since(std::time::UNIX_EPOCH);
    let otherwise = now.map_or(0, |since| since.subsec_nanos());
    u64::from(read.map_or(otherwise, |()| u32::from_ne_bytes(drawn)))
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
    let outcome = with_campaign(place, folder, flags.yes, console, |campaign| {
        campaign.run(order, folder)
    });
    let left = if ours {
        Left::Resumed { on_host }
    } else {
        Left::Judged
    };
    let ended = conclude(outcome, folder, left, console);
    left_set::see(leave != Leave::default(), ended, console)
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
    let outcome = with_campaign(&place, folder, yes, console, |campaign| {
        campaign.resume(opened)
    });
    let left = Left::Resumed { on_host };
    let ended = conclude(outcome, folder, left, console);
    left_set::see(on_host, ended, console)
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
    folder: &Path,
    left: Left,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    let Err(error) = outcome else {
        return Ok(None);
    };
    if let Some(CampaignError::Reboot(_)) = error.downcast_ref() {
        // It says how to go on itself.
        return Err(error);
    }
    let left = whats_left(folder, left);
    match (sys::stop::heard(), left) {
        (Some(signal), left) => {
            let left = left.unwrap_or_else(|| "nothing was measured, nothing is left".to_owned());
            console.error(&format!("stopped by {}; {left}", stopping::name(signal)));
            Ok(Some(stopping::exit_code(signal)))
        }
        (None, Some(left)) => Err(error.context(format!("the run stopped early; {left}"))),
        (None, None) => Err(error),
    }
}

/// What is kept of a run that did not end, and how to go on; `None` before its description.
fn whats_left(folder: &Path, left: Left) -> Option<String> {
    folder.join(RUN_FILE).exists().then(|| {
        let folder = folder.display().to_string();
        let next = match left {
            Left::Resumed { on_host } => {
                format!("`{}` goes on", strangers::resume_command(&folder, on_host))
            }
            Left::Judged => format!("`linerate study report {folder}` judges it"),
        };
        format!("what was measured is kept: {next}")
    })
}

pub(crate) fn with_campaign(
    place: &Place,
    folder: &Path,
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
fn keep_link(agents: &mut Agents, folder: &Path) -> anyhow::Result<()> {
    match agents.link_record()? {
        Some(record) if folder.join(RUN_FILE).exists() => {
            Ok(study::store::append_link(folder, &record)?)
        }
        _ => Ok(()),
    }
}

/// What a command has to say of a judgement beyond the judgement itself.
pub(crate) struct Addition {
    /// For a reader.
    pub(crate) text: String,
    /// For programs.
    pub(crate) slo: Option<HeldObjective>,
    pub(crate) levers: Option<LeversTried>,
}

/// What the judge made of a run: printed by `linerate --json`, `study run`, `study resume`,
/// `study report`, `versus` and `gate`, each with --json.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Judged<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    /// Only of `versus --slo`: whether each of the two holds the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    slo: Option<HeldObjective>,
    /// Only of `levers try`: what was proven, and what could not be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    levers: Option<LeversTried>,
}

/// Reads a run folder, judges it, writes its report and says the answer.
pub(crate) fn show(folder: &Path, json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    match report::folder::kind(folder)? {
        RunKind::Load => {
            show_with(folder, json, console, |_| None)?;
        }
        RunKind::Commands => show_commands(folder, json, console)?,
        RunKind::Bench => show_bench(folder, json, console)?,
        RunKind::ManyBlocks => return show_load(folder, json, console),
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads, judges and writes a run folder, and says the answer with what else there is to say of this
/// judgement, which is returned.
pub(crate) fn show_with(
    folder: &Path,
    json: bool,
    console: &Console,
    addition: impl FnOnce(&Judgement) -> Option<Addition>,
) -> anyhow::Result<Judgement> {
    let judged = judged(folder, console)?;
    let addition = addition(&judged.2);
    show_judged(&judged, folder, json, console, addition);
    Ok(judged.2)
}

/// Writes the report of a run that was judged, and says the answer with what else there is to say.
pub(crate) fn show_judged(
    (run, blocks, judgement): &JudgedRun,
    folder: &Path,
    json: bool,
    console: &Console,
    addition: Option<Addition>,
) {
    let (text, (slo, levers)) = addition
        .map(|it| (it.text, (it.slo, it.levers)))
        .unwrap_or_default();
    let (width, colour) = (console.width(), console.colour());
    let resume = strangers::resume_command(&as_typed(folder), run.on_host);
    let shown = Shown {
        page: report::html::render(run, blocks, judgement),
        text: report::text::render(run, judgement, width, colour),
        json: report::json::render(&Judged {
            judgement,
            slo,
            levers,
        }),
        command: &run.command,
        is_empty: blocks.is_empty(),
        next_steps: report::next_steps(run, judgement, &resume),
    };
    shown.say(folder, json, console);
    if !json && !text.is_empty() {
        console.say(&text);
    }
}

fn show_commands(folder: &Path, json: bool, console: &Console) -> anyhow::Result<()> {
    let (run, blocks, evidence) = report::folder::read_commands(folder)?;
    let run = strangers::vetted(run, console);
    let judgement = judge::judge_commands(&run, &blocks);
    let (width, colour) = (console.width(), console.colour());
    let shown = Shown {
        page: report::html::render_factorial(&run, &blocks, &judgement, &evidence),
        text: report::factorial::render(&run, &judgement, &evidence, width, colour),
        json: report::json::render(&judgement),
        command: &run.command,
        is_empty: blocks.is_empty(),
        next_steps: Vec::new(),
    };
    shown.say(folder, json, console);
    Ok(())
}

fn show_bench(folder: &Path, json: bool, console: &Console) -> anyhow::Result<()> {
    let (run, blocks) = report::folder::read_bench(folder)?;
    let run = SavedBench {
        // Its commands may be a stranger's, and are told of where nobody takes them for ours.
        command: format!("linerate bench --seed {} COMMAND …", run.seed),
        ..run
    };
    let record = BenchRecord::of(&run, &blocks);
    let judgement = judge::judge_bench(&record);
    let report = report::bench::report(record, judgement);
    let (width, colour) = (console.width(), console.colour());
    let shown = Shown {
        page: report::html::render_bench(&run, &report),
        text: report::bench::render(&report, width, colour),
        json: serde_json::to_string_pretty(&report)?,
        command: &run.command,
        is_empty: blocks.is_empty(),
        next_steps: Vec::new(),
    };
    shown.say(folder, json, console);
    Ok(())
}

fn show_load(folder: &Path, json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let (run, blocks) = report::folder::read_load(folder)?;
    let run = strangers::vetted(run, console);
    let Some(judged) = load_forms::judged(&run, &blocks, console) else {
        bail!(
            "{}: nothing is known of it yet; go on with it",
            folder.display()
        );
    };
    let shown = Shown {
        page: judged.page,
        text: judged.text,
        json: judged.json,
        command: &run.command,
        is_empty: blocks.is_empty(),
        next_steps: Vec::new(),
    };
    shown.say(folder, json, console);
    Ok(judged.code)
}

/// A judged run in all its forms.
struct Shown<'a> {
    page: String,
    text: String,
    json: String,
    command: &'a str,
    is_empty: bool,
    /// Lines that say what a person does next.
    next_steps: Vec<String>,
}

impl Shown<'_> {
    /// Writes the report into the folder and says the answer.
    fn say(&self, folder: &Path, json: bool, console: &Console) {
        let page = folder.join(REPORT_FILE);
        // A report that cannot be written takes nothing from the figures.
        let written = foreign::file::replace(&page, self.page.as_bytes());
        if json {
            console.say(&self.json);
            self.next_steps.iter().for_each(|line| console.note(line));
            return;
        }
        console.say_painted(&self.text);
        console.say(&format!("\nrepeat: {}", self.command));
        match written {
            Ok(()) => console.say(&format!("report: {}", page.display())),
            Err(error) => console.error(&format!("no report: {}: {error}", page.display())),
        }
        if self.is_empty {
            console.note("no block was measured");
        }
        for line in &self.next_steps {
            console.say(line);
        }
    }
}

/// A folder as a shell takes it, from wherever it is typed.
pub(crate) fn as_typed(folder: &Path) -> String {
    let absolute = std::path::absolute(folder);
    let absolute = absolute.as_deref().unwrap_or(folder);
    shell_words::quote(&absolute.display().to_string()).into_owned()
}

/// A run folder and what the judge makes of it.
pub(crate) type JudgedRun = (RunRecord, Vec<BlockRecord>, Judgement);

/// Reads a run folder and judges it.
pub(crate) fn judged(folder: &Path, console: &Console) -> anyhow::Result<JudgedRun> {
    let (run, blocks) = report::folder::read(folder)?;
    let mut run = strangers::vetted(run, console);
    if run.study.gate.is_some() {
        // Its lines may be a stranger's, and are told of where nobody takes them for ours.
        run.command = format!("linerate gate --seed {} BASE HEAD …", run.seed);
    }
    let judgement = judge::judge(&run, &blocks);
    Ok((run, blocks, judgement))
}

/// Two run folders side by side, as text or as JSON.
pub(crate) fn compared(
    one: &Path,
    other: &Path,
    as_json: bool,
    console: &Console,
) -> anyhow::Result<String> {
    let kinds = [report::folder::kind(one)?, report::folder::kind(other)?];
    let pair = match kinds {
        [RunKind::Load, RunKind::Load] => {
            let [(a, _, a_judged), (b, _, b_judged)] =
                [judged(one, console)?, judged(other, console)?];
            report::compare::servers((&a, &a_judged), (&b, &b_judged))?
        }
        [RunKind::Commands, RunKind::Commands] => {
            let read = |folder| -> anyhow::Result<_> {
                let (run, blocks, _) = report::folder::read_commands(folder)?;
                let run = strangers::vetted(run, console);
                let judgement = judge::judge_commands(&run, &blocks);
                Ok((run, judgement))
            };
            let [(a, a_judged), (b, b_judged)] = [read(one)?, read(other)?];
            report::compare::commands((&a, &a_judged), (&b, &b_judged))?
        }
        [RunKind::Bench, _] | [_, RunKind::Bench] => bail!(
            "a run of `linerate bench` has no other beside it; give the commands of both to one \
             `linerate bench`"
        ),
        [RunKind::ManyBlocks, _] | [_, RunKind::ManyBlocks] => bail!(
            "a run of `linerate load` has no other beside it; `linerate versus` has two servers loaded in turn"
        ),
        _ => bail!("one run is of servers and the other of commands; give two runs of one study"),
    };
    Ok(if as_json {
        format!("{:#}", pair.value())
    } else {
        pair.text(console.width())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Result<(), CampaignError> {
        Err(study::transport::AgentError::Garbled("half an answer".to_owned()).into())
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
