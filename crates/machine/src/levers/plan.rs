//! What a lever would change: each knob, its old value and its new one.

use std::io;

use serde::{Deserialize, Serialize};

use super::{Knob, Obstacle, Site, Value, overruled};
use crate::errno::errno;
use crate::tree::Tree;

/// The change of one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub knob: Knob,
    pub old: Value,
    pub new: Value,
    /// Whether the kernel moves this knob along with the other knobs. Such a knob is never set. It
    /// is put back after the others, and therefore stands before them. `new` is then the value that
    /// the kernel moved it to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl Step {
    /// Whether the knob may rightly end with another value than was asked for.
    pub(super) fn may_end_otherwise(&self) -> bool {
        self.follows || self.knob.is_rounded()
    }

    /// Checks that the knob holds the value that was set.
    ///
    /// # Errors
    /// Says which value it holds instead.
    pub(super) fn is_held(&self, held: &Value) -> Result<(), Obstacle> {
        if *held == self.new {
            return Ok(());
        }
        let knob = &self.knob;
        let (wanted, held) = (knob.show(&self.new), knob.show(held));
        Err(Obstacle::Other(format!(
            "{knob} holds `{held}` after `{wanted}` was written"
        )))
    }
}

/// A setting in the form in which it is written to outlive a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// Whether it is a sysctl, named with dots. Otherwise it is a file of `/sys`, named by its
    /// path.
    pub is_sysctl: bool,
    pub name: String,
    /// The text that the kernel accepts.
    pub value: String,
}

/// All that one lever would change. It has no steps if everything is already as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub lever: &'static str,
    /// Whether the change is undone by itself unless somebody confirms it.
    pub is_on_trial: bool,
    pub steps: Vec<Step>,
}

impl Plan {
    /// Returns the commands that a person would type to make the change.
    pub fn commands(&self) -> Vec<String> {
        let set = self.steps.iter().filter(|step| !step.follows);
        set.map(|step| step.knob.command(&step.new)).collect()
    }

    /// Returns the settings that can be written to outlive a reboot. For the rest there are only
    /// [`Self::commands`].
    pub fn lasting(&self) -> Vec<Lasting> {
        let lasting = |step: &Step| {
            let (name, value) = (step.knob.to_string(), step.knob.written(&step.new));
            let is_sysctl = matches!(step.knob, Knob::Sysctl(_));
            let is_file = is_sysctl || name.starts_with("/sys/");
            is_file.then_some(Lasting {
                is_sysctl,
                name,
                value,
            })
        };
        let set = self.steps.iter().filter(|step| !step.follows);
        set.filter_map(lasting).collect()
    }

    /// Returns the commands that a person would type to undo the change.
    pub fn undo_commands(&self) -> Vec<String> {
        let command = |step: &Step| step.knob.command(&step.old);
        self.steps.iter().rev().map(command).collect()
    }

    /// Checks that this process may write each knob.
    ///
    /// # Errors
    /// Names the first knob that it may not write.
    pub(super) fn may_be_set(&self, tree: &Tree) -> Result<(), Obstacle> {
        self.steps.iter().try_for_each(|Step { knob, .. }| {
            let opened = knob.may_write(tree);
            opened.map_err(|error| Obstacle::of(knob, &error))
        })
    }

    /// Checks that each knob still holds the value that the plan would put back, and that none is
    /// overruled.
    ///
    /// # Errors
    /// Names the first knob that fails the check.
    pub(super) fn is_up_to_date(&self, tree: &Tree) -> Result<(), Obstacle> {
        self.steps.iter().try_for_each(|Step { knob, old, .. }| {
            overruled::check(knob, tree)?;
            let now = knob.read(tree);
            let now = now.map_err(|error| Obstacle::of(knob, &error))?;
            if now == *old {
                return Ok(());
            }
            let (planned, now) = (knob.show(old), knob.show(&now));
            Err(Obstacle::Other(format!(
                "{knob} was `{planned}` when this was planned and is `{now}` now; nothing was \
                 changed: try again"
            )))
        })
    }

    /// Checks that each knob can be set and put back. In a network namespace of our own it writes
    /// the current value, since some files that may be opened refuse every write.
    ///
    /// # Errors
    /// Names the first knob that cannot.
    pub(crate) fn can_be_held(&self, site: &Site) -> Result<(), Obstacle> {
        if self.is_of_a_namespace() {
            self.rehearse_undo(&site.tree)
        } else {
            self.may_be_set(&site.tree)
        }
    }

    /// Checks that each knob accepts its current value, by writing it. Some kernels hold a default
    /// that they refuse to be given (a congestion control that is not on their list, in a
    /// namespace). If the kernel moves other knobs along, this write alone would move them, before
    /// anything is in the journal. Such knobs accept each of their values again, and are not
    /// written.
    ///
    /// # Errors
    /// Names the first knob that could not be put back.
    pub(super) fn rehearse_undo(&self, tree: &Tree) -> Result<(), Obstacle> {
        for Step {
            knob, old, follows, ..
        } in &self.steps
        {
            knob.may_write(tree)
                .map_err(|error| Obstacle::of(knob, &error))?;
            if *follows || knob.follower().is_some() || knob.is_of_both_ways() {
                continue;
            }
            knob.write(tree, old).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::Unsupported => Obstacle::of(knob, &error),
                _ => Obstacle::Other(format!(
                    "{knob} is `{}` now, and could not be put back to that: {}",
                    knob.show(old),
                    errno(&error)
                )),
            })?;
        }
        Ok(())
    }
}
