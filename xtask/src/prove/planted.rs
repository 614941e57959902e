//! Verdicts on our own server against itself with more rounds of a busy loop in each request. What they add
//! is measured apart from the study, by servers of their own before each study and after it: the loop's own
//! time over that of the rest of a request, by the clock of the thread that serves, under the same load. The
//! median of all that a proof's runs have of one plant is the truth that their intervals must hold.

use model::judgement::StepResult;
use model::{Judgement, Verdict};

use super::plant::{self, Planted};
use super::{Lab, Proof, claims_a_difference, last_step, step_words};

const STUDY: &str = include_str!("../../studies/planted.toml");
/// Rounds of the loop that every server has: two microseconds or so, with which the server is what limits, not
/// its client.
const BASELINE: u64 = 4000;
/// What stands in the study for the lever of both arms, and for that of the step.
const BASELINE_IN_STUDY: &str = "\"busy-work-rounds=4000\"";
const STEP_IN_STUDY: &str = "busy-work-rounds=4400";
/// Runs of each proof.
const RUNS: usize = 40;
/// Of so many of the runs the interval must hold the truth. Its 95 % are of many more runs: of 40, so
/// few as 36 have it once in twenty proofs at most.
const LEAST_COVERED: usize = 36;
const _: () = assert!(
    LEAST_COVERED <= RUNS && LEAST_COVERED * 10 >= RUNS * 9,
    "a proof must be able to hold, and to fail"
);
/// Of so many the verdict may be wrong: claim a difference that matters where there is none, or none,
/// or one in the other direction, where there is one.
const MOST_WRONG: usize = 2;

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

pub(crate) fn identical_servers_are_not_called_different(lab: &Lab) -> anyhow::Result<Proof> {
    proof(lab, "identical servers", &[0.0], &NO_DIFFERENCE)
}

pub(crate) fn half_a_per_cent_is_not_called(lab: &Lab) -> anyhow::Result<Proof> {
    proof(lab, "some 0.5 % planted", &[0.005], &NO_DIFFERENCE)
}

pub(crate) fn large_ones_are_found(lab: &Lab) -> anyhow::Result<Proof> {
    proof(
        lab,
        "some 10 and 50 % planted in turn",
        &[0.10, 0.50],
        &WORSE,
    )
}

/// What must come of a proof's runs.
struct Wanted {
    verdict: Verdict,
    /// Of so many runs it must be the verdict: void and undecided ones count against it.
    least_right: usize,
}

/// Half of the runs may be too noisy to tell.
const NO_DIFFERENCE: Wanted = Wanted {
    verdict: Verdict::NoDifferenceThatMatters,
    least_right: RUNS / 2,
};
const WORSE: Wanted = Wanted {
    verdict: Verdict::Worse,
    least_right: LEAST_COVERED,
};

fn proof(lab: &Lab, what: &str, shares: &[f64], wanted: &Wanted) -> anyhow::Result<Proof> {
    let rounds = shares.iter().map(|share| rounds(lab, *share));
    let rounds: Vec<u64> = rounds.collect::<anyhow::Result<_>>()?;
    let runs: Vec<Run> = (rounds.iter().cycle().take(RUNS))
        .map(|rounds| run(lab, *rounds))
        .collect::<anyhow::Result<_>>()?;
    let truth_of = |run: &Run| truth(&runs, run.rounds);
    let count = |of: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| of(run)).count();
    let covered = count(&|run| run.covers(truth_of(run)));
    let right = count(&|run| run.step.verdict == wanted.verdict);
    let wrong = count(&|run| is_wrong(run.step.verdict, wanted.verdict));
    let Wanted {
        verdict,
        least_right,
    } = wanted;
    let each: Vec<String> = runs.iter().map(|run| run.words(truth_of(run))).collect();
    let words = verdict.words();
    Ok(Proof {
        claim: format!(
            "of {RUNS} runs with {what}, {LEAST_COVERED} intervals hold what was planted, \
             {least_right} verdicts are \"{words}\", and {MOST_WRONG} at most are wrong"
        ),
        seen: format!(
            "{covered} hold it, {right} are \"{words}\", {wrong} are wrong\n       {}",
            each.join("\n       ")
        ),
        held: covered >= LEAST_COVERED && right >= *least_right && wrong <= MOST_WRONG,
    })
}

/// Whether a verdict says what is not so; to say nothing is not wrong.
fn is_wrong(verdict: Verdict, wanted: Verdict) -> bool {
    let says = claims_a_difference(verdict) || verdict == Verdict::NoDifferenceThatMatters;
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
