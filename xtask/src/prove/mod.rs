//! `cargo xtask prove`: what is too slow for every commit. Verdicts against planted truths, and
//! the comparisons with peers. `cargo xtask test` takes one of them at a time.

mod guests;
mod keep;
mod list;
mod long_tests;
mod nginx_rules;
mod plant;
mod planted;
mod planted_cost;
mod release;
mod sample;
mod signs;
mod two_boots;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail, ensure};
use model::judgement::StepResult;
use model::{Judgement, Verdict};
use sys::stop::{Again, StopSignal};

use planted::{NO_DIFFERENCE, WORSE};

use crate::stage::{Counts, Stages};
use crate::{commit, target};

/// One claim and whether it held.
pub(crate) struct Proof {
    claim: String,
    seen: String,
    held: bool,
}

type Prove = fn(&Lab) -> anyhow::Result<Proof>;

/// Verdicts against planted truths, and what a user is given, by name.
const PROOFS: &[(&str, Prove)] = &[
    ("identical", |lab| {
        planted::proof(lab, "identical servers", &[0.0], &NO_DIFFERENCE)
    }),
    ("planted-large", |lab| {
        planted::proof(
            lab,
            "some 10 and 50 % planted in turn",
            &[0.10, 0.50],
            &WORSE,
        )
    }),
    ("planted-small", |lab| {
        planted::proof(lab, "some 0.5 % planted", &[0.005], &NO_DIFFERENCE)
    }),
    ("planted-cost", planted_cost::netfilter_is_found),
    ("signs-costs", |lab| signs::prove(lab, "signs-costs")),
    ("signs-large-costs", |lab| {
        signs::prove(lab, "signs-large-costs")
    }),
    ("signs-nulls", |lab| signs::prove(lab, "signs-nulls")),
    ("signs-idle", |lab| signs::prove(lab, "signs-idle")),
    ("signs-bulk", |lab| signs::prove(lab, "signs-bulk")),
    ("nginx-rules", nginx_rules::two_hundred_rules_are_found),
    (
        "nginx-itself",
        nginx_rules::nginx_is_not_called_different_from_itself,
    ),
    ("power-cut", guests::what_was_synced_survives),
    ("boot", two_boots::a_run_goes_on_after_a_reboot),
    ("rigs", long_tests::rigs_leave_the_machine_as_it_was),
    ("levers", long_tests::kills_are_undone),
    ("guest-panic", guests::a_panic_is_told_with_its_reason),
    ("release", release::the_package_works_for_an_ordinary_user),
];

/// `cargo xtask prove [FILTER] [--keep | --list]`.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let (flags, filters): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|word| word.starts_with('-'));
    match (&flags[..], &filters[..]) {
        ([], []) => run_now(""),
        ([], [filter]) => run_now(filter),
        (["--keep"], []) => keep::run(""),
        (["--keep"], [filter]) => keep::run(filter),
        (["--list"], []) => list::run(""),
        (["--list"], [filter]) => list::run(filter),
        _ => bail!("expected: cargo xtask prove [FILTER] [--keep | --list]"),
    }
}

fn proofs() -> impl Iterator<Item = (&'static str, Prove)> {
    PROOFS.iter().copied().chain(sample::SAMPLED)
}

/// The proofs whose names hold `filter`.
fn names(filter: &str) -> anyhow::Result<Vec<&'static str>> {
    let all = proofs().map(|(name, _)| name).chain(["bench"]);
    let names: Vec<_> = all.filter(|name| name.contains(filter)).collect();
    ensure!(!names.is_empty(), "no proof is named like `{filter}`");
    Ok(names)
}

/// Runs every proof whose name holds `filter`.
fn run_now(filter: &str) -> anyhow::Result<ExitCode> {
    let names = names(filter)?;
    crate::packages::install_missing()?;
    let _stop = StopSignal::listen(Again::Kills)?;
    let _claim = target::claim()?;
    let lab = Lab::new(target::program(target::PROFILE)?)?;
    let mut stages = Stages::default();
    for (name, proof) in proofs().filter(|(name, _)| names.contains(name)) {
        prove(&mut stages, name, proof, &lab)?;
    }
    if names.contains(&"bench") {
        let begun = sys::clock::now();
        stages.note("bench", begun, crate::bench::run(&[])?)?;
    }
    Ok(stages.close(&Counts::default()))
}

/// The one slow proof whose turn it is, on the program that the tests were run with; once more where it
/// fails, unless this is to be strict, as one in hundreds fails by chance alone.
pub(crate) fn sample(stages: &mut Stages, is_strict: bool) -> anyhow::Result<()> {
    let turn = sample::turn(commit::hash().as_deref());
    let (name, proof) = sample::SAMPLED[turn];
    println!(
        "== slow proof {} of {}, by the commit's hash; again: cargo xtask prove {name}",
        turn + 1,
        sample::SAMPLED.len()
    );
    let begun = sys::clock::now();
    // A folder of runs for each.
    let try_it = || {
        anyhow::Ok(holds(
            name,
            proof,
            &Lab::new(target::program(target::PROFILE)?)?,
        ))
    };
    let mut held = try_it()?;
    if !held && !is_strict {
        held = try_it()?;
    }
    stages.note(name, begun, held)
}

fn prove(stages: &mut Stages, name: &str, proof: Prove, lab: &Lab) -> anyhow::Result<()> {
    let begun = sys::clock::now();
    let held = holds(name, proof, lab);
    stages.note(name, begun, held)
}

fn holds(name: &str, proof: Prove, lab: &Lab) -> bool {
    match proof(lab) {
        Ok(Proof { claim, seen, held }) => {
            let word = if held { "held " } else { "FAILED" };
            println!("{word} {name}: {claim}\n     {seen}");
            held
        }
        Err(error) => {
            println!("FAILED {name}: could not be carried out: {error:#}");
            false
        }
    }
}

/// A folder for runs, and the program.
pub(crate) struct Lab {
    folder: PathBuf,
    linerate: PathBuf,
}

impl Lab {
    fn new(linerate: PathBuf) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("linerate-prove-{}", std::process::id()));
        // A folder of that name that is there already is somebody else's.
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self { folder, linerate })
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

fn last_step(judgement: &Judgement) -> anyhow::Result<&StepResult> {
    judgement.steps.last().context("no step was judged")
}

/// The verdict on the last step, with its figures.
fn verdict(judgement: &Judgement) -> anyhow::Result<(Verdict, String)> {
    let step = last_step(judgement)?;
    ensure!(step.effect.is_some(), "the step has no effect");
    Ok((step.verdict, step_words(step)))
}

fn step_words(step: &StepResult) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let figures = step.effect.map(|effect| {
        format!(
            "{:+.1} % ({:+.1} … {:+.1}), n {}",
            percent(effect.ratio),
            percent(effect.low),
            percent(effect.high),
            effect.n
        )
    });
    let figures = figures.unwrap_or_else(|| "without figures".to_owned());
    format!("{} {figures}", step.verdict.words())
}

/// Whether a verdict claims a difference.
fn claims_a_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}
