//! The processes that put a change back when nobody comes to do it: after its trial unless it is
//! confirmed, and after the end of whoever held it. Both try until it is done: nobody else may come.

use machine::levers::carry::{self, CarryError, KnobFate, Undone};

use super::system_log::{self, Weight};
use super::undo;

/// Between two tries; the pauses grow.
const FIRST_PAUSE_MS: u64 = 1000;
const LONGEST_PAUSE_MS: u64 = 60_000;
/// How soon it is seen that an entry was confirmed or is back: until then this keeps its network namespace alive.
const LOOK_AGAIN_MS: u64 = 1000;
/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;

/// Waits for the time of an entry, which is put off once all of it is set, and puts it back.
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
        // The holder may have ended before we looked, and its number be another's.
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

/// What is changed may have taken the memory. Who may not be spared is as safe as others.
fn be_spared() {
    let _ = sys::memory_killer::spare_this();
}

/// What came of it so far.
#[derive(Default)]
struct Tries {
    pause_ms: u64,
    /// What the log was told last.
    told: String,
}

impl Tries {
    fn rest(&mut self) -> anyhow::Result<()> {
        self.pause_ms = (2 * self.pause_ms).clamp(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
        let next_ms = sys::clock::since_boot_ms() + self.pause_ms;
        Ok(sys::clock::sleep_until_since_boot_ms(next_ms)?)
    }

    /// Tells the system's log what a try came to, once each.
    fn tell(&mut self, outcome: &Result<Vec<Undone>, CarryError>) {
        let lines: Vec<(Weight, String)> = match outcome {
            Ok(undone) => undone.iter().map(line).collect(),
            Err(error) => vec![(Weight::Warning, format!("{AGAIN}: {error}"))],
        };
        for (weight, line) in lines {
            if line != self.told {
                system_log::write(weight, &line);
                self.told = line;
            }
        }
    }
}

const AGAIN: &str =
    "what nobody confirmed or held any longer could not be put back, and is tried again";

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
