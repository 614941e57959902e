//! One slow proof for every commit, each in its turn, with margins so wide that only a mistake
//! in the program misses them: a busy machine may make a verdict wait, but it does not move the
//! estimate of CPU time per request by this much.

use model::Verdict;
use model::judgement::StepResult;

use super::{Lab, Proof, Prove, nginx_rules, planted, step_words};

/// The proofs that take turns, with the names to run them by.
pub(super) const SAMPLED: [(&str, Prove); 3] = [
    ("wide-planted", a_planted_half_is_seen),
    ("wide-identical", identical_servers_cost_alike),
    ("wide-rules", two_hundred_rules_are_seen),
];

/// What a run may say of what is worse, and of what is alike: on a busy machine it may be too early.
const WORSE: [Verdict; 2] = [Verdict::Worse, Verdict::Inconclusive];
const ALIKE: [Verdict; 2] = [Verdict::NoDifferenceThatMatters, Verdict::Inconclusive];

/// Which proof's turn it is: the commit decides, so a commit that failed fails again.
pub(super) fn turn(commit_hash: Option<&str>) -> usize {
    let digits = commit_hash.and_then(|hash| hash.get(..8));
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.unwrap_or(0) as usize % SAMPLED.len()
}

fn a_planted_half_is_seen(lab: &Lab) -> anyhow::Result<Proof> {
    let rounds = planted::rounds(lab, 0.5)?;
    let run = planted::run(lab, rounds)?;
    let ratio = run.step.effect.map(|effect| effect.ratio);
    // In logarithms the estimate is half to twice of what was planted.
    let truth = planted::truth(std::slice::from_ref(&run), rounds);
    let planted = truth.ln();
    let is_near = ratio.is_some_and(|ratio| (0.5..=2.0).contains(&(ratio.ln() / planted)));
    Ok(Proof {
        claim: "of some 50 % planted half to twice is seen, as worse or not yet".to_owned(),
        seen: run.words(truth),
        held: is_near && WORSE.contains(&run.step.verdict),
    })
}

fn identical_servers_cost_alike(lab: &Lab) -> anyhow::Result<Proof> {
    let run = planted::run(lab, 0)?;
    let claim = "identical servers are estimated within 20 % of each other, as alike or not yet";
    estimate_within(&run.step, claim, 1.0 / 1.2..=1.2, &ALIKE)
}

fn two_hundred_rules_are_seen(lab: &Lab) -> anyhow::Result<Proof> {
    let judgement = nginx_rules::versus(lab, "wide-rules", nginx_rules::RULES)?;
    let claim = "200 nft rules are estimated to cost nginx 10 to 300 %, as worse or not yet";
    estimate_within(super::last_step(&judgement)?, claim, 1.1..=4.0, &WORSE)
}

fn estimate_within(
    step: &StepResult,
    claim: &str,
    wanted: std::ops::RangeInclusive<f64>,
    verdicts: &[Verdict],
) -> anyhow::Result<Proof> {
    let near = step
        .effect
        .is_some_and(|effect| wanted.contains(&effect.ratio));
    Ok(Proof {
        claim: claim.to_owned(),
        seen: step_words(step),
        held: near && verdicts.contains(&step.verdict),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_follows_from_the_commit_and_every_proof_gets_one() {
        let turns = ["00000000", "00000001", "00000002"].map(|hash| turn(Some(hash)));
        assert_eq!(turns, [0, 1, 2]);
        assert_eq!(turn(Some("0000000300000001")), 0);
        assert_eq!(turn(None), 0);
    }
}
