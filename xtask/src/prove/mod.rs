//! `cargo xtask prove`: what is too slow for every commit. Verdicts against planted truths, and
//! the comparisons with peers.

mod nginx_rules;
mod planted;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use model::{Judgement, Verdict};

/// One claim and whether it held.
pub(crate) struct Proof {
    claim: String,
    seen: String,
    held: bool,
}

/// Runs every proof whose name holds `filter`; true when all held.
pub(crate) fn run(filter: &str) -> anyhow::Result<bool> {
    crate::packages::install_missing()?;
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet"])
        .status()?;
    ensure!(status.success(), "the release build failed");
    let lab = Lab::new()?;
    let mut all_held = true;
    let proofs: [(&str, Prove); 5] = [
        (
            "identical",
            planted::identical_servers_are_not_called_different,
        ),
        ("planted-large", planted::ten_per_cent_is_found),
        ("planted-small", planted::half_a_per_cent_is_not_called),
        ("nginx-rules", nginx_rules::two_hundred_rules_are_found),
        (
            "nginx-itself",
            nginx_rules::nginx_is_not_called_different_from_itself,
        ),
    ];
    for (name, proof) in proofs.into_iter().filter(|(name, _)| name.contains(filter)) {
        let Proof { claim, seen, held } = proof(&lab).with_context(|| name.to_owned())?;
        println!(
            "{} {name}: {claim}\n     {seen}",
            if held { "held " } else { "FAILED" }
        );
        all_held &= held;
    }
    if "bench".contains(filter) {
        all_held &= crate::bench::run("")?;
    }
    Ok(all_held)
}

type Prove = fn(&Lab) -> anyhow::Result<Proof>;

/// A folder for runs, and the program.
pub(crate) struct Lab {
    folder: PathBuf,
    linerate: PathBuf,
}

impl Lab {
    fn new() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("linerate-prove-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            linerate: crate::target::linerate()?,
        })
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the program in the folder and reads its judgement.
    fn judgement(&self, arguments: &[&str]) -> anyhow::Result<Judgement> {
        let mut command = Command::new(&self.linerate);
        read_judgement(command.args(arguments).current_dir(&self.folder))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn read_judgement(command: &mut Command) -> anyhow::Result<Judgement> {
    let output = command.output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} ended with {}: {words}",
        command.get_program().display(),
        output.status
    );
    serde_json::from_slice(&output.stdout).context("the judgement")
}

/// The verdict on the last step, with its figures.
fn verdict(judgement: &Judgement) -> anyhow::Result<(Verdict, String)> {
    let step = judgement.steps.last().context("no step was judged")?;
    let effect = step.effect.context("the step has no effect")?;
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let words = format!(
        "{} {:+.1} % ({:+.1} … {:+.1}), n {}",
        step.verdict.words(),
        percent(effect.ratio),
        percent(effect.low),
        percent(effect.high),
        effect.n
    );
    Ok((step.verdict, words))
}

/// Whether a verdict claims a difference.
fn claims_a_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}
