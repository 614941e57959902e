//! `cargo xtask prove`: checks that are too slow for every commit. They compare verdicts with
//! planted truths, and our instruments with peers. `cargo xtask test` runs one slow proof at a
//! time.

mod accounts;
mod attach;
mod expected;
mod gate;
mod guests;
mod limiters;
mod long_tests;
mod nginx;
mod plant;
mod planted;
mod sample;
mod signs;
mod two_boots;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail, ensure};
use model::Judgement;
use model::judgement::StepResult;
use sys::stop::{Again, StopSignal};

use expected::{NOT_DIFFERENT, SURELY_WORSE};
use planted::{NO_DIFFERENCE, WORSE};

use crate::commands::output;
use crate::stage::{Counts, Stages};
use crate::{release, target};

/// One claim and whether it held.
pub(crate) struct Proof {
    claim: String,
    seen: String,
    held: bool,
}

const KEEP: &str = include_str!("keep.sh");
const LIST: &str = include_str!("list.sh");
const RELEASE: &str = include_str!("release.sh");

const RUNS_VARIABLE: &str = "LINERATE_PROOF_RUNS";

type Prove = fn(&Lab) -> anyhow::Result<Proof>;

/// Verdicts against planted truths, and what a user receives, by name.
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
    ("signs-costs", |lab| signs::prove(lab, "signs-costs")),
    ("signs-large-costs", |lab| {
        signs::prove(lab, "signs-large-costs")
    }),
    ("signs-nulls", |lab| signs::prove(lab, "signs-nulls")),
    ("signs-idle", |lab| signs::prove(lab, "signs-idle")),
    ("signs-bulk", |lab| signs::prove(lab, "signs-bulk")),
    ("nginx-rules", |lab| {
        nginx::proof(lab, nginx::RULES, &SURELY_WORSE)
    }),
    ("nginx-itself", |lab| nginx::proof(lab, 0, &NOT_DIFFERENT)),
    ("nginx-until", nginx::until),
    ("nginx-tried", nginx::tried),
    ("nginx-queued", nginx::queued),
    ("accounts", accounts::proof),
    ("attach", attach::proof),
    ("gate-c", |lab| gate::proof(lab, &gate::C)),
    ("gate-rust", |lab| gate::proof(lab, &gate::RUST)),
    ("gate-python", |lab| gate::proof(lab, &gate::PYTHON)),
    ("limiters", limiters::proof),
    ("power-cut", guests::what_was_synced_survives),
    ("boot", two_boots::a_run_goes_on_after_a_reboot),
    ("rigs", |lab| long_tests::RIGS.prove(lab)),
    ("levers", |lab| long_tests::KILLS.prove(lab)),
    ("guest-panic", guests::a_panic_is_told_with_its_reason),
    ("release", the_package_works_for_an_ordinary_user),
];

/// `cargo xtask prove [FILTER] [--keep | --list]`.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let (flags, filters): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|word| word.starts_with('-'));
    match (&flags[..], &filters[..]) {
        ([], []) => run_now(""),
        ([], [filter]) => run_now(filter),
        (["--keep"], []) => keep(""),
        (["--keep"], [filter]) => keep(filter),
        (["--list"], []) => list(""),
        (["--list"], [filter]) => list(filter),
        _ => bail!("expected: cargo xtask prove [FILTER] [--keep | --list]"),
    }
}

/// Runs the proofs in a separate process, so that all output is saved, that of their children
/// included.
fn keep(filter: &str) -> anyhow::Result<ExitCode> {
    names(filter)?;
    let own = std::env::current_exe()?;
    script(KEEP, &[&own.to_string_lossy(), filter])
}

/// Lists the newest log of each proof. `bench` is left out: its results are in bench/results.md.
fn list(filter: &str) -> anyhow::Result<ExitCode> {
    let mut names = names(filter)?;
    names.retain(|name| *name != "bench");
    script(LIST, &names)
}

fn script(script: &str, arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(arguments);
    let status = shell.current_dir(target::workspace()).status()?;
    Ok(crate::code(status.success()))
}

fn proofs() -> impl Iterator<Item = (&'static str, Prove)> {
    PROOFS.iter().copied().chain(sample::SAMPLED)
}

/// The names of the proofs that contain `filter`.
fn names(filter: &str) -> anyhow::Result<Vec<&'static str>> {
    let all = proofs().map(|(name, _)| name).chain(["bench"]);
    let names: Vec<_> = all.filter(|name| name.contains(filter)).collect();
    ensure!(!names.is_empty(), "no proof is named like `{filter}`");
    Ok(names)
}

/// Runs every proof whose name contains `filter`.
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

/// Runs the one slow proof whose turn it is, on the program that the tests used. One that fails is
/// run once more unless `is_strict`, as one in hundreds fails by chance alone.
pub(crate) fn sample(stages: &mut Stages, is_strict: bool) -> anyhow::Result<()> {
    let turn = sample::turn_now();
    let (name, proof) = sample::SAMPLED[turn];
    println!(
        "== slow proof {} of {}, by the commit's hash; again: cargo xtask prove {name}",
        turn + 1,
        sample::SAMPLED.len()
    );
    let begun = sys::clock::now();
    // Each try gets a new folder for its runs.
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

fn the_package_works_for_an_ordinary_user(lab: &Lab) -> anyhow::Result<Proof> {
    let made = release::make()?;
    let mut tries = Command::new("sh");
    tries.args(["-c", RELEASE, "sh"]);
    let seen = output(tries.args([&made.folder, &made.package, &lab.folder]))?;
    Ok(Proof {
        claim: "the package unpacks and its program works for an ordinary user".to_owned(),
        seen: String::from_utf8_lossy(&seen).trim_end().to_owned(),
        held: true,
    })
}

/// A folder for runs, and the program.
pub(crate) struct Lab {
    folder: PathBuf,
    linerate: PathBuf,
}

impl Lab {
    fn new(linerate: PathBuf) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("linerate-prove-{}", std::process::id()));
        // A folder of this name that already exists is somebody else's.
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

/// How many runs a proof that counts verdicts has: those it is made for, or the number in the
/// environment.
fn runs(made_for: usize) -> anyhow::Result<usize> {
    match std::env::var(RUNS_VARIABLE) {
        Ok(number) => number.parse().context(RUNS_VARIABLE),
        Err(_) => Ok(made_for),
    }
}

fn read_judgement(command: &mut Command) -> anyhow::Result<Judgement> {
    serde_json::from_slice(&output(command)?).context("the judgement")
}

fn last_step(judgement: &Judgement) -> anyhow::Result<&StepResult> {
    judgement.steps.last().context("no step was judged")
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
