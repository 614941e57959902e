//! A lever that is found and explained, and left to a person.

use model::finding::Severity;

use super::card::Card;
use super::places::shown;
use super::{Lever, Obstacle, Places, Plan, Reading, Site};
use crate::findings;

/// A row that is only told.
pub(super) struct Advice {
    pub(super) card: Card,
    pub(super) look: Look,
    /// Why it is left to a person, and what he would do.
    pub(super) by_hand: &'static str,
}

/// What tells how it stands.
pub(super) enum Look {
    /// The check of `linerate doctor` of that name.
    Check(&'static str),
    /// What these knobs hold, which no test of ours has ever set.
    Knobs(Places),
    /// What else there is to see.
    Sight(fn(&Site) -> Result<String, Obstacle>),
}

impl Lever for Advice {
    fn card(&self) -> &Card {
        &self.card
    }

    fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        match &self.look {
            Look::Check(check) => checked(check, site),
            Look::Knobs(places) => Ok(as_it_is(shown(&places.held(site)?))),
            Look::Sight(look) => look(site).map(as_it_is),
        }
    }

    fn plan(&self, _: &Site, _: Option<&str>) -> Result<Plan, Obstacle> {
        Err(Obstacle::Advice(self.by_hand.to_owned()))
    }

    fn values(&self) -> String {
        "none: it is told, and never set".to_owned()
    }

    fn sets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What is neither right nor wrong everywhere.
fn as_it_is(now: String) -> Reading {
    Reading {
        now,
        is_recommended: None,
    }
}

/// What a check of `linerate doctor` found.
fn checked(check: &str, site: &Site) -> Result<Reading, Obstacle> {
    let finding = findings::look_at(check, &site.tree)
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
