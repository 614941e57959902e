//! Runs `linerate gate` on one of three small projects, in two forms: two identical commits, and
//! two of which the second has 5 % of a request's or a run's CPU time planted in its one hot
//! function.
//!
//! The number of rounds of that function that makes 5 % is calibrated by a gate on a commit with a
//! quarter more rounds. A larger step would mislead: the rest of a request's cost changes with the
//! rounds, and what was 5 % by a calibration with five times the rounds was 7 to 8 % of a Rust
//! server at rest.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use model::Judgement;
use model::gate::Passage;
use serde_json::Value;

use super::{Lab, Proof};
use crate::commands::output;

/// A program with one hot function, which runs a loop as many times as the file `rounds` says.
pub(super) struct Project {
    name: &'static str,
    file: (&'static str, &'static str),
    rounds: u32,
    flags: &'static [&'static str],
}

pub(super) const C: Project = Project {
    name: "a C server",
    file: ("server.c", include_str!("../../proofs/gate/server.c")),
    rounds: 20_000,
    flags: &[
        "--build",
        "cc -O2 -DROUNDS=$(cat rounds) -DSHIFT=$(({seed} % 4096)) -o app server.c",
        "--serve",
        "exec ./app {port}",
    ],
};
pub(super) const RUST: Project = Project {
    name: "a Rust server",
    file: ("server.rs", include_str!("../../proofs/gate/server.rs")),
    rounds: 20_000,
    flags: &[
        "--build",
        "rustc -O -o app server.rs",
        "--serve",
        "exec ./app {port}",
    ],
};
pub(super) const PYTHON: Project = Project {
    name: "a Python command",
    file: ("command.py", include_str!("../../proofs/gate/command.py")),
    rounds: 200_000,
    flags: &["--run", "exec /usr/bin/python3 command.py"],
};

/// Further rounds of the loop, as a share, in the commit that calibrates their cost; and the number
/// of rounds of the gate that measures it.
const MORE: f64 = 0.25;
const MORE_GATE_ROUNDS: &str = "64";
/// The planted cost, as a share of the whole cost.
const PLANTED: f64 = 0.05;
/// Largest share of gates on identical commits that may claim a slowdown: an honest gate makes this
/// many.
const MOST_CLAIMED: f64 = 0.05;
/// Smallest share of the planted slowdowns that must be found.
const LEAST_FOUND: f64 = 0.95;
/// Number of gates of each kind per project, unless the environment variable gives another.
const RUNS: usize = 20;

/// The outcomes of all gates of one kind.
#[derive(Debug, Default)]
struct Passages {
    slower: usize,
    passed: usize,
    undecided: usize,
    seconds: Vec<f64>,
}

impl Passages {
    fn note(&mut self, outcome: &GateOutcome) {
        match outcome.passage {
            Passage::Slower => self.slower += 1,
            Passage::Passes => self.passed += 1,
            Passage::CannotTell => self.undecided += 1,
        }
        self.seconds.push(outcome.seconds);
    }

    fn all(&self) -> usize {
        self.seconds.len()
    }

    fn words(&self, what: &str) -> String {
        let median = judge::median::of(&self.seconds).unwrap_or_default();
        let longest = self.seconds.iter().copied().fold(0.0, f64::max);
        format!(
            "{what:<10} {:>4} {:>7} {:>7} {:>12} {median:>9.0} {longest:>9.0}",
            self.all(),
            self.slower,
            self.passed,
            self.undecided
        )
    }
}

/// Whether few enough identical commits were claimed to be slower, and enough plants were found.
fn holds(identical: &Passages, planted: &Passages) -> bool {
    let share = |tally: &Passages| tally.slower as f64 / tally.all() as f64;
    share(identical) <= MOST_CLAIMED && share(planted) >= LEAST_FOUND
}

pub(super) fn proof(lab: &Lab, project: &Project) -> anyhow::Result<Proof> {
    let (runs, name) = (super::runs(RUNS)?, project.name);
    let repository = Repository::new(lab, project)?;
    let mut found = [Passages::default(), Passages::default()];
    for _ in 0..runs {
        for (tally, head) in found.iter_mut().zip(["same", "planted"]) {
            let outcome = repository.gate(head, &[])?;
            println!("     {head}: {}", outcome.words());
            tally.note(&outcome);
        }
    }
    let [same, planted] = found;
    let table = [
        format!(
            "{:<10} {:>4} {:>7} {:>7} {:>12} {:>9} {:>9}",
            "", "runs", "slower", "passes", "cannot tell", "median s", "longest s"
        ),
        same.words("identical"),
        planted.words("+5 %"),
    ];
    Ok(Proof {
        claim: format!(
            "of {runs} gates on identical commits of {name} one in twenty at most claims that HEAD is slower, \
             and of {runs} on 5 % planted 19 in twenty find it within their three minutes"
        ),
        seen: table.join("\n     "),
        held: holds(&same, &planted),
    })
}

