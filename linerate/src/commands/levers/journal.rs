//! `linerate levers journal`: what was set and not put back.

use std::path::PathBuf;

use machine::journal::UnknownLine;
use machine::levers::carry::{self, Standing};
use schemars::JsonSchema;
use serde::Serialize;

use super::by_whom;
use crate::console::Console;
use crate::shape;

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
    if as_json {
        console.say(&shape::lines(LeversJournal {
            entries: standing.iter().map(shape_of).collect(),
            unknown: unknown.iter().map(unknown_shape).collect(),
        }));
    } else if standing.is_empty() && unknown.is_empty() {
        console.say("nothing of ours is set");
    } else {
        for entry in &standing {
            console.say(&render(entry));
        }
        for line in &unknown {
            console.say(&line.to_string());
        }
    }
    Ok(())
}

fn unknown_shape(line: &UnknownLine) -> UnknownShape {
    UnknownShape {
        path: line.path.clone(),
        line: line.line,
        why: line.why.clone(),
        text: line.text(),
    }
}

fn render(entry: &Standing) -> String {
    let (id, lever, owner) = (entry.id, &entry.change.lever, entry.owner);
    let state = match (entry.is_of_another_boot, left_s(entry)) {
        _ if entry.is_foreign => format!(
            "; not to be believed, as `{lever}` never sets this; to take it out of the journal and \
             leave the machine as it is: {} undo --forget {id}",
            by_whom()
        ),
        (true, _) => "; the machine has been started since, which put it back".to_owned(),
        (false, _) if entry.is_overdue => "; its trial is over, and it still stands".to_owned(),
        (false, Some(seconds)) => format!("; put back in {seconds} s unless confirmed"),
        (false, None) => String::new(),
    };
    let refused = entry.change.refused.as_ref();
    let refused = refused.map_or_else(String::new, |why| format!("; could not be put back: {why}"));
    let steps = entry
        .change
        .steps
        .iter()
        .zip(&entry.now)
        .map(|(step, now)| {
            let (knob, old, new) = (
                &step.knob,
                step.knob.show(&step.old),
                step.knob.show(&step.new),
            );
            let now = now.as_deref().unwrap_or("not to be read here");
            format!("\n  {knob}: {old} → {new}, now {now}")
        });
    format!(
        "{id} {lever}, set by {owner}{state}{refused}{}",
        steps.collect::<String>()
    )
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
        reverts_in_s: left_s(entry),
        refused: entry.change.refused.clone(),
        steps: steps.collect(),
    }
}
