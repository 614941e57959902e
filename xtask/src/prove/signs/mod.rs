//! Levers and costs whose sign is known: each comes out as it did before, and what does nothing as
//! nothing.

mod catalogue;
mod study;
mod table;

use std::path::Path;

use model::judgement::StepResult;
use model::{Doubt, Judgement, RunRecord, Verdict};

use self::catalogue::{BULK, COSTS, IDLE, LARGE_COSTS, NULLS};
use super::{Lab, Proof, claims_a_difference};

/// How many times as many rounds a family has when it is asked once more.
const MORE: u32 = 2;

/// Levers that are measured in one run, each against the same baseline.
pub(super) struct Family {
    /// Of its study.
    name: &'static str,
    claim: &'static str,
    rig: &'static str,
    rounds: u32,
    score_ms: u32,
    path: &'static str,
    connections: u32,
    /// What every arm has.
    baseline: &'static [&'static str],
    signs: &'static [Sign],
}

/// One lever and what is known of it.
pub(super) struct Sign {
    change: Change,
    expected: Expected,
    /// What it did when it was first measured, by hand.
    before: &'static str,
    /// Whether a machine may be without it.
    may_be_absent: bool,
}

/// What an arm has that the baseline has not, or the other way round.
pub(super) enum Change {
    Adds(&'static str),
    TakesAway(&'static str),
}

/// The verdict on server CPU per request that a sign is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Better,
    Worse,
    /// No difference that matters, or none that can be told.
    Nothing,
}

/// What came of a family that was asked.
struct Answer {
    /// Of each sign, in the family's order.
    seen: Vec<Seen>,
    doubts: Vec<Doubt>,
}

/// What a run says of a sign.
enum Seen {
    Judged(Box<StepResult>),
    /// The reason why no arm has it.
    Absent(String),
}

pub(crate) fn costs(lab: &Lab) -> anyhow::Result<Proof> {
    COSTS.prove(lab)
}

pub(crate) fn large_costs(lab: &Lab) -> anyhow::Result<Proof> {
    LARGE_COSTS.prove(lab)
}

pub(crate) fn nulls(lab: &Lab) -> anyhow::Result<Proof> {
    NULLS.prove(lab)
}

pub(crate) fn idle(lab: &Lab) -> anyhow::Result<Proof> {
    IDLE.prove(lab)
}

pub(crate) fn bulk(lab: &Lab) -> anyhow::Result<Proof> {
    BULK.prove(lab)
}

impl Family {
    /// Measures it, and once more with more rounds where an effect that is there was not shown. A
    /// family of which anything was claimed wrongly is not asked again: chance may take that back.
    fn prove(&self, lab: &Lab) -> anyhow::Result<Proof> {
        let mut rounds = self.rounds;
        let mut answer = self.run(lab, rounds)?;
        let mut lines = Vec::new();
        if is_worth_another(self.signs, &answer.seen) {
            rounds *= MORE;
            lines.push(format!(
                "{} rounds did not show every sign; asked once more, with {rounds}",
                self.rounds
            ));
            answer = self.run(lab, rounds)?;
        }
        lines.extend(table::of(self, &answer.seen));
        let doubt = |doubt: &Doubt| format!("doubt: {}", doubt.what());
        lines.extend(answer.doubts.iter().map(doubt));
        let held = |(sign, seen): (&Sign, &Seen)| sign.holds(seen);
        Ok(Proof {
            claim: self.claim.to_owned(),
            seen: lines.join("\n     "),
            held: self.signs.iter().zip(&answer.seen).all(held),
        })
    }

