//! The runs that wait for a reboot: what was begun before it is easily forgotten after it.

use std::path::{Path, PathBuf};

use model::RunRecord;
use model::run::{MOST_RUN_BYTES, RUN_FILE};
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::strangers;
use crate::{run, shown};

/// Where runs lie that nobody named a place for, and those named in the current folder.
const PLACES: [&str; 2] = [run::RUNS, "."];

/// A run that goes on in a boot with its step.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Waiting {
    /// Name of its study.
    study: String,
    /// Title of the step that takes the reboot.
    step: String,
    /// What the command line of the kernel must have.
    option: String,
    /// The command that goes on with it after the reboot.
    resume: String,
}

/// Those that can be found from here, in the order of their folders.
pub(crate) fn runs(console: &Console) -> Vec<Waiting> {
    let mut folders: Vec<PathBuf> = PLACES.iter().flat_map(|place| folders(place)).collect();
    folders.sort_unstable();
    folders
        .iter()
        .filter_map(|folder| waiting(folder, console))
        .collect()
}

/// The folders of runs in one; what cannot be read is none.
fn folders(place: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path());
    folders.filter(|folder| folder.join(RUN_FILE).is_file())
}

/// `None` of a run that waits for no reboot, or that this version cannot read.
fn waiting(folder: &Path, console: &Console) -> Option<Waiting> {
    let text = foreign::file::read_text(&folder.join(RUN_FILE), MOST_RUN_BYTES).ok()?;
    let record: RunRecord = RunRecord::parse(&text).ok()?;
    record.reboot.as_ref()?;
    let (run, blocks) = report::folder::read(folder).ok()?;
    let between = judge::judge(&run, &blocks)
        .ladder?
        .between_boots
        .filter(|found| found.waits)?;
    Some(Waiting {
        study: record.study.name,
        step: between.title,
        option: between.option,
        resume: strangers::resume_command(&shown::as_typed(folder), record.on_host, console),
    })
}
