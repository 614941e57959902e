//! Levers that are detected and explained, but left to a person.

use model::finding::Severity;
use serde::Deserialize;

use super::observation::Observation;
use super::places::shown;
use super::{Obstacle, Places, Reading, Site};
use crate::findings;

/// What shows the state of such a lever, and what a person can do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ByHand {
    look: Evidence,
    /// Why it is left to a person, and what that person would do.
    pub(super) by_hand: String,
}

/// The source that shows the state of the lever.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Evidence {
    /// The check of `linerate doctor` with this name.
    Check(String),
    /// The values of these knobs; no test of ours has ever set them.
    Knobs(Places),
    /// Another observation of the machine.
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

/// Runs a check of `linerate doctor` and turns its finding into a reading.
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
