//! Levers and costs whose sign is known (`xtask/proofs/signs-*.toml`): each must come out as it did
//! before, and one without effect must show none.
//!
//! A step's `why` gives the expected verdict on server CPU per request (`better`, `worse` or `no
//! call`), then `where it is` if a machine may lack the lever, and after a colon the earlier
//! result. That was measured by hand, before these levers existed, on a virtual machine with two
//! CPUs and Linux 6.18, over loopback or a veth pair between two namespaces: server CPU time per
//! request, or per byte where the answers are large, with its 95 % interval.

use anyhow::Context as _;
use model::judgement::StepResult;
use model::study::StepSpec;
use model::{Doubt, RunRecord, Verdict};

use super::{Lab, Proof, step_words};
use crate::target;

/// Factor by which a family's rounds are multiplied when it is measured once more.
const MORE: u32 = 2;
/// Marks a lever that a machine may lack.
const MAY_BE_ABSENT: &str = " where it is";
const HEAD: [&str; 5] = [
    "set",
    "expected",
    "server CPU per request",
    "before",
    "held",
];

/// A step of a family and its result in a run.
struct Sign {
    step: StepSpec,
    /// The result, or the reason why no arm has the step.
    seen: Result<StepResult, String>,
}

/// A family of signs that was measured.
struct Family {
    /// The question of its study.
    question: String,
    rounds: u32,
    signs: Vec<Sign>,
    doubts: Vec<Doubt>,
}

/// Measures a family, and once more with more rounds where an existing effect was not shown. A
/// family with a wrong claim is not measured again: chance might hide the mistake.
pub(super) fn prove(lab: &Lab, name: &str) -> anyhow::Result<Proof> {
    let mut family = run(lab, name, None)?;
    let mut lines = Vec::new();
    if is_worth_another(&family.signs) {
        let (few, rounds) = (family.rounds, family.rounds * MORE);
        lines.push(format!(
            "{few} rounds did not show every sign; asked once more, with {rounds}"
        ));
        family = run(lab, name, Some(rounds))?;
    }
    lines.push(line(HEAD));
    lines.extend(family.signs.iter().map(Sign::line));
    let doubts = family.doubts.iter();
    lines.extend(doubts.map(|doubt| format!("doubt: {}", doubt.what())));
    Ok(Proof {
        claim: family.question,
        seen: lines.join("\n     "),
        held: family.signs.iter().all(Sign::holds),
    })
}

fn run(lab: &Lab, name: &str, rounds: Option<u32>) -> anyhow::Result<Family> {
    let out = lab.folder().join(name);
    let _ = std::fs::remove_dir_all(&out);
    let file = target::workspace().join(format!("xtask/proofs/{name}.toml"));
    let file = file.to_str().context("the path of the checkout")?;
    // A shared machine is measured too; changes that reach beyond a namespace are journalled.
    let mut order = vec![
        "study", "run", file, "--yes", "--host", "--json", "--out", name,
    ];
    let rounds = rounds.map(|rounds| rounds.to_string());
    order.extend(rounds.iter().flat_map(|rounds| ["--rounds", rounds]));
    let judgement = lab.judgement(&order)?;
    let run = RunRecord::parse(&std::fs::read_to_string(out.join("run.json"))?);
    let run: RunRecord = run.context("run.json")?;
    let signs = run.study.steps.iter().map(|step| {
        let judged = judgement
            .steps
            .iter()
            .find(|judged| judged.arm == step.name);
        let left_out = run
            .left_out
            .iter()
            .find(|left_out| left_out.step == step.name);
        let why = left_out.map_or("the run does not say why", |left_out| &left_out.why);
        Sign {
            step: step.clone(),
            seen: judged.cloned().ok_or_else(|| why.to_owned()),
        }
    });
    Ok(Family {
        question: run.study.question.clone(),
        rounds: run.study.design.rounds,
        signs: signs.collect(),
        doubts: judgement.doubts,
    })
}

/// Whether more rounds may show what these did not: some sign was not seen, and none is wrong.
fn is_worth_another(signs: &[Sign]) -> bool {
    !signs.iter().any(Sign::is_wrong) && signs.iter().any(Sign::is_unseen)
}

impl Sign {
    /// The expected verdict, and the earlier result.
    fn known(&self) -> (&str, &str) {
        self.step.why.split_once(": ").unwrap_or_default()
    }

    fn expected(&self) -> &str {
        let expected = self.known().0;
        expected.strip_suffix(MAY_BE_ABSENT).unwrap_or(expected)
    }

    fn holds(&self) -> bool {
        let Ok(step) = &self.seen else {
            return self.known().0.ends_with(MAY_BE_ABSENT);
        };
        match self.expected() {
            "better" => step.verdict == Verdict::Better,
            "worse" => step.verdict == Verdict::Worse,
            // No difference that matters, or none that can be seen.
            _ => !step.verdict.is_call() && !step.verdict.is_void(),
        }
    }

    /// Whether the run claims a difference other than the expected one.
    fn is_wrong(&self) -> bool {
        matches!(&self.seen, Ok(step) if step.verdict.is_call()) && !self.holds()
    }

    /// Whether the expected verdict is missing without a wrong claim: the run is void, or did not
    /// show an existing effect.
    fn is_unseen(&self) -> bool {
        self.seen.is_ok() && !self.is_wrong() && !self.holds()
    }

    fn line(&self) -> String {
        let (_, before) = self.known();
        let seen = match &self.seen {
            Ok(step) => step_words(step),
            Err(why) => format!("not here: {why}"),
        };
        let held = if self.holds() { "yes" } else { "NO" };
        line([&self.step.title, self.expected(), &seen, before, held])
    }
}

/// Formats a row; each column is wide enough for its longest text.
fn line([set, expected, seen, before, held]: [&str; 5]) -> String {
    format!("{set:<29}  {expected:<8}  {seen:<52}  {before:<30}  {held}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(expected: &str, verdict: Verdict) -> Sign {
        let step =
            serde_json::json!({ "name": "lever", "title": "", "why": format!("{expected}: +1 %") });
        let judged =
            serde_json::json!({ "arm": "lever", "title": "", "against": "", "verdict": verdict });
        Sign {
            step: serde_json::from_value(step).unwrap(),
            seen: Ok(serde_json::from_value(judged).unwrap()),
        }
    }

    #[test]
    fn what_was_claimed_wrongly_is_not_asked_again_for_the_sake_of_what_was_not_seen() {
        let is_asked_again = |[one, other]: [Verdict; 2]| {
            is_worth_another(&[sign("better", one), sign("no call", other)])
        };
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

    #[test]
    fn what_may_be_absent_holds_without_an_arm_and_nothing_else_does() {
        let absent = |expected| {
            let sign = Sign {
                seen: Err("no such file".to_owned()),
                ..sign(expected, Verdict::Better)
            };
            sign.holds()
        };
        assert!(absent("better where it is") && !absent("better"));
        assert!(sign("better where it is", Verdict::Better).holds());
        assert!(!sign("better where it is", Verdict::Inconclusive).holds());
    }
}
