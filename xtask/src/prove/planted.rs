//! Verdicts on our own server against itself with more rounds of a busy loop in each request. What
//! these add is measured apart from the study, by separate servers before and after each study: the
//! loop's time over that of the rest of a request, by the CPU clock of the serving thread, under
//! the same load. The median of all such measurements of one plant in a proof is the truth that the
//! intervals must contain.

use std::cmp::Ordering;

use model::judgement::StepResult;
use model::{Judgement, Verdict};

use super::plant::{self, Planted};
use super::{Lab, Proof, last_step, step_words};

const STUDY: &str = include_str!("../../studies/planted.toml");
/// Rounds of the loop in every server: about two microseconds, so that the server is the limit and
/// not its client.
const BASELINE: u64 = 4000;
/// Text in the study that is replaced by the lever of both arms, and by that of the step.
const BASELINE_IN_STUDY: &str = "\"busy-work-rounds=4000\"";
const STEP_IN_STUDY: &str = "busy-work-rounds=4400";
/// Number of runs of each plant.
const RUNS: usize = 40;
/// Number of a plant's runs whose interval must contain the truth. The interval's 95 % hold over
/// many more runs: of 40, fewer than 36 contain it in at most one of twenty proofs.
const LEAST_COVERED: usize = 36;
const _: () = assert!(
    LEAST_COVERED <= RUNS && LEAST_COVERED * 10 >= RUNS * 9,
    "a proof must be able to hold, and to fail"
);
/// Number of runs whose verdict may be wrong: it claims a difference that matters where there is
/// none, or none, or one in the other direction, where there is one.
const MOST_WRONG: usize = 2;
/// Smallest p-value of the sign test that passes: unbiased estimates are this lopsided around the
/// truth in one proof of a hundred.
const BIASED_AT: f64 = 0.01;

/// One run and the measurements of its plant.
pub(super) struct Run {
    pub(super) step: StepResult,
    /// Rounds of the loop beyond those of the baseline.
    rounds: u64,
    /// CPU time per request with these rounds over that without them, by the servers that are
    /// measured before and after the study.
    measured_ratios: [f64; 2],
}

impl Run {
    /// Whether the interval contains the truth. That of a void run does not count.
    fn covers(&self, truth: f64) -> bool {
        let effect = self.step.effect.filter(|_| !self.step.verdict.is_void());
        effect.is_some_and(|effect| (effect.low..=effect.high).contains(&truth))
    }

    pub(super) fn words(&self, truth: f64) -> String {
        let is_covered = if self.covers(truth) {
            "holds"
        } else {
            "MISSES"
        };
        format!(
            "{} {is_covered} {:+.1} %",
            step_words(&self.step),
            (truth - 1.0) * 100.0
        )
    }
}

/// CPU time per request with `rounds` more rounds over that without them: the median over all runs
/// with this plant.
pub(super) fn truth(runs: &[Run], rounds: u64) -> f64 {
    let of_rounds = runs.iter().filter(|run| run.rounds == rounds);
    let measured: Vec<f64> = of_rounds.flat_map(|run| run.measured_ratios).collect();
    judge::median::of(&measured).unwrap_or(f64::NAN)
}

/// The result that a proof's runs must have.
pub(super) struct Wanted {
    verdict: Verdict,
    /// Number of runs that must have this verdict: void and undecided ones count against it.
    least_right: usize,
}

/// Half of the runs may be too noisy to tell.
pub(super) const NO_DIFFERENCE: Wanted = Wanted {
    verdict: Verdict::NoDifferenceThatMatters,
    least_right: RUNS / 2,
};
pub(super) const WORSE: Wanted = Wanted {
    verdict: Verdict::Worse,
    least_right: LEAST_COVERED,
};

/// Proves the verdicts and intervals of runs in which each of these shares of a request's CPU time
/// is planted in turn.
pub(super) fn proof(
    lab: &Lab,
    what: &str,
    shares: &[f64],
    wanted: &Wanted,
) -> anyhow::Result<Proof> {
    let rounds = shares.iter().map(|share| rounds(lab, *share));
    let rounds: Vec<u64> = rounds.collect::<anyhow::Result<_>>()?;
    let mut plants: Vec<Vec<Run>> = rounds.iter().map(|_| Vec::new()).collect();
    for _ in 0..RUNS {
        for (rounds, runs) in rounds.iter().zip(&mut plants) {
            runs.push(run(lab, *rounds)?);
        }
    }
    let found = rounds.iter().zip(&plants);
    let found = found.map(|(rounds, runs)| PlantFound::of(runs, truth(runs, *rounds), wanted));
    let found: Vec<PlantFound> = found.collect();
    let seen: Vec<String> = found.iter().map(|found| found.words(wanted)).collect();
    let Wanted {
        verdict,
        least_right,
    } = wanted;
    let verdict = verdict.words();
    Ok(Proof {
        claim: format!(
            "of {RUNS} runs of each with {what}, {LEAST_COVERED} intervals hold what was planted, \
             {least_right} verdicts are \"{verdict}\", {MOST_WRONG} at most are wrong, and estimates lie \
             on both sides of the truth (sign test, {BIASED_AT})"
        ),
        seen: seen.join("\n     "),
        held: found.iter().all(|found| found.holds(wanted)),
    })
}

/// The results of all runs of one plant.
#[derive(Debug)]
struct PlantFound {
    truth: f64,
    covered: usize,
    right: usize,
    wrong: usize,
    /// Estimates above and below the truth.
    sides: [usize; 2],
    each: Vec<String>,
}

