//! The journal carried out backwards.

use std::io;

use super::{CarryError, elsewhere};
use crate::journal::{Change, Entry, Journal, LeverChange};
use crate::levers::knob::Reach;
use crate::levers::{self, Knob, Site, Step};
use crate::tree::Tree;

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub id: u64,
    pub lever: String,
    /// Its knobs, the last that was set first.
    pub knobs: Vec<(Knob, Fate)>,
}

/// What became of one knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It holds its old value again.
    PutBack { now: String },
    /// It held its old value already.
    WasBack { now: String },
    /// Somebody else has set it since, so it was left as it is.
    SetByOthers { now: String, ours: String },
    /// It has gone, and what was set with it: a device that was taken away, a namespace that ended.
    Gone,
    /// The machine was started again, which has put it back.
    Rebooted,
    /// It is in another network namespace, where the undo must be asked for.
    Elsewhere { namespace: u64 },
    /// No knob of that lever: the entry was not written by us, and nothing was touched.
    Foreign,
    /// What the kernel refused.
    Refused { why: String },
}

impl Fate {
    /// Whether nothing of ours is left in it.
    #[must_use]
    pub fn is_back(&self) -> bool {
        !matches!(
            self,
            Self::Elsewhere { .. } | Self::Foreign | Self::Refused { .. }
        )
    }

    /// Whether it holds what it did before, or is no more.
    #[must_use]
    pub fn is_as_before(&self) -> bool {
        self.is_back() && !matches!(self, Self::SetByOthers { .. })
    }
}

/// Puts back what the lever of that name has set, or all levers; the newest first.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo(lever: Option<&str>) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |_: u64, change: &LeverChange| lever.is_none_or(|name| name == change.lever);
    undo_in(&mut Journal::open()?, &Site::here(None).tree, is_meant)
}

/// Puts an entry back if it was to be put back by itself by now and nobody has confirmed it.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo_overdue(id: u64, now_ms: u64) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |found: u64, change: &LeverChange| {
        found == id && change.reverts_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    };
    undo_in(&mut Journal::open()?, &Site::here(None).tree, is_meant)
}

/// Lets what was to be put back by itself stay; the names of those levers.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn confirm(lever: Option<&str>) -> Result<Vec<String>, CarryError> {
    let mut journal = Journal::open()?;
    let is_meant = |change: &LeverChange| {
        change.reverts_at_ms.is_some() && lever.is_none_or(|name| name == change.lever)
    };
    let waiting = changes(journal.entries(), |_, change| is_meant(change));
    for (entry, change) in &waiting {
        let kept = LeverChange {
            reverts_at_ms: None,
            ..change.clone()
        };
        journal.amend(entry.id, &Change::Lever(kept))?;
    }
    Ok(waiting
        .into_iter()
        .map(|(_, change)| change.lever)
        .collect())
}

pub(super) fn undo_in(
    journal: &mut Journal,
    tree: &Tree,
    is_meant: impl Fn(u64, &LeverChange) -> bool,
) -> Result<Vec<Undone>, CarryError> {
    let mut meant = changes(journal.entries(), is_meant);
    meant.reverse();
    let mut all = Vec::new();
    for (entry, change) in meant {
        let knobs = fates(&entry, &change, journal.entries(), tree);
        if knobs.iter().all(|(_, fate)| fate.is_back()) {
            journal.remove(entry.id)?;
        }
        all.push(Undone {
            id: entry.id,
            lever: change.lever,
            knobs,
        });
    }
    Ok(all)
}

fn changes(
    entries: &[Entry],
    is_meant: impl Fn(u64, &LeverChange) -> bool,
) -> Vec<(Entry, LeverChange)> {
    let levers = entries.iter().filter_map(|entry| match &entry.change {
        Change::Lever(change) => Some((entry.clone(), change.clone())),
        Change::Rig(_) => None,
    });
    levers
        .filter(|(entry, change)| is_meant(entry.id, change))
        .collect()
}

/// Does what is to be done with each knob of an entry.
fn fates(entry: &Entry, change: &LeverChange, all: &[Entry], tree: &Tree) -> Vec<(Knob, Fate)> {
    let steps = change.steps.iter().rev();
    let fates = steps.map(|step| {
        let settled = settled_without_a_look(entry, change, step, all);
        (
            step.knob.clone(),
            settled.unwrap_or_else(|| put_back(step, tree)),
        )
    });
    fates.collect()
}

/// What an entry alone says of a knob; `None` where the machine must be looked at.
fn settled_without_a_look(
    entry: &Entry,
    change: &LeverChange,
    step: &Step,
    all: &[Entry],
) -> Option<Fate> {
    let lever = levers::find(&change.lever);
    if !lever.is_some_and(|lever| lever.owns(&step.knob)) {
        return Some(Fate::Foreign);
    }
    match entry.is_of_another_boot() {
        Ok(true) => return Some(Fate::Rebooted),
        Ok(false) => {}
        Err(error) => return Some(refused(&error)),
    }
    let is_here = || sys::namespace::current_network_inode().ok() == Some(entry.namespace);
    if step.knob.reach() == Reach::Host || is_here() {
        return None;
    }
    let namespace = entry.namespace;
    Some(if elsewhere::is_there(namespace, all) {
        Fate::Elsewhere { namespace }
    } else {
        Fate::Gone
    })
}

/// Gives a knob its old value, unless it holds one that is not ours.
pub(super) fn put_back(step: &Step, tree: &Tree) -> Fate {
    let Step { knob, old, new } = step;
    let was = match knob.read(tree) {
        Ok(was) => was,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Fate::Gone,
        Err(error) => return refused(&error),
    };
    if was == *old {
        let now = knob.show(old);
        return Fate::WasBack { now };
    }
    if was != *new {
        let (now, ours) = (knob.show(&was), knob.show(new));
        return Fate::SetByOthers { now, ours };
    }
    let written = knob.write(tree, old).and_then(|()| knob.read(tree));
    match written {
        Ok(held) if held == *old => Fate::PutBack {
            now: knob.show(old),
        },
        Ok(held) => Fate::Refused {
            why: format!(
                "it holds `{}` after `{}` was written",
                knob.show(&held),
                knob.show(old)
            ),
        },
        Err(error) => refused(&error),
    }
}

fn refused(error: &io::Error) -> Fate {
    let why = crate::findings::errno(error);
    Fate::Refused { why }
}
