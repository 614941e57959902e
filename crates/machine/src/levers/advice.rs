//! A lever that is found and explained, and left to a person.

use model::finding::Severity;

use super::card::Card;
use super::{Knob, Lever, Obstacle, Plan, Reading, Site};
use crate::findings;

/// A row that is only told.
pub(super) struct Advice {
    pub(super) card: Card,
    /// The check of `linerate doctor` that looks at it.
    pub(super) check: &'static str,
    /// Why it is left to a person, and what he would do.
    pub(super) by_hand: &'static str,
}

impl Lever for Advice {
    fn card(&self) -> &Card {
        &self.card
    }

    fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        let finding = findings::look_at(self.check, &site.tree)
            .ok_or_else(|| Obstacle::Absent("this machine has nothing of the kind".to_owned()))?;
        match finding.severity {
            Severity::Unknown => Err(Obstacle::Absent(format!(
                "{} {}",
                finding.what, finding.evidence
            ))),
            severity => Ok(Reading {
                now: finding.what,
                is_recommended: Some(severity == Severity::Fine),
            }),
        }
    }

    fn plan(&self, _: &Site, _: Option<&str>) -> Result<Plan, Obstacle> {
        Err(Obstacle::Advice(self.by_hand.to_owned()))
    }

    fn may_set(&self, site: &Site) -> Result<(), Obstacle> {
        self.plan(site, None).map(drop)
    }

    fn recommended(&self, _: &Site) -> Option<String> {
        None
    }

    fn values(&self) -> String {
        "none: it is told, and never set".to_owned()
    }

    fn sets(&self) -> Vec<String> {
        Vec::new()
    }

    fn owns(&self, _: &Knob) -> bool {
        false
    }
}
