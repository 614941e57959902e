//! The claim about the latch that audit leaves.

use anyhow::ensure;

use crate::vm::proofs::GuestFindings;

/// System calls that each process makes at least, all while audit is off.
const CALLS: u64 = 100;
const OFF: &str = "System calls are not audited.";
const LATCHED: &str = "System calls are not audited now, but were since boot";
/// When a process was born and linerate was asked, whether the process still takes the slow way, and what
/// linerate told.
const TIMES: [(&str, bool, &str); 5] = [
    ("early", false, OFF),
    ("on", true, "System calls are audited."),
    ("late", true, LATCHED),
    (
        "spared",
        false,
        "System calls of processes that are started now are not audited;",
    ),
    ("again", true, LATCHED),
];

pub(super) fn latch(seen: &GuestFindings) -> anyhow::Result<()> {
    for (time, is_slow, words) in TIMES {
        let entered: u64 = seen.truth(&format!("audit.born.{time}"))?.parse()?;
        let is_as_told = if is_slow {
            entered > CALLS
        } else {
            entered == 0
        };
        ensure!(is_as_told, "born {time}, it was audited {entered} times");
        let told = seen.truth(&format!("audit.told.{time}"))?;
        ensure!(told.starts_with(words), "{time}: {told}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(time: &str, entered: u64, words: &str) -> anyhow::Result<()> {
        let line = |(of, is_slow, usual): (&str, bool, &str)| {
            let (entered, words) = match of == time {
                true => (entered, words),
                false => (CALLS * 3 * u64::from(is_slow), usual),
            };
            format!("audit.born.{of} {entered}\naudit.told.{of} {words}\n")
        };
        latch(&GuestFindings::of(&TIMES.map(line).concat()))
    }

    #[test]
    fn a_process_that_is_spared_by_off_alone_and_words_that_say_so_are_seen() {
        with("", 0, "").unwrap();
        with("late", 0, LATCHED).unwrap_err();
        with("late", 300, OFF).unwrap_err();
        with("early", 1, OFF).unwrap_err();
    }
}
