//! A plan carried out: the journal first, then each knob, each looked at afterwards.

use std::io;

use super::CarryError;
use super::undo::take_back;
use crate::journal::{Change, Entry, Journal, LeverChange, Owner, UnknownLine};
use crate::levers::{Knob, Obstacle, Plan, Site, Step};
use crate::tree::Tree;

/// What was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Number of its entry in the journal.
    pub id: u64,
    /// As the knobs hold it: a driver may have rounded what was asked for.
    pub steps: Vec<Step>,
}

/// Carries a plan out.
///
/// # Errors
/// What the kernel refused; then all was put back, or the error says that it was not.
pub fn apply(plan: &Plan, site: &Site, until: &Until<'_>) -> Result<Applied, CarryError> {
    // Whoever may not set it leaves no journal behind either.
    plan.may_be_set(&site.tree)?;
    apply_in(&mut Journal::open()?, plan, site, until)
}

/// How long a change stays.
pub enum Until<'a> {
    /// Until somebody asks for its undo.
    Undone,
    /// It goes back by itself unless it is confirmed.
    Confirmed(Guard<'a>),
    /// As long as this process runs and wants it. What puts it back when it was killed is started by
    /// this, given the number of the entry, before anything is changed.
    Dropped(&'a dyn Fn(u64) -> io::Result<()>),
}

/// How a change is put back without anybody asking.
pub struct Guard<'a> {
    /// How long after it was set.
    pub trial_ms: u64,
    /// Starts the process that sees to it, given the number of the entry, before anything is changed.
    /// When, the entry tells: at first from when it was written down, and from when all was set once
    /// that is so.
    pub start: &'a dyn Fn(u64) -> io::Result<()>,
}

impl Guard<'_> {
    /// When what was set now is put back, on `CLOCK_BOOTTIME`.
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
    // Others may have set it while we waited for the journal.
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

/// Has the journal say what the knobs hold, where that may be another value than was asked for, and
/// when they are put back.
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

/// A change whose knobs hold what they hold by our doing, so that an undo knows it for ours.
fn as_it_stands(mut change: LeverChange, tree: &Tree) -> Change {
    for step in &mut change.steps {
        if let Ok(held) = step.knob.read(tree) {
            step.new = held;
        }
    }
    Change::Lever(change)
}

/// A knob that was set and not put back holds no value that an undo could go back to.
fn refuse_what_is_set(entries: &[Entry], steps: &[Step]) -> Result<(), CarryError> {
    for entry in entries {
        let Change::Lever(change) = &entry.change else {
            continue;
        };
        let is_here = entry.is_of_here();
        let is_shared = |knob: &Knob| !knob.is_of_a_namespace() || is_here;
        let is_set = |step: &&Step| {
            let knob = &step.knob;
            // What is set for a queue may stand upon a change of how many there are, and goes back before it.
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

/// A line that cannot be read may be of a knob that was set.
fn refuse_beside_unknown(unknown: &[UnknownLine], steps: &[Step]) -> Result<(), CarryError> {
    let knobs = || steps.iter().map(|step| &step.knob);
    let in_the_way = unknown.iter().find(|line| !line.concerns_none_of(knobs()));
    in_the_way.map_or(Ok(()), |line| Err(CarryError::Unknown(line.to_string())))
}

/// Sets a knob and looks: some take a value and hold another. What a driver has made of a number is
/// kept; that it has left all as it was is not.
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

/// Sets knob after knob, and tells what they hold then; where one does not take its value, it and
/// those before it are put back.
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

/// Puts back what was set, each of it, also after one that does not go back.
fn taken_back(set: &[Step], tree: &Tree, why: Obstacle) -> CarryError {
    let back = set.iter().rev();
    match back.fold(true, |all, step| all & take_back(step, tree).is_back()) {
        true => CarryError::PutBack(why),
        false => CarryError::LeftChanged(why),
    }
}
