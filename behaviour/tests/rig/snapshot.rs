//! Everything about a machine that a rig could have changed, to be compared with an earlier state.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::processes;

/// What was seen, by the place where it was seen: a command, a file or a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<String, String>);

/// Files that the kernel changes by itself.
const COUNTERS: [&str; 1] = ["/proc/sys/net/netfilter/nf_conntrack_count"];

impl Snapshot {
    /// Takes a snapshot of the machine as this process sees it; `states` are the state folders of
    /// users.
    pub(crate) fn take(states: &[&Path]) -> Self {
        let mut seen = BTreeMap::new();
        for words in [
            &["ip", "-details", "address"][..],
            &["ip", "rule"],
            &["ip", "route", "show", "table", "all"],
            &["ip", "-6", "route", "show", "table", "all"],
            &["ip", "neighbour"],
            &["nft", "list", "ruleset"],
        ] {
            seen.insert(words.join(" "), printed(words));
        }
        seen.insert("processes".to_owned(), command_lines());
        seen.insert("namespaces".to_owned(), namespaces());
        seen.insert("mounts".to_owned(), read("/proc/self/mountinfo"));
        seen.insert("temporary files".to_owned(), names(&std::env::temp_dir()));
        for state in states {
            seen.insert(state.display().to_string(), names(state));
            let journal = state.join("journal.jsonl");
            seen.insert(journal.display().to_string(), read(&journal));
        }
        read_below(Path::new("/proc/sys/net"), &mut seen);
        read_below(Path::new("/proc/sys/user"), &mut seen);
        read_below(Path::new("/proc/sys/vm"), &mut seen);
        Self(seen)
    }

    /// Everything that differs from `before`, with the old and the new value.
    pub(crate) fn differences(&self, before: &Self) -> Vec<String> {
        let all = self.0.keys().chain(before.0.keys());
        let differ = all.filter(|key| self.0.get(*key) != before.0.get(*key));
        let lines = differ.map(|key| {
            let (then, now) = (before.0.get(key), self.0.get(key));
            format!("{key}: was {then:?}, is {now:?}")
        });
        lines.collect()
    }
}

fn printed(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn read(file: impl AsRef<Path>) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn names(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    format!("{names:?}")
}

fn read_below(folder: &Path, seen: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        if path.is_dir() {
            read_below(&path, seen);
        } else if !COUNTERS.contains(&name.as_str()) {
            seen.insert(name, read(&path));
        }
    }
}

/// The folders in `/proc` of the processes that have not ended.
fn living() -> Vec<PathBuf> {
    let living = processes::all().filter(|pid| processes::is_alive(pid));
    living
        .map(|pid| Path::new("/proc").join(pid.to_string()))
        .collect()
}

fn command_lines() -> String {
    let words = living()
        .into_iter()
        .map(|process| read(process.join("cmdline")));
    let mut words: Vec<_> = words.collect();
    words.sort();
    words.join("\n")
}

/// Every namespace that a process is in or holds open.
fn namespaces() -> String {
    let folders = living()
        .into_iter()
        .flat_map(|process| ["ns", "fd"].map(|name| process.join(name)));
    let links = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    let targets = targets.map(|target| target.display().to_string());
    let is_namespace = |target: &String| {
        target.contains(":[")
            && !["pipe:", "socket:"]
                .iter()
                .any(|kind| target.starts_with(kind))
    };
    let mut found: Vec<_> = targets.filter(is_namespace).collect();
    found.sort();
    found.dedup();
    found.join("\n")
}
