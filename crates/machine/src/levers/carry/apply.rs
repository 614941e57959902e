//! Carries out a plan: first the journal, then each knob, which is read back after it is set.

use std::io;

use super::CarryError;
use super::undo::take_back;
use crate::journal::{Change, Entry, Journal, LeverChange, Owner, UnknownLine};
use crate::levers::{Knob, Obstacle, Plan, Site, Step};
use crate::tree::Tree;

/// The result of a plan that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Id of the entry in the journal.
    pub id: u64,
    /// The steps with the values that the knobs hold: a driver may have rounded the number.
    pub steps: Vec<Step>,
}

/// Carries out a plan.
///
/// # Errors
/// What the kernel refused. All was then put back, or the error says that it was not.
pub fn apply(plan: &Plan, site: &Site, until: &Until<'_>) -> Result<Applied, CarryError> {
    // Checked first, so that a process without permission does not even create a journal.
    plan.may_be_set(&site.tree)?;
    apply_in(&mut Journal::open()?, plan, site, until)
}

/// How long a change stays.
pub enum Until<'a> {
    /// Until somebody undoes it.
    Undone,
    /// Until its trial ends, when it is put back by itself unless it was confirmed.
    Confirmed(Guard<'a>),
    /// As long as this process runs and needs it. Before anything is changed, this function is
    /// called with the entry's id; it starts the process that puts the change back if we are
    /// killed.
    Dropped(&'a dyn Fn(u64) -> io::Result<()>),
}

/// How a change is put back without anybody asking for it.
pub struct Guard<'a> {
    /// Length of the trial, from when the change was set.
    pub trial_ms: u64,
    /// Starts the process that puts the change back; called with the entry's id before anything is
    /// changed. The entry holds the time: at first it counts from when the entry was written, and
    /// from when all was set once that is done.
    pub start: &'a dyn Fn(u64) -> io::Result<()>,
}

impl Guard<'_> {
    /// When a change that is set now is put back, on `CLOCK_BOOTTIME`.
    fn reverts_at_ms(&self) -> u64 {
        sys::clock::since_boot_ms().saturating_add(self.trial_ms)
    }
}

pub(super) fn apply_in(
    journal: &mut Journal,
    plan: &Plan,
    site: &Site,
    until: &Until<'_>,
) -> Result<Applied, CarryError> {
    let tree = &site.tree;
    refuse_what_is_set(journal.entries(), &plan.steps)?;
    refuse_beside_unknown(journal.unknown(), &plan.steps)?;
    // Another process may have set the knobs while we waited for the journal.
    plan.is_up_to_date(tree)?;
    plan.rehearse_undo(tree)?;
    let (guard, start) = match until {
        Until::Confirmed(guard) => (Some(guard), Some(guard.start)),
        Until::Dropped(start) => (None, Some(*start)),
        Until::Undone => (None, None),
    };
    let mut devices = plan.steps.iter().filter_map(|step| step.knob.device());
    let change = LeverChange {
        lever: plan.lever.to_owned(),
        steps: plan.steps.clone(),
        device_index: devices.next().and_then(|device| site.index_of(device)),
        is_under_way: plan.steps.iter().any(Step::may_end_otherwise),
        reverts_at_ms: guard.map(Guard::reverts_at_ms),
        is_held: matches!(until, Until::Dropped(_)),
        refused: None,
    };
    let owner = Owner::this_process().map_err(CarryError::Clock)?;
    let id = journal.add(owner, Change::Lever(change.clone()))?;
    if let Some(Err(error)) = start.map(|start| start(id)) {
        journal.remove(id)?;
        return Err(CarryError::Unguarded(error));
    }
    match set_all(&plan.steps, tree) {
        Ok(steps) => {
            let reverts_at_ms = guard.map(Guard::reverts_at_ms);
            let set = LeverChange {
                steps,
                reverts_at_ms,
                ..change
            };
            settle(journal, id, set)
        }
        Err(error) => {
            match &error {
                CarryError::LeftChanged(_) => journal.amend(id, &as_it_stands(change, tree))?,
                _ => journal.remove(id)?,
            }
            Err(error)
        }
    }
}

