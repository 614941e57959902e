//! What is found and explained, and left to a person.

use model::finding::Severity;
use serde::Deserialize;

use super::observation::Observation;
use super::places::shown;
use super::{Obstacle, Places, Reading, Site};
use crate::findings;

/// What there is to see, and to do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ByHand {
    look: Evidence,
    /// Why it is left to a person, and what he would do.
    pub(super) by_hand: String,
}

/// What tells how it stands.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Evidence {
    /// The check of `linerate doctor` of that name.
    Check(String),
    /// What these knobs hold, which no test of ours has ever set.
    Knobs(Places),
    /// What else there is to see.
    Observation(Observation),
}

impl ByHand {
    pub(super) fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        match &self.look {
            Evidence::Check(check) => checked(check, site),
            Evidence::Knobs(places) => Ok(Reading::as_it_is(shown(&places.held(site)?))),
            Evidence::Observation(observation) => observation.look(site).map(Reading::as_it_is),
        }
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
