//! Verdicts on our own server against itself with a busy loop in each request. What the loop costs is
//! measured apart from the study: by the server itself, with the clock of the thread that does it,
//! under the same load, before the study and after it. That over the baseline's CPU time per request is
//! the truth that the study's interval must hold.

use anyhow::Context as _;
use model::judgement::StepResult;
use model::{Judgement, Verdict};

use super::{Lab, Proof, claims_a_difference, last_step, plant, step_words};

const STUDY: &str = include_str!("../../studies/planted.toml");
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

/// One run and what is true of it.
pub(super) struct Run {
    pub(super) step: StepResult,
    /// CPU time per request with the plant over that without it.
    pub(super) truth: f64,
}

impl Run {
    /// Whether the interval holds the truth. A run that is void has none that counts.
    fn covers(&self) -> bool {
        let effect = self.step.effect.filter(|_| !self.step.verdict.is_void());
        effect.is_some_and(|effect| (effect.low..=effect.high).contains(&self.truth))
    }

    pub(super) fn words(&self) -> String {
        let is_covered = if self.covers() { "holds" } else { "MISSES" };
        format!(
            "{} {is_covered} {:+.1} %",
            step_words(&self.step),
            (self.truth - 1.0) * 100.0
        )
    }
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
    let request_ns = request_ns(lab)?;
    let runs: Vec<Run> = (shares.iter().cycle().take(RUNS))
        .map(|share| run(lab, *share, request_ns))
        .collect::<anyhow::Result<_>>()?;
    let count = |of: &dyn Fn(&Run) -> bool| runs.iter().filter(|run| of(run)).count();
    let covered = count(&Run::covers);
    let right = count(&|run| run.step.verdict == wanted.verdict);
    let wrong = count(&|run| is_wrong(run.step.verdict, wanted.verdict));
    let Wanted {
        verdict,
        least_right,
    } = wanted;
    let each: Vec<String> = runs.iter().map(Run::words).collect();
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

/// A run with so much planted that it is some such share of a request's CPU time, and what it came to.
pub(super) fn run(lab: &Lab, share: f64, request_ns: f64) -> anyhow::Result<Run> {
    let nominal_ns = nominal_ns(share, request_ns);
    let before_ns = plant::cost_ns(lab, nominal_ns)?;
    let judgement = planted(lab, nominal_ns)?;
    let after_ns = plant::cost_ns(lab, nominal_ns)?;
    Ok(Run {
        truth: 1.0 + f64::midpoint(before_ns, after_ns) / baseline_ns(&judgement)?,
        step: last_step(&judgement)?.clone(),
    })
}

/// What the server is asked to plant: as long as the loop takes on an idle CPU.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of some microseconds"
)]
fn nominal_ns(share: f64, request_ns: f64) -> u64 {
    (request_ns * share).round() as u64
}

/// CPU time of a request without a plant, ns, by a run of its own.
pub(super) fn request_ns(lab: &Lab) -> anyhow::Result<f64> {
    baseline_ns(&planted(lab, 0)?)
}

/// CPU time of a request to our own server without a plant, ns.
fn baseline_ns(judgement: &Judgement) -> anyhow::Result<f64> {
    let baseline = judgement.arms.first().context("no arm was judged")?;
    let cpu_us = baseline
        .server_cpu_us_per_request
        .context("no CPU time was read")?;
    Ok(cpu_us.value * 1e3)
}

/// A run of our server against itself with so much more work a request.
fn planted(lab: &Lab, busy_work_ns: u64) -> anyhow::Result<Judgement> {
    let file = lab.folder().join("planted.toml");
    std::fs::write(
        &file,
        STUDY.replace("NANOSECONDS", &busy_work_ns.to_string()),
    )?;
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
