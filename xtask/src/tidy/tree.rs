//! The repository as values: what the rules look at.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context as _;
use proc_macro2::TokenStream;

/// Something that a house rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    /// From 1; 0 for the file as a whole.
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

/// A Rust file, taken apart.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) tokens: TokenStream,
    pub(super) syntax: syn::File,
}

/// A crate of the workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) name: String,
    /// The crates of the workspace that it is built from, without those of its tests.
    pub(super) uses: Vec<String>,
    /// How many packages it is built from, direct and indirect, itself left out.
    pub(super) packages: usize,
}

/// A commit of the history.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) hash: String,
    pub(super) subject: String,
}

/// The repository. Paths are relative to its top.
#[derive(Default)]
pub(super) struct Tree {
    /// Every file that is text but Rust's.
    pub(super) texts: BTreeMap<String, String>,
    pub(super) sources: BTreeMap<String, Source>,
    /// Every file, in bytes.
    pub(super) sizes: BTreeMap<String, u64>,
    pub(super) members: Vec<Member>,
    /// Packages that a build for Linux takes in, tests and tools included.
    pub(super) linux_packages: usize,
    /// What `linerate COMMAND --help` prints, by command: empty, `load`, `study run`.
    pub(super) helps: BTreeMap<String, String>,
    /// What `cargo xtask` prints about itself.
    pub(super) xtask_help: String,
    /// What the commands print that documents quote, by command line.
    pub(super) outputs: BTreeMap<String, String>,
    /// The newest first; empty without a history.
    pub(super) commits: Vec<Commit>,
}

impl Tree {
    /// A tree of these files; everything else is left empty.
    #[cfg(test)]
    pub(super) fn of<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add(path, text)?;
        }
        Ok(tree)
    }

    /// Takes in a file; one that is no text is known by its size alone.
    pub(super) fn add_bytes(&mut self, path: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match String::from_utf8(bytes) {
            Ok(text) => self.add(path, &text),
            Err(_) => {
                self.sizes.insert(path.to_owned(), size);
                Ok(())
            }
        }
    }

    fn add(&mut self, path: &str, text: &str) -> anyhow::Result<()> {
        let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.sizes.insert(path.to_owned(), size);
        if path.ends_with(".rs") {
            let source = source(text).with_context(|| format!("{path} is no Rust"))?;
            self.sources.insert(path.to_owned(), source);
        } else {
            self.texts.insert(path.to_owned(), text.to_owned());
        }
        Ok(())
    }

    /// The documents whose words must be true of today: not the history.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(|(path, _)| path.ends_with(".md") && *path != "CHANGELOG.md")
            .filter(|(path, _)| !path.starts_with("results/"))
    }

    /// Whether there is a file of that path, or a folder.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.sizes.contains_key(path)
            || self
                .sizes
                .range(folder.clone()..)
                .next()
                .is_some_and(|(found, _)| found.starts_with(&folder))
    }

    /// The paths below a folder that are given to `pick`, where it gives something back.
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

fn source(text: &str) -> anyhow::Result<Source> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(Source {
        text: text.to_owned(),
        syntax: syn::parse_file(text)?,
        tokens,
    })
}
