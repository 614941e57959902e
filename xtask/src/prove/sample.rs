//! One slow proof for every commit, in turn. Their margins are so wide that only a mistake in the
//! program misses them: a busy machine may make a verdict wait, but it does not move the estimate
//! of CPU time per request by this much.

use std::process::Command;

use super::expected::{ALIKE_OR_NOT_YET, Expected, WORSE_OR_NOT_YET};
use super::{Lab, Proof, Prove, nginx, planted};
use crate::target;

/// The proofs that take turns, with the names to run them by.
pub(super) const SAMPLED: [(&str, Prove); 3] = [
    ("wide-planted", a_planted_half_is_seen),
    ("wide-identical", |lab| {
        let expected = Expected {
            ratios: 1.0 / 1.2..=1.2,
            verdicts: &ALIKE_OR_NOT_YET,
        };
        Ok(expected.proof("a server beside one like it", &planted::run(lab, 0)?.step))
    }),
    ("wide-rules", |lab| {
        nginx::proof(
            lab,
            nginx::RULES,
            &Expected {
                ratios: 1.1..=4.0,
                verdicts: &WORSE_OR_NOT_YET,
            },
        )
    }),
];

/// The index of the proof for the checked commit. It depends on the commit alone, so that a proof
/// that failed is run again.
pub(super) fn turn_now() -> usize {
    let mut git = Command::new("git");
    let output = git
        .args(["rev-parse", "HEAD"])
        .current_dir(target::workspace())
        .output();
    turn(&output.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }))
}

/// The index of the proof whose turn it is at a commit; outside a git checkout that of the first.
fn turn(commit_hash: &str) -> usize {
    let digits = commit_hash.get(..8);
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.unwrap_or(0) as usize % SAMPLED.len()
}

fn a_planted_half_is_seen(lab: &Lab) -> anyhow::Result<Proof> {
    let rounds = planted::rounds(lab, 0.5)?;
    let run = planted::run(lab, rounds)?;
    let truth = planted::truth(std::slice::from_ref(&run), rounds);
    // On the logarithmic scale, half to twice what was planted.
    let expected = Expected {
        ratios: truth.sqrt()..=truth.powi(2),
        verdicts: &WORSE_OR_NOT_YET,
    };
    Ok(Proof {
        seen: run.words(truth),
        ..expected.proof("a server with some 50 % planted", &run.step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_follows_from_the_commit_and_every_proof_gets_one() {
        assert_eq!(["00000000", "00000001", "00000002"].map(turn), [0, 1, 2]);
        assert_eq!((turn("0000000300000001"), turn("")), (0, 0));
    }
}
