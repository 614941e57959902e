//! Changes that should have been put back automatically and were not, usually because the process
//! that does it was killed.

use machine::levers::carry;

use super::undo;
use crate::console::Console;

/// Puts such changes back, and reports them beside the answer.
pub(super) fn put_back(console: &Console) -> anyhow::Result<()> {
    for undone in carry::undo_leftovers(sys::clock::since_boot_ms())? {
        let lines: Vec<String> = undo::lines(&undone).collect();
        console.error(&format!(
            "{} should have been put back automatically and was not; done now: {}",
            undone.lever,
            lines.join("; ")
        ));
    }
    Ok(())
}
