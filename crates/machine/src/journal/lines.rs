//! The lines of a journal: entries, and lines that this version cannot read, which are preserved
//! unchanged.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;

use super::boot_id;
use super::entry::Entry;
use crate::levers::Knob;

/// The content of a journal.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The entries, the oldest first.
    pub entries: Vec<Entry>,
    pub unknown: Vec<UnknownLine>,
}

/// A line that is no entry that this version knows. It may hold the old value of a knob, so it
/// stays until somebody removes it.
#[derive(Clone, Debug)]
pub struct UnknownLine {
    /// The journal that the line is in.
    pub path: PathBuf,
    /// Number of the line in that file, from 1.
    pub line: usize,
    /// Why the line could not be read.
    pub why: String,
    /// The line's bytes, unchanged.
    pub(super) text: Vec<u8>,
    /// Id of the entry before it; 0 where there is none.
    after: u64,
}

impl Found {
    /// Parses a journal. A line without an end was never synced, so its change was never made.
    pub(super) fn in_bytes(path: &Path, bytes: &[u8]) -> Self {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let whole = (1..).zip(lines.filter_map(|line| line.strip_suffix(b"\n")));
        let mut found = Self::default();
        for (line, text) in whole {
            match serde_json::from_slice(text) {
                Ok(entry) => found.entries.push(entry),
                Err(error) => found.unknown.push(UnknownLine {
                    path: path.to_owned(),
                    line,
                    why: error.to_string(),
                    text: text.to_owned(),
                    after: found.entries.last().map_or(0, |entry: &Entry| entry.id),
                }),
            }
        }
        found
    }

    /// The journal as bytes, with each line in the place where it was found.
    pub(super) fn as_bytes(&self) -> Vec<u8> {
        let entry_line = |entry: &Entry| {
            let json = serde_json::to_vec(entry).expect("an entry has only text keys");
            (entry.id, json)
        };
        let entries = self.entries.iter().map(entry_line);
        let unknown = self.unknown.iter();
        let unknown = unknown.map(|line| (line.after, line.text.clone()));
        let mut lines: Vec<_> = entries.chain(unknown).collect();
        // Ids rise, and an unknown line stays behind the entry that it followed.
        lines.sort_by_key(|(id, _)| *id);
        lines
            .into_iter()
            .flat_map(|(_, line)| [line, vec![b'\n']].concat())
            .collect()
    }

    /// An id greater than that of every line, those that this version cannot read included.
    pub(super) fn next_id(&self) -> u64 {
        let known = self.entries.iter().map(|entry| entry.id);
        let unknown = self.unknown.iter();
        let unknown = unknown.filter_map(|line| line.parts()["id"].as_u64());
        known.chain(unknown).max().unwrap_or(0).saturating_add(1)
    }
}

impl UnknownLine {
    /// The line's text, to be shown to a person.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// Whether the line certainly concerns none of these knobs: it is of another boot, or about a
    /// rig, or it names only other knobs.
    pub(crate) fn concerns_none_of<'k>(&self, knobs: impl Iterator<Item = &'k Knob>) -> bool {
        let parts = self.parts();
        let is_of_this_boot = || boot_id().is_ok_and(|boot| parts["boot_id"] == boot.as_str());
        if parts["boot_id"].is_string() && !is_of_this_boot() || parts["change"]["rig"].is_object()
        {
            return true;
        }
        let Some(steps) = parts["change"]["lever"]["steps"].as_array() else {
            return false;
        };
        let named = steps.iter().map(|step| Knob::deserialize(&step["knob"]));
        let named: Result<Vec<Knob>, _> = named.collect();
        let mut knobs = knobs;
        named.is_ok_and(|named| !knobs.any(|knob| named.contains(knob)))
    }

    /// The line as JSON; null where it is none.
    fn parts(&self) -> Value {
        serde_json::from_slice(&self.text).unwrap_or_default()
    }
}

impl fmt::Display for UnknownLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, line, why, ..
        } = self;
        let path = path.display();
        write!(
            out,
            "{path}:{line}: this version of Linerate does not know this entry: {why}; undo it with \
             the version that wrote it, or, if you know that what it set is gone, delete that line \
             from the file"
        )
    }
}
