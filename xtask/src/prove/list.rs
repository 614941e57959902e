//! How old the proofs are: of each the newest log under `results/`, in days and in commits since.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::{commit, target};

const DAY: Duration = Duration::from_hours(24);

/// Where it stands what the proofs ask.
const PROOFS: [&str; 3] = ["xtask/src/prove", "xtask/studies", "xtask/proofs"];

/// A log of proofs that was kept.
struct Log {
    path: PathBuf,
    commit: String,
    begun: SystemTime,
    text: String,
}

pub(super) fn run(filter: &str) -> anyhow::Result<ExitCode> {
    let logs = logs(&target::workspace().join("results"))?;
    // What the benches found stands in bench/results.md.
    let names = super::names(filter)?.into_iter();
    for name in names.filter(|name| *name != "bench") {
        let newest = logs
            .iter()
            .filter_map(|log| Some((log, outcome(&log.text, name)?)))
            .max_by_key(|(log, _)| log.begun);
        let words = newest.map_or_else(
            || "in no log that names its commit".to_owned(),
            |(log, outcome)| format!("{outcome:<7}{}", age(log)),
        );
        println!("{name:<18} {words}");
    }
    Ok(ExitCode::SUCCESS)
}

fn age(log: &Log) -> String {
    let since = sys::clock::wall().duration_since(log.begun);
    let days = since.unwrap_or_default().as_secs() / DAY.as_secs();
    let commits = commit::behind(&log.commit).map_or_else(
        || "of a commit that is not here".to_owned(),
        |behind| format!("{behind} commits ago"),
    );
    let commit = log.commit.get(..8).unwrap_or(&log.commit);
    let path = log.path.display();
    let now = match commit::changed_since(&log.commit, &PROOFS) {
        Some(true) => "; what is asked may be another by now",
        _ => "",
    };
    format!("{days} days and {commits}, {commit}, {path}{now}")
}

/// Every log that names its commit and its time.
fn logs(results: &Path) -> anyhow::Result<Vec<Log>> {
    let mut logs = Vec::new();
    for folder in std::fs::read_dir(results).context("listing results")? {
        for file in std::fs::read_dir(folder?.path()).into_iter().flatten() {
            let path = file?.path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let path = path.strip_prefix(target::workspace()).unwrap_or(&path);
            logs.extend(read(path, &text));
        }
    }
    Ok(logs)
}

fn read(path: &Path, text: &str) -> Option<Log> {
    let after = |word: &str| text.lines().find_map(|line| line.strip_prefix(word));
    Some(Log {
        path: path.to_owned(),
        commit: after("commit ")?.to_owned(),
        begun: humantime::parse_rfc3339(after("begun ")?).ok()?,
        text: text.to_owned(),
    })
}

/// What a log says of a proof: `held` or `FAILED`.
fn outcome<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (word, rest) = line.trim_start().split_once(' ')?;
        let rest = rest.trim_start();
        let is_it = rest.strip_prefix(name)?.starts_with(':');
        (is_it && ["held", "FAILED"].contains(&word)).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "$ cargo xtask prove \ncommit 0d914c61\nbegun 2026-11-21T08:37:50Z\n\n\
        held  identical: 20 runs\n     0 claimed one\nFAILED planted-large: why\n";

    #[test]
    fn a_log_tells_its_commit_its_time_and_what_became_of_each_proof() {
        let log = read(Path::new("prove.txt"), LOG).unwrap();
        assert_eq!(log.commit, "0d914c61");
        let begun = humantime::format_rfc3339_seconds(log.begun).to_string();
        assert_eq!(begun, "2026-11-21T08:37:50Z");
        assert_eq!(outcome(LOG, "identical"), Some("held"));
        assert_eq!(outcome(LOG, "planted-large"), Some("FAILED"));
        assert_eq!(outcome(LOG, "planted"), None);
    }

    #[test]
    fn what_names_no_commit_is_no_log() {
        assert!(read(Path::new("x.txt"), "begun 2026-11-21T08:37:50Z\n").is_none());
    }
}
