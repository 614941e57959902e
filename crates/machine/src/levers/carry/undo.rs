//! The journal carried out backwards.

use std::io;

use super::{CarryError, KnobFate, Undone, elsewhere};
use crate::journal::{self, Change, Entry, Journal, LeverChange, Owner, UnknownLine};
use crate::levers::{self, Knob, Site, Step, Value};
use crate::tree::Tree;

/// Puts back what the lever of that name has set, or all levers; the newest first.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo(lever: Option<&str>) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |_: &Entry, change: &LeverChange| lever.is_none_or(|name| name == change.lever);
    undo_in(&mut Journal::open()?, &Site::here(None), is_meant)
}

/// When an entry is put back by itself, on `CLOCK_BOOTTIME`; `None` where it was confirmed or is no more.
///
/// # Errors
/// When the journal cannot be read.
pub fn reverts_at_ms(id: u64) -> Result<Option<u64>, CarryError> {
    let found = changes(&journal::read()?.entries, |entry, _| entry.id == id).pop();
    Ok(found.and_then(|(_, change)| change.reverts_at_ms))
}

/// Whether a process that has ended has left something set that it held.
///
/// # Errors
/// When the journal cannot be read.
pub fn has_left(process: u32) -> Result<bool, CarryError> {
    let is_left = |entry: &Entry, change: &LeverChange| {
        change.is_held && entry.owner.pid == process && !entry.owner.is_alive()
    };
    Ok(!changes(&journal::read()?.entries, is_left).is_empty())
}

/// Puts an entry back if it was to be put back by itself by now and nobody has confirmed it.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn undo_overdue(id: u64, now_ms: u64) -> Result<Vec<Undone>, CarryError> {
    let is_meant = |entry: &Entry, change: &LeverChange| {
        entry.id == id && change.reverts_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    };
    undo_in(&mut Journal::open()?, &Site::here(None), is_meant)
}

/// Puts back what was to be put back by itself and was not: a trial whose time is over, and what a
/// process held that has ended. Without any the journal is only read; one that cannot be read is for
/// whoever needs it to tell.
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

/// Takes an entry off the journal and leaves the machine as it is; what is left there. `None` where
/// no lever has an entry of that number.
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

/// What of the journal this version cannot read: no undo of ours touches it.
///
/// # Errors
/// When the journal cannot be read.
pub fn unknown() -> Result<Vec<UnknownLine>, CarryError> {
    Ok(journal::read()?.unknown)
}

/// Puts an entry back that this process holds; what became of its knobs.
///
/// # Errors
/// When the journal cannot be read or written.
pub(super) fn undo_held(id: u64) -> Result<Vec<(Knob, KnobFate)>, CarryError> {
    let us = Owner::this_process().map_err(CarryError::Clock)?;
    let is_meant = |entry: &Entry, change: &LeverChange| is_held(entry, change, id, us);
    let undone = undo_in(&mut Journal::open()?, &Site::here(None), is_meant)?;
    Ok(undone.into_iter().flat_map(|undone| undone.knobs).collect())
}

/// Whether it is the entry of that number that a process has made: once somebody has undone that one, the number
/// is given to another.
pub(super) fn is_held(entry: &Entry, change: &LeverChange, id: u64, by: Owner) -> bool {
    entry.id == id && change.is_held && entry.owner == by
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

/// Has the journal say why an entry still stands. Where it takes no more, whoever asked is told all the
/// same.
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

/// Each knob of an entry, the last first, with its step by the name that its device has now; or what
/// became of it without a look at what it holds.
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

/// The knobs of an entry that hold a value of ours. All are looked at before any is put back, by which the
/// kernel may move another along.
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

/// The step with the name that its device has now.
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

/// Whether a setting of the host is hidden from the network namespace that we are in: most of
/// `net.core` is shown to the first one alone (`sysctl_core_net_init` of net/core).
fn is_out_of_sight(knob: &Knob, entry: &Entry, tree: &Tree) -> bool {
    let is_missing =
        || matches!(knob.read(tree), Err(error) if error.kind() == io::ErrorKind::NotFound);
    !knob.is_of_a_namespace() && !entry.is_of_here() && is_missing()
}

/// What an entry alone says of a knob; `None` where the machine must be looked at.
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

/// Whether a change says that a lever has set what that lever never sets.
pub(super) fn is_foreign(change: &LeverChange, step: &Step) -> bool {
    if let Knob::Quota { .. } = step.knob {
        return change.lever != levers::quota_cut::NAME;
    }
    let lever = levers::find(&change.lever);
    !lever.is_some_and(|lever| lever.owns(&step.knob))
}

/// Gives a knob its old value, unless it holds one that is not ours.
pub(super) fn put_back(step: &Step, tree: &Tree) -> KnobFate {
    let ours = ours(step.clone(), false, tree);
    ours.map_or_else(|fate| fate, |step| take_back(&step, tree))
}

/// A step whose knob holds what we have set, or what it held before. While it was under way it may
/// hold what the kernel has made of our value.
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

/// What is left of a knob that is not touched.
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

/// What a knob holds; where that cannot be seen, what is to be said of it.
fn knob_holds(Step { knob, .. }: &Step, tree: &Tree) -> Result<Value, KnobFate> {
    if let Some(now) = knob.changed_hands(tree) {
        return Err(KnobFate::ChangedHands { now });
    }
    knob.read(tree).map_err(|error| match error.kind() {
        // A file of the machine that is not there is not shown.
        io::ErrorKind::NotFound if knob.can_go() => KnobFate::Gone,
        _ => refused(&error),
    })
}

/// Gives a knob its old value, whatever it holds: what we have just set ourselves may be held as
/// neither, where the kernel rounds.
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