/// A repository of a project with the tagged commits `one`, `same` (identical to it), `more` (for
/// the calibration) and `planted`.
struct Repository<'a> {
    lab: &'a Lab,
    project: &'a Project,
    folder: PathBuf,
}

/// The outcome of one gate.
struct GateOutcome {
    passage: Passage,
    cost: Option<model::Effect>,
    rounds: u32,
    /// Duration of the measurement.
    seconds: f64,
}

impl GateOutcome {
    fn words(&self) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let cost = self.cost.map_or_else(String::new, |cost| {
            format!(
                " {:+.1} % ({:+.1} … {:+.1})",
                percent(cost.ratio),
                percent(cost.low),
                percent(cost.high)
            )
        });
        format!(
            "{:?}{cost}, {} rounds in {:.0} s",
            self.passage, self.rounds, self.seconds
        )
    }
}

impl<'a> Repository<'a> {
    fn new(lab: &'a Lab, project: &'a Project) -> anyhow::Result<Self> {
        let (file, text) = project.file;
        let folder = lab.folder().join(file);
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join(file), text)?;
        let repository = Self {
            lab,
            project,
            folder,
        };
        repository.git(&["init", "--quiet"])?;
        for (tag, more) in [("one", 0.0), ("same", 0.0), ("more", MORE)] {
            repository.commit(tag, more)?;
        }
        let outcome = repository.gate("more", &["--rounds", MORE_GATE_ROUNDS])?;
        let cost = outcome.cost.context("more rounds have no cost")?.ratio - 1.0;
        ensure!(cost > PLANTED, "{} % are too little", cost * 100.0);
        let planted = MORE * PLANTED / cost;
        println!(
            "     {}: {:.0} % more rounds: {}; 5 % are {:.1} % more",
            project.name,
            MORE * 100.0,
            outcome.words(),
            planted * 100.0
        );
        repository.commit("planted", planted)?;
        Ok(repository)
    }

    /// Commits and tags the project with more rounds; `more` is the addition as a share.
    fn commit(&self, tag: &str, more: f64) -> anyhow::Result<()> {
        let rounds = (f64::from(self.project.rounds) * (1.0 + more)).round();
        std::fs::write(self.folder.join("rounds"), rounds.to_string())?;
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--allow-empty", "-m", tag])?;
        self.git(&["tag", tag])
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let somebody = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
        let mut git = Command::new("git");
        git.args(somebody).args(arguments).current_dir(&self.folder);
        output(&mut git).map(drop)
    }

    /// Runs the gate from `one` to another commit.
    fn gate(&self, head: &str, flags: &[&str]) -> anyhow::Result<GateOutcome> {
        let out = self.lab.folder().join("gate");
        let _ = std::fs::remove_dir_all(&out);
        let mut command = Command::new(&self.lab.linerate);
        let ran = command
            .args(["gate", "one", head, "--yes", "--json", "--out"])
            .arg(&out)
            .args(self.project.flags)
            .args(flags)
            .current_dir(&self.folder)
            .output()?;
        let judgement: Judgement = serde_json::from_slice(&ran.stdout)
            .with_context(|| String::from_utf8_lossy(&ran.stderr).into_owned())?;
        let gate = judgement.gate.context("no gate was judged")?;
        let blocks = std::fs::read_to_string(out.join("blocks.jsonl"))?;
        let last: Value = serde_json::from_str(blocks.lines().last().unwrap_or_default())?;
        Ok(GateOutcome {
            passage: gate.passage,
            cost: gate.cost,
            rounds: judgement.rounds_done,
            seconds: last["at_ms"].as_f64().context("the last block")? / 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(slower: usize, all: usize) -> Passages {
        Passages {
            slower,
            seconds: vec![1.0; all],
            ..Passages::default()
        }
    }

    #[test]
    fn more_than_a_twentieth_claimed_or_missed_does_not_hold() {
        assert!(holds(&tally(1, 20), &tally(19, 20)));
        assert!(!holds(&tally(2, 20), &tally(20, 20)));
        assert!(!holds(&tally(0, 20), &tally(18, 20)));
    }
}
