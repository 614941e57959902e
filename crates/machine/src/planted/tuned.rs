//! A lever of the machine as a part of an arm: it holds for the arm's blocks, and is put back after
//! each.

use std::sync::LazyLock;

use model::Binds;
use model::lever::Takes;

use super::{Held, Planted, PlantedError, Setting, Wanted};
use crate::levers::carry::{self, Fate};
use crate::levers::{self, Knob, Lever, Plan, Site};
use crate::namespace;

static ALL: LazyLock<Vec<Tuned>> = LazyLock::new(|| levers::all().map(Tuned).collect());

/// Every lever, as an arm may have it.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Planted> {
    ALL.iter().map(|tuned| -> &dyn Planted { tuned })
}

struct Tuned(&'static dyn Lever);

impl Planted for Tuned {
    fn name(&self) -> &'static str {
        self.0.card().name
    }

    fn binds(&self) -> Binds {
        self.0.card().binds
    }

    fn summary(&self) -> &'static str {
        self.0.card().about
    }

    fn takes(&self) -> Takes {
        Takes::Words(self.0.values())
    }

    fn is_so(&self, wanted: Wanted<'_>) -> bool {
        let plan = self.0.plan(&Site::here(None), wanted.value);
        plan.is_ok_and(|plan| plan.steps.is_empty())
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        let site = Site::here(None);
        let reason = match self.plan(&site, wanted) {
            Ok(plan) => plan.can_be_held(&site).err()?.to_string(),
            Err(error) => error.to_string(),
        };
        Some(reason)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let site = Site::here(None);
        let plan = self.plan(&site, wanted)?;
        let held = match namespace::ours() {
            Ok(proof) if plan.is_of_a_namespace() => {
                carry::Held::in_our_namespace(&plan, &site, proof)
            }
            _ => carry::Held::on_the_host(&plan, &site),
        };
        let name = self.name();
        Ok(Setting::Held(Box::new(HeldLever { name, held: held? })))
    }
}

impl Tuned {
    /// What would be set, if that is within reach of the study.
    fn plan(&self, site: &Site, wanted: Wanted<'_>) -> Result<Plan, PlantedError> {
        let plan = self.0.plan(site, wanted.value)?;
        let lever = self.name();
        match (plan.is_of_a_namespace(), namespace::ours().is_ok()) {
            (true, false) => Err(PlantedError::NoNamespace { lever }),
            (false, _) if !wanted.on_host => Err(PlantedError::BeyondUs { lever }),
            _ => Ok(plan),
        }
    }
}

struct HeldLever {
    name: &'static str,
    held: carry::Held,
}

impl Held for HeldLever {
    fn verify(&self) -> Result<(), PlantedError> {
        Ok(self.held.verify()?)
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        let not_back = self.held.put_back()?;
        let Some((knob, fate)) = not_back.first() else {
            return Ok(());
        };
        Err(PlantedError::NotBack {
            lever: self.name,
            what: what_became(knob, fate),
        })
    }
}

fn what_became(knob: &Knob, fate: &Fate) -> String {
    match fate {
        Fate::SetByOthers { now, ours } => {
            format!(
                "{knob} holds `{now}` where we had set `{ours}`: somebody else has set it since"
            )
        }
        Fate::Refused { why } => format!("{knob}: {why}"),
        _ => format!("{knob}: `linerate levers journal` tells"),
    }
}
