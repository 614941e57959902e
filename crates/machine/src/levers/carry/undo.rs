//! Undoes what the journal says was changed.

use std::io;

use super::{CarryError, KnobFate, Undone, elsewhere};
use crate::journal::{self, Change, Entry, Journal, LeverChange, Owner, UnknownLine};
use crate::levers::{self, Knob, Site, Step, Value};
use crate::tree::Tree;

/// Puts back what the lever with this name, or every lever, has set; the newest first.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo(lever: Option<&str>) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |_: &Entry, change: &LeverChange| lever.is_none_or(|name| name == change.lever);
    undo_in(&mut Journal::open()?, &Site::here(None), is_meant)
}

/// When an entry is put back by itself, on `CLOCK_BOOTTIME`; `None` where it was confirmed or no
/// longer exists.
///
/// # Errors
/// When the journal cannot be read.
pub fn reverts_at_ms(id: u64) -> Result<Option<u64>, CarryError> {
    let found = changes(&journal::read()?.entries, |entry, _| entry.id == id).pop();
    Ok(found.and_then(|(_, change)| change.reverts_at_ms))
}

/// Whether a process has ended and left something set that it held.
///
/// # Errors
/// When the journal cannot be read.
pub fn has_left(process: u32) -> Result<bool, CarryError> {
    let is_left = |entry: &Entry, change: &LeverChange| {
        change.is_held && entry.owner.pid == process && !entry.owner.is_alive()
    };
    Ok(!changes(&journal::read()?.entries, is_left).is_empty())
}

/// Puts an entry back if its trial is over and nobody has confirmed it.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo_overdue(id: u64, now_ms: u64) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |entry: &Entry, change: &LeverChange| {
        entry.id == id && change.reverts_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    };
    undo_in(&mut Journal::open()?, &Site::here(None), is_meant)
}

/// Puts back what should have been put back by itself and was not: trials that are over, and what a
/// process held that has ended. Where there is nothing of the kind, the journal is only read. One
/// that cannot be read counts as empty here, since the commands that need it report the error.
///
/// # Errors
/// When the journal cannot be written.
pub fn undo_leftovers(now_ms: u64) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |entry: &Entry, change: &LeverChange| is_left_over(entry, change, now_ms);
    if changes(&journal::read().unwrap_or_default().entries, is_meant).is_empty() {
        return Ok(Vec::new());
    }
    undo_in(&mut Journal::open()?, &Site::here(None), is_meant)
}

pub(super) fn is_left_over(entry: &Entry, change: &LeverChange, now_ms: u64) -> bool {
    change.is_overdue(now_ms) || (change.is_held && !entry.owner.is_alive())
}

/// Removes an entry from the journal and leaves the machine as it is; returns what the knobs hold.
/// `None` where no lever has an entry with this id.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn forget(id: u64) -> Result<Option<Undone>, CarryError> {
    let (mut journal, site) = (Journal::open()?, Site::here(None));
    let Some((entry, change)) = changes(journal.entries(), |entry, _| entry.id == id).pop() else {
        return Ok(None);
    };
    let found = within_reach(&entry, &change, journal.entries(), &site);
    let left = found.into_iter().map(|(knob, found)| {
        let leave = |step| leave(&step, &site.tree);
        (knob, found.map_or_else(|fate| fate, leave))
    });
    let knobs = left.collect();
    journal.remove(id)?;
    let lever = change.lever;
    Ok(Some(Undone { id, lever, knobs }))
}

/// The lines of the journal that this version cannot read; none of our undos touches them.
///
/// # Errors
/// When the journal cannot be read.
pub fn unknown() -> Result<Vec<UnknownLine>, CarryError> {
    Ok(journal::read()?.unknown)
}

/// Puts back an entry that this process holds, and returns the result for each knob.
///
/// # Errors
/// When the journal cannot be read or written.
pub(super) fn undo_held(id: u64) -> Result<Vec<(Knob, KnobFate)>, CarryError> {
    let us = Owner::this_process().map_err(CarryError::Clock)?;
    let is_meant = |entry: &Entry, change: &LeverChange| is_held(entry, change, id, us);
    let undone = undo_in(&mut Journal::open()?, &Site::here(None), is_meant)?;
    Ok(undone.into_iter().flat_map(|undone| undone.knobs).collect())
}

/// Whether this is the entry with that id that the process `by` has made. Once an entry has been
/// undone, its id is given to another.
pub(super) fn is_held(entry: &Entry, change: &LeverChange, id: u64, by: Owner) -> bool {
    entry.id == id && change.is_held && entry.owner == by
}