    fn run(&self, lab: &Lab, rounds: u32) -> anyhow::Result<Answer> {
        let file = format!("{}.toml", self.name);
        std::fs::write(lab.folder().join(&file), study::text(self, rounds))?;
        let out = lab.folder().join(self.name);
        let _ = std::fs::remove_dir_all(&out);
        // A shared machine is measured too; what reaches further than a namespace is journalled.
        let order = [
            "study", "run", &file, "--yes", "--host", "--json", "--out", self.name,
        ];
        let judgement = lab.judgement(&order)?;
        let run = record(&out)?;
        let seen = self.signs.iter().map(|sign| sign.find(&judgement, &run));
        Ok(Answer {
            seen: seen.collect(),
            doubts: judgement.doubts.clone(),
        })
    }
}

/// Whether more rounds may show what these did not: some sign is unseen, and none is wrong.
fn is_worth_another(signs: &[Sign], seen: &[Seen]) -> bool {
    let mut pairs = signs.iter().zip(seen);
    let is_any_wrong = pairs.clone().any(|(sign, seen)| sign.is_wrong(seen));
    !is_any_wrong && pairs.any(|(sign, seen)| sign.is_unseen(seen))
}

fn record(run: &Path) -> anyhow::Result<RunRecord> {
    Ok(serde_json::from_slice(&std::fs::read(
        run.join("run.json"),
    )?)?)
}

impl Sign {
    fn find(&self, judgement: &Judgement, run: &RunRecord) -> Seen {
        let arm = self.change.arm();
        if let Some(step) = judgement.steps.iter().find(|step| step.arm == arm) {
            return Seen::Judged(Box::new(step.clone()));
        }
        let left_out = run.left_out.iter().find(|left_out| left_out.step == arm);
        let why = left_out.map_or("the run does not say why", |left_out| &left_out.why);
        Seen::Absent(why.to_owned())
    }

    fn holds(&self, seen: &Seen) -> bool {
        match seen {
            Seen::Judged(step) => self.expected.is(step.verdict),
            Seen::Absent(_) => self.may_be_absent,
        }
    }

    /// Whether a difference is claimed that is not the expected one.
    fn is_wrong(&self, seen: &Seen) -> bool {
        matches!(seen, Seen::Judged(step) if claims_a_difference(step.verdict)) && !self.holds(seen)
    }

    /// Whether there is no verdict where there should be one, or none of an effect that is there.
    fn is_unseen(&self, seen: &Seen) -> bool {
        let Seen::Judged(step) = seen else {
            return false;
        };
        let is_there = self.expected != Expected::Nothing;
        step.verdict == Verdict::Invalid || is_there && !claims_a_difference(step.verdict)
    }
}

impl Change {
    /// The name of its arm.
    fn arm(&self) -> String {
        match self {
            Self::Adds(lever) => lever.replace('=', "-"),
            Self::TakesAway(lever) => format!("without-{}", lever.replace('=', "-")),
        }
    }
}

impl Expected {
    fn is(self, verdict: Verdict) -> bool {
        match self {
            Self::Better => verdict == Verdict::Better,
            Self::Worse => verdict == Verdict::Worse,
            Self::Nothing => matches!(
                verdict,
                Verdict::NoDifferenceThatMatters | Verdict::Inconclusive
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNS: [Sign; 2] = [sign(Expected::Better), sign(Expected::Nothing)];

    const fn sign(expected: Expected) -> Sign {
        Sign {
            change: Change::Adds("lever"),
            expected,
            before: "",
            may_be_absent: false,
        }
    }

    fn judged(verdict: Verdict) -> Seen {
        Seen::Judged(Box::new(StepResult {
            arm: "lever".to_owned(),
            title: String::new(),
            against: String::new(),
            verdict,
            effect: None,
            server_cpu: None,
            client_cpu: None,
            throughput: None,
            published: None,
        }))
    }

    #[test]
    fn what_was_claimed_wrongly_is_not_asked_again_for_the_sake_of_what_was_not_seen() {
        let is_asked_again =
            |verdicts: [Verdict; 2]| is_worth_another(&SIGNS, &verdicts.map(judged));
        assert!(is_asked_again([
            Verdict::Inconclusive,
            Verdict::Inconclusive
        ]));
        assert!(is_asked_again([Verdict::Better, Verdict::Invalid]));
        assert!(!is_asked_again([Verdict::Better, Verdict::Inconclusive]));
        for wrong in [Verdict::Better, Verdict::Worse] {
            assert!(!is_asked_again([Verdict::Inconclusive, wrong]));
        }
        assert!(!is_asked_again([Verdict::Worse, Verdict::Invalid]));
    }
}
