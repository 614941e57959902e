//! The studies of commands that come with the program, each in its smoke form.

use crate::common::built_in;
mod flows;
mod git_status;
pub(crate) mod https_download;
mod net_credit;
mod of_servers;
mod page_size;
mod python;
mod router;
mod rsqrt;
mod strength_reduction;
mod udp_batches;
mod video;
mod vpn;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Folder, answer, linerate};
use model::command_run::{CommandBlock, CommandBlocks, CommandRun, Evidence, EvidencePiece};
use model::judgement::{FactorialJudgement, Levels};

/// A finished run in its smoke form.
struct Smoke {
    folder: Folder,
    run: CommandRun,
    blocks: Vec<CommandBlock>,
    judgement: FactorialJudgement,
    evidence: Vec<EvidencePiece>,
}

impl Smoke {
    fn of(study: &str) -> Self {
        Self::with(folder(study), study, &[])
    }

    /// Runs a study with these variables added to the environment.
    fn with(folder: Folder, study: &str, environment: &[(&str, String)]) -> Self {
        let mut command = smoke(&folder, study);
        if study.ends_with(".toml") {
            command.arg("--trust");
        }
        command.envs(environment.iter().cloned());
        Self::by(folder, &mut command)
    }

    /// Runs a study by a command that saves it in the folder `run`.
    fn by(folder: Folder, command: &mut Command) -> Self {
        let said = answer(command);
        let evidence: Evidence = serde_json::from_str(&folder.text("run/evidence.json")).unwrap();
        let judgement: FactorialJudgement = serde_json::from_str(&said).unwrap();
        assert_eq!(judgement.rounds_done, 1);
        for arm in &judgement.arms {
            assert!(!arm.figures.is_empty(), "{}", arm.name);
        }
        let blocks = CommandBlocks::parse(&folder.text("run/blocks.jsonl")).unwrap();
        let run: CommandRun = serde_json::from_str(&folder.text("run/run.json")).unwrap();
        assert_eq!(blocks.records.len(), run.arms.len());
        Self {
            run,
            blocks: blocks.records,
            judgement,
            evidence: evidence.pieces,
            folder,
        }
    }

    /// What the runs of all arms with this level had to agree on, without repetitions.
    fn agreed(&self, factor: &str, level: &str) -> Vec<String> {
        let has_level = |block: &&CommandBlock| self.levels_of(block)[factor] == level;
        let blocks = self.blocks.iter().filter(has_level);
        let mut all: Vec<String> = blocks
            .map(|block| block.reading.agreed.clone().unwrap())
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// The levels that a block was run at.
    fn levels_of(&self, block: &CommandBlock) -> &Levels {
        let mut arms = self.run.arms.iter();
        &arms.find(|arm| arm.name == block.arm).unwrap().levels
    }

    /// The levels of a factor that are on this machine.
    fn levels(&self, factor: &str) -> Vec<&str> {
        let mut levels: Vec<&str> = Vec::new();
        for arm in &self.run.arms {
            let level = arm.levels[factor].as_str();
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        levels
    }

    /// The piece of evidence whose title begins with `title`.
    fn piece(&self, title: &str) -> &EvidencePiece {
        let mut pieces = self.evidence.iter();
        let found = pieces.find(|piece| piece.title.starts_with(title));
        found.unwrap_or_else(|| panic!("no evidence of {title}: {:?}", self.evidence))
    }
}

#[test]
fn every_built_in_study_of_commands_has_tests_of_its_own() {
    let tests = format!("{}/tests/built_in_studies", env!("CARGO_MANIFEST_DIR"));
    for study in built_in::studies(&folder("list"), true) {
        let file = format!("{tests}/{}.rs", study.replace('-', "_"));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.contains("Smoke::"), "{file} runs no {study}");
    }
}

/// A folder with another below it for temporary files, in which any user may write.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("shipped-{name}"));
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::set_permissions(&temporary, Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// The search path, headed by a stand-in for `program` that only fails, as version managers leave
/// for a version that is not installed.
fn path_with_stand_in(folder: &Folder, program: &str) -> String {
    let stand_ins = folder.path().join("stand-ins");
    std::fs::create_dir(&stand_ins).unwrap();
    let stand_in = stand_ins.join(program);
    std::fs::write(&stand_in, "#!/bin/sh\necho no such version >&2\nexit 127\n").unwrap();
    std::fs::set_permissions(&stand_in, Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", stand_ins.display(), std::env::var("PATH").unwrap())
}

/// A run of one round of a study in its smoke form, by name or by the path of its file.
fn smoke(folder: &Folder, study: &str) -> Command {
    let words = [
        "study", "run", study, "--smoke", "--rounds", "1", "--yes", "--json", "--out", "run",
    ];
    let mut command = linerate(folder, &words);
    command.env("TMPDIR", folder.path().join("temporary"));
    command
}

/// The text of a study as it is shipped, one piece of it replaced.
fn changed(study: &str, from: &str, to: &str) -> String {
    let text = shipped(study);
    assert!(text.contains(from), "{from} is not in {study}");
    text.replace(from, to)
}

fn shipped(study: &str) -> String {
    let path = format!("{}/../studies/{study}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Command lines of the processes that name a folder in theirs.
fn at_work_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}

/// Kills a run by SIGKILL once one of its commands has `at_work` in its command line, and waits
/// until no process of the run is left.
fn assert_a_killed_run_leaves_no_process(command: &mut Command, folder: &Folder, at_work: &str) {
    let temporary = folder.path().join("temporary");
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = sys::clock::wait_until(Duration::from_secs(60), || {
        at_work_in(&temporary)
            .iter()
            .any(|line| line.contains(at_work))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(began, "nothing of {at_work} was seen");
    let gone = sys::clock::wait_until(Duration::from_secs(30), || {
        at_work_in(&temporary).is_empty()
    });
    assert!(gone, "{:?}", at_work_in(&temporary));
}

/// The text of a study as it is shipped, without these levels.
fn without_levels(study: &str, left_out: &[&str]) -> String {
    let is_left_out = |block: &&str| {
        let name = block.strip_prefix("factor.level]]\nname = \"");
        let name = name.and_then(|rest| rest.split('"').next());
        let published = block.strip_prefix("published]]\n");
        left_out.iter().any(|level| {
            let quoted = format!("\"{level}\"");
            name == Some(level) || published.is_some_and(|rest| rest.contains(&quoted))
        })
    };
    let text = shipped(study);
    // The `[files]` stand after the last block, which may be one that is left out.
    let (blocks, files) = text.split_once("\n[files]").unwrap();
    let kept: Vec<&str> = blocks
        .split("\n[[")
        .filter(|block| !is_left_out(block))
        .collect();
    format!("{}\n[files]{files}", kept.join("\n[["))
}
