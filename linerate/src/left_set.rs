//! Levers that a run has set on this whole machine and could not restore.

use std::process::ExitCode;

use machine::levers::carry::{self, Undone};

use crate::console::Console;

/// Exit code if the machine was left changed.
const LEFT_CHANGED: u8 = 3;

/// Tries again to restore levers of this machine after a run that might set them. It is called once
/// the run's agent has ended, which may have failed to restore them or been killed before it could.
/// If something is still set, this is reported and decides the exit code.
pub(crate) fn see(
    might_set: bool,
    ended: anyhow::Result<Option<ExitCode>>,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    if !might_set {
        return ended;
    }
    let left = match carry::undo_leftovers(sys::clock::since_boot_ms()) {
        Ok(undone) => still_set(&undone).join(", "),
        Err(error) => format!("perhaps something ({error})"),
    };
    if left.is_empty() {
        return ended;
    }
    if let Err(error) = &ended {
        console.error(&crate::words(error));
    }
    console.error(&format!(
        "still set on this machine: {left}; see `linerate levers journal`, and put it back: \
         linerate levers undo"
    ));
    Ok(Some(ExitCode::from(LEFT_CHANGED)))
}

fn still_set(undone: &[Undone]) -> Vec<&str> {
    let is_set = |undone: &&Undone| undone.knobs.iter().any(|(_, fate)| !fate.is_back());
    let left = undone.iter().filter(is_set);
    left.map(|undone| undone.lever.as_str()).collect()
}