/// Updates the entry with what the knobs hold, where that may differ from what was asked for, and
/// with the time at which they are put back.
fn settle(journal: &mut Journal, id: u64, change: LeverChange) -> Result<Applied, CarryError> {
    let steps = change.steps.clone();
    if change.is_under_way || change.reverts_at_ms.is_some() {
        let settled = LeverChange {
            is_under_way: false,
            ..change
        };
        let amended = journal.amend(id, &Change::Lever(settled));
        amended.map_err(CarryError::Unsettled)?;
    }
    Ok(Applied { id, steps })
}

/// The change with the values that its knobs hold through us, so that an undo recognises them as
/// ours.
fn as_it_stands(mut change: LeverChange, tree: &Tree) -> Change {
    for step in &mut change.steps {
        if let Ok(held) = step.knob.read(tree) {
            step.new = held;
        }
    }
    Change::Lever(change)
}

/// Refuses knobs that are still set: what they hold now is no value that an undo could go back to.
fn refuse_what_is_set(entries: &[Entry], steps: &[Step]) -> Result<(), CarryError> {
    for entry in entries {
        let Change::Lever(change) = &entry.change else {
            continue;
        };
        let is_here = entry.is_of_here();
        let is_shared = |knob: &Knob| !knob.is_of_a_namespace() || is_here;
        let is_set = |step: &&Step| {
            let knob = &step.knob;
            // A knob of a queue may have moved along with a change of the number of queues; it may
            // be set on top of that, and goes back first.
            let stands_in_the_way =
                |set: &Step| set.knob == *knob && !(set.follows && knob.is_of_a_queue());
            is_shared(knob) && change.steps.iter().any(stands_in_the_way)
        };
        let is_over = entry.is_of_another_boot().unwrap_or(false);
        if let Some(step) = steps.iter().find(is_set).filter(|_| !is_over) {
            return Err(CarryError::SetBefore {
                knob: step.knob.clone(),
                lever: change.lever.clone(),
                id: entry.id,
            });
        }
    }
    Ok(())
}

/// Refuses the plan if a line that cannot be read may concern one of its knobs.
fn refuse_beside_unknown(unknown: &[UnknownLine], steps: &[Step]) -> Result<(), CarryError> {
    let knobs = || steps.iter().map(|step| &step.knob);
    let in_the_way = unknown.iter().find(|line| !line.concerns_none_of(knobs()));
    in_the_way.map_or(Ok(()), |line| Err(CarryError::Unknown(line.to_string())))
}

/// Sets a knob and reads it back, since some accept one value and hold another. A number that a
/// driver has rounded is accepted; an old value that was left unchanged is not.
fn set(step: &Step, tree: &Tree) -> Result<Step, Obstacle> {
    let Step {
        knob,
        old,
        new,
        follows,
    } = step;
    if *follows {
        return Ok(step.clone());
    }
    let refused = |error| Obstacle::of(knob, &error);
    knob.write(tree, new).map_err(refused)?;
    let mut done = step.clone();
    let held = knob.read(tree).map_err(refused)?;
    if knob.is_rounded() && held != *old {
        done.new = held.clone();
    }
    done.is_held(&held).map(|()| done)
}

/// Sets one knob after another and returns the steps with the values they hold then. Where a knob
/// does not take its value, it and those before it are put back.
pub(super) fn set_all(steps: &[Step], tree: &Tree) -> Result<Vec<Step>, CarryError> {
    let mut done = Vec::new();
    for step in steps {
        let set = set(step, tree);
        done.push(set.map_err(|why| taken_back(&steps[..=done.len()], tree, why))?);
    }
    for step in done.iter_mut().filter(|step| step.follows) {
        let moved = step.knob.read(tree);
        let moved = moved.map_err(|error| Obstacle::of(&step.knob, &error));
        step.new = moved.map_err(|why| taken_back(steps, tree, why))?;
    }
    Ok(done)
}

/// Puts back what was set. One step that fails does not stop the others.
fn taken_back(set: &[Step], tree: &Tree, why: Obstacle) -> CarryError {
    let back = set.iter().rev();
    match back.fold(true, |all, step| all & take_back(step, tree).is_back()) {
        true => CarryError::PutBack(why),
        false => CarryError::LeftChanged(why),
    }
}
