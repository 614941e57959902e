//! Levers of our own network tester: flags of its ends, of which a machine shows nothing.

use super::card::Card;
use super::{AtStart, Lever, Obstacle, Plan, Reading, Site};

/// A row.
pub(super) struct OfOurTester {
    pub(super) card: Card,
    /// Whether this kernel has it.
    pub(super) look: fn(&Site) -> Result<String, Obstacle>,
    /// The command that sets it.
    pub(super) by: &'static str,
    /// The values that it takes there, in words.
    pub(super) values: &'static str,
    /// The options and calls by which it is set.
    pub(super) sets: &'static [&'static str],
    /// An example, and what a person does to other programs.
    pub(super) by_hand: &'static str,
}

impl Lever for OfOurTester {
    fn card(&self) -> &Card {
        &self.card
    }

    fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        Ok(Reading {
            now: (self.look)(site)?,
            is_recommended: None,
        })
    }

    fn plan(&self, site: &Site, _: Option<&str>) -> Result<Plan, Obstacle> {
        (self.look)(site)?;
        Err(self.at_its_start())
    }

    fn values(&self) -> String {
        self.values.to_owned()
    }

    fn sets(&self) -> Vec<String> {
        self.sets.iter().map(|&way| way.to_owned()).collect()
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some(self.by_hand)
    }

    fn at_start(&'static self, _: Option<&str>) -> Option<Result<AtStart, Obstacle>> {
        Some(Err(self.at_its_start()))
    }
}

impl OfOurTester {
    fn at_its_start(&self) -> Obstacle {
        Obstacle::AtStart {
            of: "our own network tester",
            by: self.by.to_owned(),
        }
    }
}
