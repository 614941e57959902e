//! `linerate levers journal`: what was set and not put back.

use std::path::PathBuf;

use machine::journal::UnknownLine;
use machine::levers::carry::{self, Standing};
use schemars::JsonSchema;
use serde::Serialize;

use super::by_whom;
use crate::console::Console;
use crate::shape;
use crate::told::{self, template};

/// What was set and not put back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversJournal {
    /// One entry for each lever, the oldest first.
    entries: Vec<EntryShape>,
    /// Lines that this version cannot read and leaves as they are: what they have set is not
    /// undone.
    unknown: Vec<UnknownShape>,
}

/// A lever that is set.
#[derive(Serialize, JsonSchema)]
struct EntryShape {
    /// Its number.
    entry: u64,
    /// As it is typed.
    lever: String,
    /// Process that set it.
    pid: u32,
    /// Inode of the network namespace in which it was set.
    namespace: u64,
    /// Whether the machine has been started since, which has put it back.
    is_of_another_boot: bool,
    /// Whether it says that the lever has set what that lever never sets, so that it is not
    /// undone.
    is_foreign: bool,
    /// Whether it should have been put back by itself by now, and was not.
    is_overdue: bool,
    /// Seconds until it is put back unless it is confirmed; null where it stays.
    reverts_in_s: Option<u64>,
    /// Why the last try to put it back was in vain; null where there was none.
    refused: Option<String>,
    /// Its knobs, in the order in which they were set.
    steps: Vec<StepNow>,
}

/// A knob that is set, and what it holds.
#[derive(Serialize, JsonSchema)]
struct StepNow {
    /// A sysctl by its name, or the path of a file.
    knob: String,
    /// What it held before.
    old: String,
    /// What it was set to.
    new: String,
    /// What it holds; null where that cannot be read here.
    now: Option<String>,
}

/// A line that this version cannot read.
#[derive(Serialize, JsonSchema)]
struct UnknownShape {
    /// The file of the journal.
    path: PathBuf,
    /// Number of the line in it, as it was read.
    line: usize,
    /// What this version does not know of it.
    why: String,
    /// The line as it stands there.
    text: String,
}

pub(super) fn run(as_json: bool, console: &Console) -> anyhow::Result<()> {
    let (standing, unknown) = (carry::standing()?, carry::unknown()?);
    let journal = LeversJournal {
        entries: standing.iter().map(shape_of).collect(),
        unknown: unknown.iter().map(unknown_shape).collect(),
    };
    let page = JournalPage {
        journal: &journal,
        unknown_words: unknown.iter().map(ToString::to_string).collect(),
        by_whom: by_whom(),
    };
    console.say(&match as_json {
        true => shape::lines(journal),
        false => told::page(&page, template!("levers-journal"), console.width()),
    });
    Ok(())
}

/// What the page is made of.
#[derive(Serialize)]
struct JournalPage<'a> {
    #[serde(flatten)]
    journal: &'a LeversJournal,
    /// The unknown lines with what to do.
    unknown_words: Vec<String>,
    by_whom: &'static str,
}

fn unknown_shape(line: &UnknownLine) -> UnknownShape {
    UnknownShape {
        path: line.path.clone(),
        line: line.line,
        why: line.why.clone(),
        text: line.text(),
    }
}

/// Seconds until it is put back by itself.
fn left_s(entry: &Standing) -> Option<u64> {
    let at_ms = entry.change.reverts_at_ms?;
    Some(at_ms.saturating_sub(sys::clock::since_boot_ms()) / 1000)
}

fn shape_of(entry: &Standing) -> EntryShape {
    let steps = entry
        .change
        .steps
        .iter()
        .zip(&entry.now)
        .map(|(step, now)| StepNow {
            knob: step.knob.to_string(),
            old: step.knob.show(&step.old),
            new: step.knob.show(&step.new),
            now: now.clone(),
        });
    EntryShape {
        entry: entry.id,
        lever: entry.change.lever.clone(),
        pid: entry.owner.pid,
        namespace: entry.namespace,
        is_of_another_boot: entry.is_of_another_boot,
        is_foreign: entry.is_foreign,
        is_overdue: entry.is_overdue,
        reverts_in_s: left_s(entry),
        refused: entry.change.refused.clone(),
        steps: steps.collect(),
    }
}
