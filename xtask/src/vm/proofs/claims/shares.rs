//! The claim about a program's weight beside its neighbour's.

use std::ops::Range;

use anyhow::{Context as _, ensure};

use crate::vm::proofs::GuestFindings;

/// How often the neighbour's CPU time a program has with the usual weight, which is 100, and with that
/// which the guest's script asks for, three times as much.
const USUAL: Range<f64> = 0.5..2.0;
const WEIGHTED: Range<f64> = 2.0..6.0;

pub(super) fn by_weight(seen: &GuestFindings) -> anyhow::Result<()> {
    for (time, expected) in [("before", USUAL), ("during", WEIGHTED), ("after", USUAL)] {
        let told = seen.truth(&format!("shares.{time}"))?;
        let (neighbour, program) = told.split_once(' ').context("one time alone")?;
        let (neighbour, program): (f64, f64) = (neighbour.parse()?, program.parse()?);
        ensure!(
            expected.contains(&(program / neighbour)),
            "{time}: {program} µs beside {neighbour} µs of the neighbour"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_changes_nothing_or_that_stays_is_seen() {
        let seen = |during: &str, after: &str| {
            let truth =
                format!("shares.before 500 490\nshares.during {during}\nshares.after {after}\n");
            by_weight(&GuestFindings::of(&truth))
        };
        seen("250 750", "501 499").unwrap();
        assert!(seen("500 500", "501 499").is_err());
        assert!(seen("250 750", "250 750").is_err());
    }
}