/// Makes trials permanent: they are no longer put back by themselves. Returns the names of the
/// levers.
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
    site: &Site,
    is_meant: impl Fn(&Entry, &LeverChange) -> bool,
) -> Result<Vec<Undone>, CarryError> {
    let mut meant = changes(journal.entries(), is_meant);
    meant.reverse();
    let mut all = Vec::new();
    for (entry, change) in meant {
        let found = ours_within_reach(&entry, &change, journal.entries(), site);
        let put_back = found.into_iter().map(|(knob, found)| {
            let put_back = |step| take_back(&step, &site.tree);
            (knob, found.map_or_else(|fate| fate, put_back))
        });
        let knobs: Vec<_> = put_back.collect();
        if knobs.iter().all(|(_, fate)| fate.is_back()) {
            journal.remove(entry.id)?;
        } else {
            note_refusal(journal, entry.id, &change, &knobs);
        }
        all.push(Undone {
            id: entry.id,
            lever: change.lever,
            knobs,
        });
    }
    Ok(all)
}

/// Records in the journal why an entry still stands. Where that cannot be written, the caller
/// learns the reason all the same.
fn note_refusal(journal: &mut Journal, id: u64, change: &LeverChange, knobs: &[(Knob, KnobFate)]) {
    let refusal = |(knob, fate): &(Knob, KnobFate)| match fate {
        KnobFate::Refused { why } => Some(format!("{knob}: {why}")),
        _ => None,
    };
    let refused = knobs.iter().find_map(refusal);
    if refused.is_some() && refused != change.refused {
        let noted = LeverChange {
            refused,
            ..change.clone()
        };
        let _ = journal.amend(id, &Change::Lever(noted));
    }
}

fn changes(
    entries: &[Entry],
    is_meant: impl Fn(&Entry, &LeverChange) -> bool,
) -> Vec<(Entry, LeverChange)> {
    let levers = entries.iter().filter_map(|entry| match &entry.change {
        Change::Lever(change) => Some((entry.clone(), change.clone())),
        Change::Rig(_) => None,
    });
    levers
        .filter(|(entry, change)| is_meant(entry, change))
        .collect()
}

/// Each knob of an entry, the last one set first. It comes with its step, under the name that its
/// device has now, or with a fate that is known without reading the knob.
fn within_reach(
    entry: &Entry,
    change: &LeverChange,
    all: &[Entry],
    site: &Site,
) -> Vec<(Knob, Result<Step, KnobFate>)> {
    let steps = change.steps.iter().rev().map(|step| {
        let settled = fate_by_entry(entry, change, step, all);
        let named = || as_called_now(step, change.device_index, site);
        let found = settled.map_or_else(named, Err);
        match found {
            Err(fate) => (step.knob.clone(), Err(fate)),
            Ok(step) if is_out_of_sight(&step.knob, entry, &site.tree) => {
                let namespace = entry.namespace;
                (step.knob, Err(KnobFate::Elsewhere { namespace }))
            }
            Ok(step) => (step.knob.clone(), Ok(step)),
        }
    });
    steps.collect()
}

/// Each knob of an entry, with its step only where it holds a value of ours. All are read before
/// any is put back, since the kernel may then move another one along.
fn ours_within_reach(
    entry: &Entry,
    change: &LeverChange,
    all: &[Entry],
    site: &Site,
) -> Vec<(Knob, Result<Step, KnobFate>)> {
    let found = within_reach(entry, change, all, site).into_iter();
    let ours = found.map(|(knob, found)| {
        let ours = found.and_then(|step| ours(step, change.is_under_way, &site.tree));
        (knob, ours)
    });
    ours.collect()
}

/// The step under the name that its device has now.
pub(super) fn as_called_now(
    step: &Step,
    index: Option<u32>,
    site: &Site,
) -> Result<Step, KnobFate> {
    let mut step = step.clone();
    let Some(device) = step.knob.device() else {
        return Ok(step);
    };
    match site.called_now(device, index) {
        Ok(Some(name)) => {
            step.knob = step.knob.of_device(name);
            Ok(step)
        }
        Ok(None) => Err(KnobFate::Gone),
        Err(obstacle) => Err(KnobFate::Refused {
            why: obstacle.to_string(),
        }),
    }
}

/// Whether a setting of the host is hidden from our network namespace: most of `net.core` is
/// visible only in the first one (`sysctl_core_net_init` of net/core).
fn is_out_of_sight(knob: &Knob, entry: &Entry, tree: &Tree) -> bool {
    let is_missing =
        || matches!(knob.read(tree), Err(error) if error.kind() == io::ErrorKind::NotFound);
    !knob.is_of_a_namespace() && !entry.is_of_here() && is_missing()
}

