//! The process that puts an entry of the journal back in time, unless it is confirmed.

use machine::levers::carry;

/// Between two tries to put back what is overdue; the pauses grow.
const FIRST_PAUSE_MS: u64 = 1000;
const LONGEST_PAUSE_MS: u64 = 60_000;
/// How long it is tried.
const PATIENCE_MS: u64 = 3_600_000;

/// Waits for the time of an entry, which is put off once all of it is set. Where the journal is in use
/// or the kernel refuses, it tries again: nobody else may come to do it.
pub(super) fn run(id: u64) -> anyhow::Result<()> {
    let mut tries = Tries::default();
    loop {
        let now_ms = sys::clock::since_boot_ms();
        match carry::reverts_at_ms(id) {
            // It was confirmed, or is back.
            Ok(None) => return Ok(()),
            Ok(Some(at_ms)) if now_ms < at_ms => {
                sys::clock::sleep_until_since_boot_ms(at_ms)?;
            }
            // What refuses says so at the next try, or to whoever asks for the journal.
            _ => {
                let _ = carry::undo_overdue(id, now_ms);
                if matches!(carry::reverts_at_ms(id), Ok(None)) {
                    return Ok(());
                }
                sys::clock::sleep_until_since_boot_ms(tries.next_ms(now_ms, id)?)?;
            }
        }
    }
}

/// How often it was tried in vain, and since when.
#[derive(Default)]
struct Tries {
    first_ms: Option<u64>,
    pause_ms: u64,
}

impl Tries {
    /// When the next is.
    fn next_ms(&mut self, now_ms: u64, id: u64) -> anyhow::Result<u64> {
        let first_ms = *self.first_ms.get_or_insert(now_ms);
        anyhow::ensure!(
            now_ms < first_ms + PATIENCE_MS,
            "entry {id} of the journal could not be put back"
        );
        self.pause_ms = (2 * self.pause_ms).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
        Ok(now_ms + self.pause_ms)
    }
}
