//! Reads a run folder, judges it, writes its report and prints the answer: after it was measured,
//! or at any time later.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use model::bench::{BenchRecord, SavedBench};
use model::explanation::Looked;
use model::run::RunKind;
use model::{BlockRecord, Explanation, Judgement, RunRecord};
use report::streams::StreamsSeen;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::levers::try_out::outcome::LeversTried;
use crate::console::Console;
use crate::load_forms;
use crate::shape;
use crate::slo::HeldObjective;
use crate::strangers;

/// Name of the report in a run folder.
pub(crate) const REPORT_FILE: &str = "report.html";

/// What a command adds to a judgement.
pub(crate) struct Addition {
    /// Text for a reader.
    pub(crate) text: String,
    /// Values for programs.
    pub(crate) slo: Option<HeldObjective>,
    pub(crate) levers: Option<LeversTried>,
}

/// The judgement of a run: printed by `linerate --json`, `study run`, `study resume`,
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

/// Reads a run folder, judges it, writes its report and prints the answer. A report that cannot be
/// written is reported; the run has not failed for that.
pub(crate) fn show(folder: &Path, json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    show_and_write(folder, json, console).map(|(code, _)| code)
}

/// Does what [`show`] does, for a user who asked for the report: fails if it cannot be written.
pub(crate) fn report(folder: &Path, json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let (code, is_written) = show_and_write(folder, json, console)?;
    Ok(match is_written {
        true => code,
        false => ExitCode::from(crate::COULD_NOT_RUN),
    })
}

/// Returns the exit code of what was judged, and whether its report was written.
fn show_and_write(
    folder: &Path,
    json: bool,
    console: &Console,
) -> anyhow::Result<(ExitCode, bool)> {
    let shown = match report::folder::kind(folder)? {
        RunKind::Load => {
            let judged = judged(folder, console)?;
            let is_written = show_judged(&judged, folder, json, console, None);
            return Ok((ExitCode::SUCCESS, is_written));
        }
        RunKind::Commands => commands(folder, console)?,
        RunKind::Bench => bench(folder, console)?,
        RunKind::ManyBlocks => load(folder, console)?,
        RunKind::Look => look(folder, console)?,
        RunKind::Streams => streams(folder, console)?,
    };
    let is_written = shown.say(folder, json, console);
    Ok((shown.code, is_written))
}

/// Reads a run folder, judges it, writes its report, and prints the answer with an addition.
/// Returns the judgement.
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

/// Writes the report of a run that was judged, and prints the answer with an addition. Returns
/// whether the report was written.
pub(crate) fn show_judged(
    (run, blocks, judgement): &JudgedRun,
    folder: &Path,
    json: bool,
    console: &Console,
    addition: Option<Addition>,
) -> bool {
    let (text, (slo, levers)) = addition
        .map(|it| (it.text, (it.slo, it.levers)))
        .unwrap_or_default();
    let (width, colour) = (console.width(), console.colour());
    let resume = strangers::resume_command(&as_typed(folder), run.on_host, console);
    let shown = Shown {
        page: report::html::render(run, blocks, judgement),
        text: report::text::render(run, judgement, width, colour),
        json: report::json::render(&Judged {
            judgement,
            slo,
            levers,
        }),
        stacks: report::folded(run, judgement),
        command: run.command.clone(),
        is_empty: blocks.is_empty(),
        next_steps: report::next_steps(run, judgement, &resume),
        code: ExitCode::SUCCESS,
    };
    let is_written = shown.say(folder, json, console);
    if !json && !text.is_empty() {
        console.say(&text);
    }
    is_written
}

fn commands(folder: &Path, console: &Console) -> anyhow::Result<Shown> {
    let (run, blocks, evidence) = report::folder::read_commands(folder)?;
    let run = strangers::vetted(run, console);
    let judgement = judge::judge_commands(&run, &blocks);
    let (width, colour) = (console.width(), console.colour());
    Ok(Shown {
        page: report::html::render_factorial(&run, &blocks, &judgement, &evidence),
        text: report::factorial::render(&run, &judgement, &evidence, width, colour),
        json: report::json::render(&judgement),
        command: run.command,
        is_empty: blocks.is_empty(),
        ..Shown::default()
    })
}

fn bench(folder: &Path, console: &Console) -> anyhow::Result<Shown> {
    let (run, blocks) = report::folder::read_bench(folder)?;
    let run = SavedBench {
        // Its commands may be a stranger's; they are shown where nobody takes them for ours.
        command: format!("linerate bench --seed {} COMMAND …", run.seed),
        ..run
    };
    let record = BenchRecord::of(&run, &blocks);
    let judgement = judge::judge_bench(&record);
    let report = report::bench::report(record, judgement);
    let (width, colour) = (console.width(), console.colour());
    Ok(Shown {
        page: report::html::render_bench(&run, &report),
        text: report::bench::render(&report, width, colour),
        json: serde_json::to_string_pretty(&report)?,
        command: run.command,
        is_empty: blocks.is_empty(),
        ..Shown::default()
    })
}

/// What holds a program back, with what that is judged from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Explained<'a> {
    /// What was observed, and what came of hindering the accused.
    looked: &'a Looked,
    /// What follows from that.
    explanation: &'a Explanation,
}

fn look(folder: &Path, console: &Console) -> anyhow::Result<Shown> {
    let mut look = strangers::vetted(report::folder::read_look(folder)?, console);
    if look.study.observation.command.is_some() {
        // It may be a stranger's; it is shown where nobody takes it for ours.
        look.command = format!("linerate explain --seed {} -- COMMAND …", look.seed);
    }
    let explanation = judge::explain_look(&look.study);
    let (width, colour) = (console.width(), console.colour());
    Ok(Shown {
        page: report::html::render_look(&look, &explanation),
        text: report::explain::render(&look, &explanation, width, colour),
        json: shape::lines(Explained {
            looked: &look.study,
            explanation: &explanation,
        }),
        stacks: report::explain::folded(&look),
        command: look.command,
        ..Shown::default()
    })
}