/// The fate of a knob as far as the entry alone decides it; `None` where the machine must be
/// examined.
fn fate_by_entry(
    entry: &Entry,
    change: &LeverChange,
    step: &Step,
    all: &[Entry],
) -> Option<KnobFate> {
    if is_foreign(change, step) {
        return Some(KnobFate::Foreign);
    }
    match entry.is_of_another_boot() {
        Ok(true) => return Some(KnobFate::Rebooted),
        Ok(false) => {}
        Err(error) => return Some(refused(&error)),
    }
    if !step.knob.is_of_a_namespace() || entry.is_of_here() {
        return None;
    }
    let namespace = entry.namespace;
    Some(if elsewhere::is_there(entry, all) {
        KnobFate::Elsewhere { namespace }
    } else {
        KnobFate::Gone
    })
}

/// Whether a change claims that a lever has set what that lever never sets.
pub(super) fn is_foreign(change: &LeverChange, step: &Step) -> bool {
    if let Knob::Quota { .. } = step.knob {
        return change.lever != levers::quota_cut::NAME;
    }
    let lever = levers::find(&change.lever);
    !lever.is_some_and(|lever| lever.owns(&step.knob))
}

/// Gives a knob its old value, unless it holds a value that is not ours.
pub(super) fn put_back(step: &Step, tree: &Tree) -> KnobFate {
    let ours = ours(step.clone(), false, tree);
    ours.map_or_else(|fate| fate, |step| take_back(&step, tree))
}

/// The step, where its knob holds our value or the old one. If the change was still under way, the
/// knob may also hold what the kernel has made of our value.
fn ours(step: Step, is_under_way: bool, tree: &Tree) -> Result<Step, KnobFate> {
    let was = knob_holds(&step, tree)?;
    let is_known = was == step.old || was == step.new;
    let is_ours = is_known || is_under_way && step.may_end_otherwise();
    if !is_ours {
        return Err(set_by_others(&step, &was));
    }
    match step.knob.part_of_its_own(Some(&step.old), tree) {
        Some(part) if was != step.old => {
            let ours = step.knob.show(&step.new);
            Err(KnobFate::SetByOthers { now: part, ours })
        }
        _ => Ok(step),
    }
}

/// The fate of a knob that is left as it is.
fn leave(step: &Step, tree: &Tree) -> KnobFate {
    let Step { knob, old, new, .. } = step;
    match knob_holds(step, tree) {
        Err(fate) => fate,
        Ok(was) if was == *old => KnobFate::WasBack {
            now: knob.show(old),
        },
        Ok(was) if was == *new => KnobFate::Forgotten {
            now: knob.show(new),
            command: knob.command(old),
        },
        Ok(was) => set_by_others(step, &was),
    }
}

fn set_by_others(Step { knob, new, .. }: &Step, was: &Value) -> KnobFate {
    let (now, ours) = (knob.show(was), knob.show(new));
    KnobFate::SetByOthers { now, ours }
}

/// What a knob holds; where that cannot be read, its fate.
fn knob_holds(Step { knob, .. }: &Step, tree: &Tree) -> Result<Value, KnobFate> {
    if let Some(now) = knob.changed_hands(tree) {
        return Err(KnobFate::ChangedHands { now });
    }
    knob.read(tree).map_err(|error| match error.kind() {
        // Only what can vanish is gone; a file of the machine that is missing is just not visible
        // here.
        io::ErrorKind::NotFound if knob.can_go() => KnobFate::Gone,
        _ => refused(&error),
    })
}

/// Gives a knob its old value, whatever it holds: where the kernel rounds, a knob that we have just
/// set may hold neither the old value nor ours.
pub(super) fn take_back(step: &Step, tree: &Tree) -> KnobFate {
    let Step { knob, old, .. } = step;
    match knob_holds(step, tree) {
        Ok(was) if was == *old => {
            let now = knob.show(old);
            return KnobFate::WasBack { now };
        }
        Ok(_) => {}
        Err(fate) => return fate,
    }
    let written = knob.write(tree, old).and_then(|()| knob.read(tree));
    match written {
        Ok(held) if held == *old => KnobFate::PutBack {
            now: knob.show(old),
        },
        Ok(held) => KnobFate::Refused {
            why: format!(
                "it holds `{}` after `{}` was written",
                knob.show(&held),
                knob.show(old)
            ),
        },
        Err(error) => refused(&error),
    }
}

fn refused(error: &io::Error) -> KnobFate {
    let why = crate::errno::errno(error);
    KnobFate::Refused { why }
}
