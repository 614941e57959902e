//! A view of a tree of files that remembers which files it was not allowed to read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use model::inventory::Hidden;

use super::tables::TABLES;
use crate::errno::errno;
use crate::tree::Tree;

/// The files as one process sees them.
pub(super) struct Look {
    tree: Tree,
    full: bool,
    hidden: RefCell<BTreeSet<Hidden>>,
}

impl Look {
    /// With `full`, the inventory may contain what identifies the machine and its owner.
    pub(super) fn new(tree: Tree, full: bool) -> Self {
        let hidden = RefCell::default();
        Self { tree, full, hidden }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn full(&self) -> bool {
        self.full
    }

    /// The file's text, trimmed. A file that exists but may not be read is remembered as hiding
    /// `what`; one that does not exist is only `None`.
    pub(super) fn text(&self, file: &str, what: &str) -> Option<String> {
        match self.tree.try_text(file) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    self.hide(what, format!("/{file}: {}", errno(&error)));
                }
                None
            }
        }
    }

    /// The file's text as a number.
    pub(super) fn number<N: std::str::FromStr>(&self, file: &str, what: &str) -> Option<N> {
        self.text(file, what)?.parse().ok()
    }

    /// Remembers that `what` could not be seen, and why.
    pub(super) fn hide(&self, what: &str, why: String) {
        let what = what.to_owned();
        self.hidden.borrow_mut().insert(Hidden { what, why });
    }

    /// Remembers which sources of whole sections of the inventory are missing or may not be read.
    pub(super) fn note_missing_sources(&self) {
        for (source, what) in &TABLES.sources {
            let path = self.tree.path(source);
            let opened = std::fs::File::open(&path).map(drop);
            if let Err(error) = opened {
                self.hide(what, format!("/{source}: {}", errno(&error)));
            }
        }
    }

    /// All that could not be seen, sorted.
    pub(super) fn hidden(&self) -> Vec<Hidden> {
        self.hidden.borrow().iter().cloned().collect()
    }
}
