//! What a run has set on this whole machine and could not put back.

use std::process::ExitCode;

use machine::levers::carry::{self, Undone};

use crate::console::Console;

/// The machine was left changed.
const LEFT_CHANGED: u8 = 3;

/// After a run that might set levers of this machine, once its agent has ended: tries again what that
/// could not put back, or was killed before it could. Where something is still set, this is said, and
/// decides what to exit with.
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
