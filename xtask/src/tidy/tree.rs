//! The repository as values that the rules check.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context as _;

use super::rust::{self, Source};

/// Something that a house rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    /// Line number, from 1; 0 for the file as a whole.
    pub(super) line: usize,
    pub(super) what: String,
    /// What to do about it.
    pub(super) advice: String,
}

impl Violation {
    pub(super) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            advice: advice.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, what, advice, ..
        } = self;
        match self.line {
            0 => write!(f, "{path}: {what}; {advice}"),
            line => write!(f, "{path}:{line}: {what}; {advice}"),
        }
    }
}

/// The repository. Paths are relative to its top.
#[derive(Default)]
pub(super) struct Tree {
    /// Every text file that is no Rust source, by path.
    pub(super) texts: BTreeMap<String, String>,
    pub(super) sources: BTreeMap<String, Source>,
    /// Size of every file, in bytes.
    pub(super) sizes: BTreeMap<String, u64>,
    /// Hash and subject of each commit, the newest first; empty without a history.
    pub(super) commits: Vec<(String, String)>,
}

impl Tree {
    /// A tree of these files; everything else is left empty.
    #[cfg(test)]
    pub(super) fn of<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add(path, text.as_bytes())?;
        }
        Ok(tree)
    }

    /// Adds a file; of one that is not text only the size is recorded.
    pub(super) fn add(&mut self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.sizes.insert(path.to_owned(), size);
        let Ok(text) = str::from_utf8(bytes) else {
            return Ok(());
        };
        if path.ends_with(".rs") {
            let source = Source::parse(text).with_context(|| format!("{path} is no Rust"))?;
            self.sources.insert(path.to_owned(), source);
        } else {
            self.texts.insert(path.to_owned(), text.to_owned());
        }
        Ok(())
    }

    /// Sources that do not contain test code only.
    pub(super) fn product(&self) -> impl Iterator<Item = (&String, &Source)> {
        let sources = self.sources.iter();
        sources.filter(|(path, _)| !rust::is_test_file(path))
    }

    /// The folders of the workspace's crates, each with its manifest.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        let workspace = self.texts.get("Cargo.toml").map_or("", String::as_str);
        let manifests = self.texts.iter();
        let manifests = manifests
            .filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text.as_str())));
        manifests.filter(|(folder, _)| {
            folder.starts_with("crates/") || workspace.contains(&format!("\"{folder}\""))
        })
    }

    /// The documents that must be true today: all except the changelog and the results.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(|(path, _)| path.ends_with(".md") && *path != "CHANGELOG.md")
            .filter(|(path, _)| !path.starts_with("results/"))
    }

    /// Whether there is a file or a folder at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        let mut after = self.sizes.range(folder.clone()..);
        let has_folder = after
            .next()
            .is_some_and(|(found, _)| found.starts_with(&folder));
        has_folder || self.sizes.contains_key(path)
    }

    /// The results of `pick` for all paths below a folder, relative to it, where there is one.
    pub(super) fn below<'a, T>(
        &'a self,
        folder: &'a str,
        pick: impl Fn(&'a str) -> Option<T> + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        self.sizes
            .keys()
            .filter_map(move |path| path.strip_prefix(folder).and_then(&pick))
    }
}
