//! The study that is shipped, on a box with 500 nft rules and connection tracking: it finds what they
//! cost, and of what does nothing, nothing.

use anyhow::{Context as _, ensure};
use model::judgement::StepResult;
use model::{Judgement, Verdict};

use super::{Lab, Proof, claims_a_difference, step_words};

const STUDY: &str = include_str!("../../../studies/http-json.toml");
const SHIPPED_RULES: &str = "nft-rules=100";
const RULES: &str = "nft-rules=500";
/// A last step that sets nothing.
const NOTHING: &str = "
[[step]]
name = \"nothing\"
title = \"nothing is set\"
add = [\"nothing\"]
";
/// What the rules must be worth at least, as a share of server CPU per request, whatever of the
/// interval is true.
const WORTH: f64 = 0.05;

pub(crate) fn netfilter_is_found(lab: &Lab) -> anyhow::Result<Proof> {
    let judgement = run(lab)?;
    let [netfilter, conntrack, nothing] =
        ["netfilter", "conntrack", "nothing"].map(|name| step(&judgement, name));
    let (netfilter, conntrack, nothing) = (netfilter?, conntrack?, nothing?);
    let is_found = netfilter.verdict == Verdict::Better && is_worth_it(netfilter);
    Ok(Proof {
        claim: format!(
            "http-json finds {RULES} to be worth {:.0} % or more, and nothing to be worth nothing",
            WORTH * 100.0
        ),
        seen: [netfilter, conntrack, nothing]
            .map(|step| format!("{}: {}", step.arm, step_words(step)))
            .join("\n     "),
        held: is_found && !claims_a_difference(nothing.verdict) && !nothing.verdict.is_void(),
    })
}

fn is_worth_it(step: &StepResult) -> bool {
    step.effect.is_some_and(|effect| effect.high <= 1.0 - WORTH)
}

fn run(lab: &Lab) -> anyhow::Result<Judgement> {
    let text = STUDY.replace(SHIPPED_RULES, RULES);
    ensure!(text != STUDY, "http-json has no {SHIPPED_RULES} any more");
    let studies = lab.folder().join("studies");
    std::fs::create_dir_all(&studies)?;
    // A study on the disk is taken before the one of that name in the program.
    let file = studies.join("http-json.toml");
    std::fs::write(&file, text + NOTHING)?;
    let order = [
        "study",
        "run",
        "http-json",
        "--rig",
        "netns",
        "--yes",
        "--json",
        "--out",
        "cost",
    ];
    let judgement = lab.judgement(&order);
    std::fs::remove_file(file)?;
    judgement
}

fn step<'j>(judgement: &'j Judgement, name: &str) -> anyhow::Result<&'j StepResult> {
    let mut steps = judgement.steps.iter();
    let step = steps.find(|step| step.arm == name);
    step.with_context(|| format!("no step `{name}` was judged"))
}
