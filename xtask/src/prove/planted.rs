//! Verdicts on our own server against itself with more rounds of a busy loop in each request. What they add
//! is measured apart from the study, by servers of their own before each study and after it: the loop's own
//! time over that of the rest of a request, by the clock of the thread that serves, under the same load. The
//! median of all that a proof's runs have of one plant is the truth that their intervals must hold.

use std::cmp::Ordering;

use model::judgement::StepResult;
use model::{Judgement, Verdict};

use super::plant::{self, Planted};
use super::{Lab, Proof, last_step, step_words};

const STUDY: &str = include_str!("../../studies/planted.toml");
/// Rounds of the loop that every server has: two microseconds or so, with which the server is what limits, not
/// its client.
const BASELINE: u64 = 4000;
/// What stands in the study for the lever of both arms, and for that of the step.
const BASELINE_IN_STUDY: &str = "\"busy-work-rounds=4000\"";
const STEP_IN_STUDY: &str = "busy-work-rounds=4400";
/// Runs of each plant.
const RUNS: usize = 40;
/// Of so many of a plant's runs the interval must hold the truth. Its 95 % are of many more runs: of 40,
/// fewer than 36 have it once in twenty proofs at most.
const LEAST_COVERED: usize = 36;
const _: () = assert!(
    LEAST_COVERED <= RUNS && LEAST_COVERED * 10 >= RUNS * 9,
    "a proof must be able to hold, and to fail"
);
/// Of so many the verdict may be wrong: claim a difference that matters where there is none, or none,
/// or one in the other direction, where there is one.
const MOST_WRONG: usize = 2;
/// Estimates that lie about the truth are so lopsided in one proof of a hundred.
const BIASED_AT: f64 = 0.01;

/// One run and what is known of its plant.
pub(super) struct Run {
    pub(super) step: StepResult,
    /// More than in the baseline.
    rounds: u64,
    /// CPU time per request with them over that without, by each server beside the study.
    apart: [f64; 2],
}

impl Run {
    /// Whether the interval holds the truth. A run that is void has none that counts.
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

/// CPU time per request with so many more rounds over that without, by all runs that had them.
pub(super) fn truth(runs: &[Run], rounds: u64) -> f64 {
    let of_rounds = runs.iter().filter(|run| run.rounds == rounds);
    let apart: Vec<f64> = of_rounds.flat_map(|run| run.apart).collect();
    judge::median::of(&apart).unwrap_or(f64::NAN)
}

/// What must come of a proof's runs.
pub(super) struct Wanted {
    verdict: Verdict,
    /// Of so many runs it must be the verdict: void and undecided ones count against it.
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

/// Runs with each of these shares of a request's CPU time planted, in turn.
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

/// What the runs of one plant came to.
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

/// How likely values that lie on either side alike are so unevenly dealt: the sign test's p-value.
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

/// Whether a verdict says what is not so; to say nothing is not wrong.
fn is_wrong(verdict: Verdict, wanted: Verdict) -> bool {
    let says = verdict.is_call() || verdict == Verdict::NoDifferenceThatMatters;
    says && verdict != wanted
}

/// A run with so many more rounds planted, and what they came to beside it.
pub(super) fn run(lab: &Lab, rounds: u64) -> anyhow::Result<Run> {
    let before = apart(lab, rounds)?;
    let judgement = planted(lab, rounds)?;
    let after = apart(lab, rounds)?;
    Ok(Run {
        step: last_step(&judgement)?.clone(),
        rounds,
        apart: [before, after],
    })
}

/// What a server with so many more rounds spends on a request, over what it would without them.
fn apart(lab: &Lab, more: u64) -> anyhow::Result<f64> {
    if more == 0 {
        return Ok(1.0);
    }
    let rounds = BASELINE + more;
    let Planted { loop_ns, all_ns } = plant::time(lab, rounds)?;
    let more_ns = loop_ns * more as f64 / rounds as f64;
    Ok(all_ns / (all_ns - more_ns))
}

/// How many rounds are some such share of a request's CPU time.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of some microseconds"
)]
pub(super) fn rounds(lab: &Lab, share: f64) -> anyhow::Result<u64> {
    let Planted { loop_ns, all_ns } = plant::time(lab, BASELINE)?;
    Ok((BASELINE as f64 * share * all_ns / loop_ns).round() as u64)
}

/// A run of our server against itself with so many more rounds a request.
fn planted(lab: &Lab, rounds: u64) -> anyhow::Result<Judgement> {
    let file = lab.folder().join("planted.toml");
    // A step that has what the baseline has would be left out; one with a loop of no rounds is the same server.
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
