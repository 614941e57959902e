//! Verdicts on our own server against itself with a busy loop of known length.

use anyhow::Context as _;
use model::{Judgement, Verdict};

use super::{Lab, Proof, claims_a_difference, verdict};

const STUDY: &str = include_str!("../../studies/planted.toml");
/// Short runs of two identical servers.
const IDENTICAL_RUNS: usize = 20;

pub(crate) fn identical_servers_are_not_called_different(lab: &Lab) -> anyhow::Result<Proof> {
    let mut wrong = 0;
    let mut seen = Vec::new();
    for _ in 0..IDENTICAL_RUNS {
        let (verdict, words) = verdict(&planted(lab, 0)?)?;
        wrong += usize::from(claims_a_difference(verdict));
        seen.push(words);
    }
    Ok(Proof {
        claim: format!("{IDENTICAL_RUNS} runs of identical servers claim no difference"),
        seen: format!("{wrong} claimed one\n       {}", seen.join("\n       ")),
        held: wrong == 0,
    })
}

pub(crate) fn ten_per_cent_is_found(lab: &Lab) -> anyhow::Result<Proof> {
    let (verdict, seen) = verdict(&planted(lab, share_ns(lab, 0.10)?)?)?;
    let claim = "a planted slowdown of 10 % is called worse".to_owned();
    Ok(Proof {
        claim,
        seen,
        held: verdict == Verdict::Worse,
    })
}

pub(crate) fn half_a_per_cent_is_not_called(lab: &Lab) -> anyhow::Result<Proof> {
    let (verdict, seen) = verdict(&planted(lab, share_ns(lab, 0.005)?)?)?;
    let claim = "a planted slowdown of 0.5 % is not called".to_owned();
    Ok(Proof {
        claim,
        seen,
        held: !claims_a_difference(verdict),
    })
}

/// So large a share of this machine's CPU time per request, in ns.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of some microseconds"
)]
pub(super) fn share_ns(lab: &Lab, share: f64) -> anyhow::Result<u64> {
    let judgement = planted(lab, 0)?;
    let baseline = judgement.arms.first().context("no arm was judged")?;
    let cpu_us = baseline
        .server_cpu_us_per_request
        .context("no CPU time was read")?;
    Ok((cpu_us.value * 1e3 * share).round() as u64)
}

/// A run of our server against itself with so much more work a request.
pub(super) fn planted(lab: &Lab, busy_work_ns: u64) -> anyhow::Result<Judgement> {
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
