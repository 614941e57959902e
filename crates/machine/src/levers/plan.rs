//! What a lever would change: each knob, from what, to what.

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
    /// Whether the kernel moves it along with the other knobs: it is never set, and is put back after
    /// them, for which it stands before them. `new` is then what it was moved to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl Step {
    /// Whether it may come to hold another value than was asked for, and still be as it should.
    pub(super) fn may_end_otherwise(&self) -> bool {
        self.follows || self.knob.is_rounded()
    }

    /// Whether what the knob holds is what was set.
    ///
    /// # Errors
    /// Says what it holds instead.
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

/// How a setting is written where it is to outlive a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// Whether it is a sysctl, named with dots; else it is a file of `/sys`, by its path.
    pub is_sysctl: bool,
    pub name: String,
    /// The text that the kernel takes.
    pub value: String,
}

/// All that one lever would change; nothing where all is as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub lever: &'static str,
    /// Whether it goes back by itself unless it is confirmed.
    pub is_on_trial: bool,
    pub steps: Vec<Step>,
}

impl Plan {
    /// What a person would type to do it.
    pub fn commands(&self) -> Vec<String> {
        let set = self.steps.iter().filter(|step| !step.follows);
        set.map(|step| step.knob.command(&step.new)).collect()
    }

    /// What of it can be written where it outlives a reboot; the rest has [`Self::commands`] alone.
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

    /// What a person would type to put it back.
    pub fn undo_commands(&self) -> Vec<String> {
        let command = |step: &Step| step.knob.command(&step.old);
        self.steps.iter().rev().map(command).collect()
    }

    /// Sees that this process may write each knob.
    ///
    /// # Errors
    /// The first that it may not.
    pub(super) fn may_be_set(&self, tree: &Tree) -> Result<(), Obstacle> {
        self.steps.iter().try_for_each(|Step { knob, .. }| {
            let opened = knob.may_write(tree);
            opened.map_err(|error| Obstacle::of(knob, &error))
        })
    }

    /// Sees that each knob still holds what the plan would put back, and nothing that it would not.
    ///
    /// # Errors
    /// The first that does not.
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

    /// Sees that each knob can be set and put back; in a network namespace of our own by writing
    /// what it holds, since some files that may be opened refuse every write.
    ///
    /// # Errors
    /// The first that cannot be.
    pub(crate) fn can_be_held(&self, site: &Site) -> Result<(), Obstacle> {
        if self.is_of_a_namespace() {
            self.rehearse_undo(&site.tree)
        } else {
            self.may_be_set(&site.tree)
        }
    }

    /// Sees that each knob takes the value that it has now, by writing that: some kernels hold a
    /// default that they refuse to be given (a congestion control that is not on their list, in a
    /// namespace). Where the kernel moves another knob along, the write alone would do that, before
    /// anything is in the journal; such knobs take back each of their values, and are not written.
    ///
    /// # Errors
    /// The first that could not be put back.
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
