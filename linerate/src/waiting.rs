//! Lists the runs that wait for a reboot: after it, a run that was started before is easily
//! forgotten.

use std::path::{Path, PathBuf};

use model::RunRecord;
use model::run::{MOST_RUN_BYTES, RUN_FILE};
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::strangers;
use crate::{run, shown};

/// Folders that are searched: that of runs without a folder of their own choice, and the current
/// one, in which runs with a chosen name lie.
const PLACES: [&str; 2] = [run::RUNS, "."];

/// A run that waits until the machine is booted with the kernel option of one of its steps.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Waiting {
    /// Name of its study.
    study: String,
    /// Title of the step that needs the reboot.
    step: String,
    /// Option that the kernel's command line must have.
    option: String,
    /// Command that resumes the run after the reboot.
    resume: String,
}

/// Finds the waiting runs in [`PLACES`], in the order of their folders.
pub(crate) fn runs(console: &Console) -> Vec<Waiting> {
    let mut folders: Vec<PathBuf> = PLACES.iter().flat_map(|place| folders(place)).collect();
    folders.sort_unstable();
    folders
        .iter()
        .filter_map(|folder| waiting(folder, console))
        .collect()
}

/// The run folders inside a folder; none where it cannot be read.
fn folders(place: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path());
    folders.filter(|folder| folder.join(RUN_FILE).is_file())
}

/// Reads a run; `None` if it does not wait for a reboot, or if this version cannot read it.
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