impl PlantFound {
    fn of(runs: &[Run], truth: f64, wanted: &Wanted) -> Self {
        let count = |of: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| of(run)).count();
        let lies = |run: &Run, side: Ordering| {
            let effect = run.step.effect;
            effect.and_then(|effect| effect.ratio.partial_cmp(&truth)) == Some(side)
        };
        Self {
            truth,
            covered: count(&|run| run.covers(truth)),
            right: count(&|run| run.step.verdict == wanted.verdict),
            wrong: count(&|run| is_wrong(run.step.verdict, wanted.verdict)),
            sides: [Ordering::Greater, Ordering::Less].map(|side| count(&|run| lies(run, side))),
            each: runs.iter().map(|run| run.words(truth)).collect(),
        }
    }

    fn holds(&self, wanted: &Wanted) -> bool {
        self.covered >= LEAST_COVERED
            && self.right >= wanted.least_right
            && self.wrong <= MOST_WRONG
            && sign_test(self.sides) >= BIASED_AT
    }

    fn words(&self, wanted: &Wanted) -> String {
        let [above, below] = self.sides;
        format!(
            "{:+.1} %: {} hold it, {} are \"{}\", {} are wrong, {above} estimates lie above it and {below} \
             below (p = {:.3})\n       {}",
            (self.truth - 1.0) * 100.0,
            self.covered,
            self.right,
            wanted.verdict.words(),
            self.wrong,
            sign_test(self.sides),
            self.each.join("\n       ")
        )
    }
}

/// The sign test's p-value: how likely values that fall on either side with equal chance are dealt
/// this unevenly.
fn sign_test([one, other]: [usize; 2]) -> f64 {
    let all = one + other;
    let mut ways = 1.0;
    let mut sum = 0.0;
    for few in 0..=one.min(other) {
        sum += ways;
        ways *= (all - few) as f64 / (few + 1) as f64;
    }
    (2.0 * sum / 2f64.powf(all as f64)).min(1.0)
}

/// Whether a verdict claims what is not so; an undecided one is not wrong.
fn is_wrong(verdict: Verdict, wanted: Verdict) -> bool {
    let says = verdict.is_call() || verdict == Verdict::NoDifferenceThatMatters;
    says && verdict != wanted
}

/// Runs the study with `rounds` more rounds planted, and measures their cost before and after it.
pub(super) fn run(lab: &Lab, rounds: u64) -> anyhow::Result<Run> {
    let before = measured_ratio(lab, rounds)?;
    let judgement = planted(lab, rounds)?;
    let after = measured_ratio(lab, rounds)?;
    Ok(Run {
        step: last_step(&judgement)?.clone(),
        rounds,
        measured_ratios: [before, after],
    })
}

/// CPU time per request of a server with `more` rounds beyond the baseline, over that without them.
fn measured_ratio(lab: &Lab, more: u64) -> anyhow::Result<f64> {
    if more == 0 {
        return Ok(1.0);
    }
    let rounds = BASELINE + more;
    let Planted { loop_ns, all_ns } = plant::time(lab, rounds)?;
    let more_ns = loop_ns * more as f64 / rounds as f64;
    Ok(all_ns / (all_ns - more_ns))
}

/// The number of rounds that take this share of a request's CPU time.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of some microseconds"
)]
pub(super) fn rounds(lab: &Lab, share: f64) -> anyhow::Result<u64> {
    let Planted { loop_ns, all_ns } = plant::time(lab, BASELINE)?;
    Ok((BASELINE as f64 * share * all_ns / loop_ns).round() as u64)
}

/// Runs the study of our server against itself with `rounds` more rounds per request.
fn planted(lab: &Lab, rounds: u64) -> anyhow::Result<Judgement> {
    let file = lab.folder().join("planted.toml");
    // A step with the baseline's levers would be left out. For identical servers the baseline has
    // no lever, and the step a loop of no rounds.
    let (baseline, rounds) = match rounds {
        0 => (String::new(), 0),
        more => {
            let lever = format!("\"busy-work-rounds={BASELINE}\"");
            (lever, BASELINE + more)
        }
    };
    let text = STUDY
        .replace(BASELINE_IN_STUDY, &baseline)
        .replace(STEP_IN_STUDY, &format!("busy-work-rounds={rounds}"));
    std::fs::write(&file, text)?;
    let out = lab.folder().join("planted");
    let _ = std::fs::remove_dir_all(&out);
    lab.judgement(&[
        "study",
        "run",
        "planted.toml",
        "--yes",
        "--json",
        "--out",
        "planted",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(covered: usize, right: usize, sides: [usize; 2]) -> PlantFound {
        PlantFound {
            truth: 1.5,
            covered,
            right,
            wrong: 0,
            sides,
            each: Vec::new(),
        }
    }

    #[test]
    fn a_plant_that_is_missed_too_often_or_to_one_side_does_not_hold() {
        assert!(found(36, 36, [24, 16]).holds(&WORSE));
        assert!(!found(35, 36, [24, 16]).holds(&WORSE));
        assert!(!found(36, 35, [24, 16]).holds(&WORSE));
        assert!(!found(40, 40, [30, 10]).holds(&WORSE));
    }

    #[test]
    fn the_sign_test_is_that_of_a_fair_coin() {
        assert_eq!(sign_test([5, 5]), 1.0);
        assert_eq!(sign_test([0, 3]), 0.25);
        // Of 20 tosses 3 or fewer are heads in 1,351 of 2^20.
        assert!((sign_test([17, 3]) - 2.0 * 1351.0 / 1_048_576.0).abs() < 1e-12);
    }
}
