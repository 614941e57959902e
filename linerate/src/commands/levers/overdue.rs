//! What was to be put back by itself and was not: the process that sees to it was killed, as a rule.

use machine::levers::carry;

use super::undo;
use crate::console::Console;

/// Puts it back, and says so beside the answer.
pub(super) fn put_back(console: &Console) -> anyhow::Result<()> {
    for undone in carry::undo_leftovers(sys::clock::since_boot_ms())? {
        let lines: Vec<String> = undo::lines(&undone).collect();
        console.error(&format!(
            "{} was to be put back by itself and was not; done now: {}",
            undone.lever,
            lines.join("; ")
        ));
    }
    Ok(())
}
