//! The background processes that put a change back: one after its trial, unless it is confirmed,
//! and one after the end of the process that held it. Both try until it is done, because nobody
//! else may.

use machine::levers::carry::{self, CarryError, KnobFate, Undone};

use super::system_log::{self, Weight};
use super::undo;

/// Pause after the first failed try; each further pause is twice as long.
const FIRST_PAUSE_MS: u64 = 1000;
/// Longest pause between two tries.
const LONGEST_PAUSE_MS: u64 = 60_000;
/// Time between two looks whether an entry was confirmed or is back. Until it is seen, this process
/// keeps the entry's network namespace alive.
const LOOK_AGAIN_MS: u64 = 1000;
/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;

/// Waits until an entry is due, and puts it back. The due time is put off once all of it is set.
pub(super) fn in_time(id: u64) -> anyhow::Result<()> {
    be_spared();
    let mut tries = Tries::default();
    loop {
        let now_ms = sys::clock::since_boot_ms();
        match carry::reverts_at_ms(id) {
            // It was confirmed, or is back.
            Ok(None) => return Ok(()),
            Ok(Some(at_ms)) if now_ms < at_ms => {
                sys::clock::sleep_until_since_boot_ms(at_ms.min(now_ms + LOOK_AGAIN_MS))?;
            }
            _ => {
                tries.tell(&carry::undo_overdue(id, now_ms));
                if matches!(carry::reverts_at_ms(id), Ok(None)) {
                    return Ok(());
                }
                tries.rest()?;
            }
        }
    }
}

/// Waits for the end of a process, and puts back what it held.
pub(super) fn after(holder: u32) -> anyhow::Result<()> {
    be_spared();
    match sys::pidfd::open_any(holder) {
        // The holder may have ended before we looked, and its number belong to another process.
        Ok(_) if matches!(carry::has_left(holder), Ok(true)) => {}
        Ok(process) => sys::pidfd::wait(&process)?,
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => {}
        Err(error) => return Err(error.into()),
    }
    let mut tries = Tries::default();
    while !matches!(carry::has_left(holder), Ok(false)) {
        tries.tell(&carry::undo_leftovers(sys::clock::since_boot_ms()));
        if matches!(carry::has_left(holder), Ok(false)) {
            break;
        }
        tries.rest()?;
    }
    Ok(())
}

/// Asks the kernel to spare this process when memory runs out, because the change may have used it
/// up. Where that is refused, this process is as safe as any other.
fn be_spared() {
    let _ = sys::memory_killer::spare_this();
}

/// The tries so far.
#[derive(Default)]
struct Tries {
    pause_ms: u64,
    /// Last line that was written to the log.
    last_line: String,
}

impl Tries {
    fn rest(&mut self) -> anyhow::Result<()> {
        self.pause_ms = (2 * self.pause_ms).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
        let next_ms = sys::clock::since_boot_ms() + self.pause_ms;
        Ok(sys::clock::sleep_until_since_boot_ms(next_ms)?)
    }

    /// Writes the outcome of a try to the system log, unless it is the line written last.
    fn tell(&mut self, outcome: &Result<Vec<Undone>, CarryError>) {
        let lines: Vec<(Weight, String)> = match outcome {
            Ok(undone) => undone.iter().map(line).collect(),
            Err(error) => vec![(Weight::Warning, format!("{AGAIN}: {error}"))],
        };
        for (weight, line) in lines {
            if line != self.last_line {
                system_log::write(weight, &line);
                self.last_line = line;
            }
        }
    }
}

const AGAIN: &str =
    "what nobody confirmed or held any longer could not be put back, and will be tried again";

fn line(undone: &Undone) -> (Weight, String) {
    let knobs = undo::lines(undone).collect::<Vec<_>>().join("; ");
    let (name, mut fates) = (&undone.lever, undone.knobs.iter().map(|(_, fate)| fate));
    match fates.all(KnobFate::is_back) {
        true => {
            let words = format!("{name} was put back, as nobody confirmed or held it any longer");
            (Weight::Notice, format!("{words}: {knobs}"))
        }
        false => (Weight::Warning, format!("{AGAIN}: {name}: {knobs}")),
    }
}