/// Writes the report of a test of streams, which prints its figures itself.
pub(crate) fn write_streams(folder: &Path, console: &Console) -> anyhow::Result<()> {
    match streams(folder, console)?.write(folder) {
        Ok(written) => console.note(&written),
        Err(error) => console.error(&error),
    }
    Ok(())
}

fn streams(folder: &Path, console: &Console) -> anyhow::Result<Shown> {
    let (run, blocks) = report::folder::read_streams(folder)?;
    let run = strangers::vetted(run, console);
    let judged = &judge::judge_streams(&run, &blocks);
    let seen = StreamsSeen {
        run: &run,
        blocks: &blocks,
        judged,
    };
    Ok(Shown {
        page: report::html::render_streams(seen),
        text: report::streams::render(seen, console.width(), console.colour()),
        json: shape::lines(judged),
        command: run.command,
        is_empty: blocks.is_empty(),
        ..Shown::default()
    })
}

fn load(folder: &Path, console: &Console) -> anyhow::Result<Shown> {
    let (run, blocks) = report::folder::read_load(folder)?;
    let run = strangers::vetted(run, console);
    load_forms::judged(&run, &blocks, console)
        .with_context(|| format!("{}: nothing was measured yet; resume it", folder.display()))
}

/// A judged run in all its forms.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) page: String,
    pub(crate) text: String,
    pub(crate) json: String,
    /// Stacks for other tools: names of files, and what is in them.
    pub(crate) stacks: Vec<(String, String)>,
    pub(crate) command: String,
    pub(crate) is_empty: bool,
    /// Lines that say what a person does next.
    pub(crate) next_steps: Vec<String>,
    pub(crate) code: ExitCode,
}

impl Shown {
    /// Prints the answer alone.
    pub(crate) fn tell(&self, json: bool, console: &Console) {
        match json {
            true => console.say(&self.json),
            false => console.say_painted(&self.text),
        }
    }

    /// Writes the report into the folder. Returns a line that says where it is, or why it could not
    /// be written.
    fn write(&self, folder: &Path) -> Result<String, String> {
        let page = folder.join(REPORT_FILE);
        let written = foreign::file::replace(&page, self.page.as_bytes());
        match written {
            Ok(()) => Ok(format!("report: {}", page.display())),
            Err(error) => Err(format!("no report: {}: {error}", page.display())),
        }
    }

    /// Writes report and stacks into the folder and prints the answer. Returns whether the report
    /// was written.
    fn say(&self, folder: &Path, json: bool, console: &Console) -> bool {
        for (name, text) in &self.stacks {
            let file = folder.join(name);
            if let Err(error) = foreign::file::replace(&file, text.as_bytes()) {
                console.error(&format!("no stacks: {}: {error}", file.display()));
            }
        }
        let written = self.write(folder);
        let is_written = written.is_ok();
        self.tell(json, console);
        if json {
            if let Err(error) = written {
                console.error(&error);
            }
            self.next_steps.iter().for_each(|line| console.note(line));
            return is_written;
        }
        console.say(&format!("\nrepeat: {}", self.command));
        match written {
            Ok(written) => console.say(&written),
            Err(error) => console.error(&error),
        }
        if self.is_empty {
            console.note("no block was measured");
        }
        for line in &self.next_steps {
            console.say(line);
        }
        is_written
    }
}

/// Quotes a folder for a shell, wherever the command is typed.
pub(crate) fn as_typed(folder: &Path) -> String {
    let absolute = std::path::absolute(folder);
    quoted(absolute.as_deref().unwrap_or(folder))
}

/// Quotes a folder for a shell, as it was named.
pub(crate) fn quoted(folder: &Path) -> String {
    shell_words::quote(&folder.display().to_string()).into_owned()
}

/// A run folder and what the judge makes of it.
pub(crate) type JudgedRun = (RunRecord, Vec<BlockRecord>, Judgement);

/// Reads a run folder and judges it.
pub(crate) fn judged(folder: &Path, console: &Console) -> anyhow::Result<JudgedRun> {
    let (run, blocks) = report::folder::read(folder)?;
    let mut run = strangers::vetted(run, console);
    if run.study.gate.is_some() {
        // Its lines may be a stranger's; they are shown where nobody takes them for ours.
        run.command = format!("linerate gate --seed {} BASE HEAD …", run.seed);
    }
    let judgement = judge::judge(&run, &blocks);
    Ok((run, blocks, judgement))
}

/// Returns two run folders side by side, as text or as JSON.
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
            "runs of `linerate bench` cannot be compared; give the commands of both to one \
             `linerate bench`"
        ),
        [RunKind::Look, _] | [_, RunKind::Look] => {
            bail!("looks of `linerate explain` cannot be compared")
        }
        [RunKind::Streams, _] | [_, RunKind::Streams] => {
            bail!("tests of `linerate stream` cannot be compared")
        }
        [RunKind::ManyBlocks, _] | [_, RunKind::ManyBlocks] => bail!(
            "runs of `linerate load` cannot be compared; `linerate versus` loads two servers in turn"
        ),
        _ => bail!("one run is of servers and the other of commands; give two runs of one study"),
    };
    Ok(if as_json {
        format!("{:#}", pair.value())
    } else {
        pair.text(console.width())
    })
}
