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
    entries: Vec<Standing>,
    /// Lines that this version cannot read and leaves as they are: what they have set is not
    /// undone.
    unknown: Vec<UnknownShape>,
}

/// A line that this version cannot read.
#[derive(Serialize, JsonSchema)]
struct UnknownShape {
    /// The file of the journal.
    path: PathBuf,
    /// Number of the line in that file when it was read.
    line: usize,
    /// What this version does not understand in it.
    why: String,
    /// The line as it stands there.
    text: String,
}

pub(super) fn run(as_json: bool, console: &Console) -> anyhow::Result<()> {
    let (entries, unknown) = (carry::standing()?, carry::unknown()?);
    let journal = LeversJournal {
        entries,
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

/// Data of the page.
#[derive(Serialize)]
struct JournalPage<'a> {
    #[serde(flatten)]
    journal: &'a LeversJournal,
    /// The unknown lines in words, with what to do.
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
