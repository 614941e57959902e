//! Levers of our own server: flags of `linerate serve`, most of them of its sockets.

use std::fmt::Display;

use super::card::Card;
use super::{AtStart, Lever, Obstacle, Plan, Reading, Site};
use crate::tree::Tree;

/// A row.
pub(super) struct OfOurServer {
    pub(super) card: Card,
    pub(super) flag: &'static str,
    /// The values that it takes, in words.
    pub(super) values: &'static str,
    pub(super) takes: fn(&str) -> bool,
    /// What the server does when nothing is said.
    pub(super) unset: &'static str,
    /// Why this machine can have nothing of it.
    pub(super) absent: fn(&Tree) -> Option<String>,
    /// Why no value is right everywhere.
    pub(super) depends: &'static str,
    /// The socket options that set it.
    pub(super) sets: &'static [&'static str],
    /// An example, or what a person does to other servers.
    pub(super) by_hand: &'static str,
    /// Why the server of a study cannot have it; such a server is one process of an ordinary user.
    pub(super) refused_in_studies: fn(&str) -> Option<String>,
}

/// A flag of our server, and its value.
#[derive(Clone)]
pub struct ServerPart {
    row: &'static OfOurServer,
    value: String,
}

impl Lever for OfOurServer {
    fn card(&self) -> &Card {
        &self.card
    }

    fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        self.is_there(site)?;
        Ok(Reading {
            now: self.unset.to_owned(),
            is_recommended: None,
        })
    }

    fn plan(&self, site: &Site, _: Option<&str>) -> Result<Plan, Obstacle> {
        self.is_there(site)?;
        let flag = self.flag;
        Err(Obstacle::AtStart {
            of: "our own server",
            by: format!("linerate serve {flag} VALUE"),
        })
    }

    fn values(&self) -> String {
        self.values.to_owned()
    }

    fn sets(&self) -> Vec<String> {
        self.sets.iter().map(|&option| option.to_owned()).collect()
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some(self.by_hand)
    }

    fn is_of_our_server(&self) -> bool {
        true
    }

    fn at_start(&'static self, value: Option<&str>) -> Option<Result<AtStart, Obstacle>> {
        Some(self.part(value).map(AtStart::Server))
    }
}

impl OfOurServer {
    fn is_there(&self, site: &Site) -> Result<(), Obstacle> {
        (self.absent)(&site.tree).map_or(Ok(()), |why| Err(Obstacle::Absent(why)))
    }

    fn part(&'static self, value: Option<&str>) -> Result<ServerPart, Obstacle> {
        let (lever, expected) = (self.card.name, self.values.to_owned());
        let why = self.depends;
        let value = value.ok_or_else(|| Obstacle::NoValue {
            lever,
            why,
            expected: expected.clone(),
        })?;
        let value = value.to_owned();
        if !(self.takes)(&value) {
            return Err(Obstacle::BadValue {
                lever,
                value,
                expected,
            });
        }
        Ok(ServerPart { row: self, value })
    }
}

impl ServerPart {
    /// As they stand on the server's command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        vec![self.row.flag.to_owned(), self.value.clone()]
    }

    /// Whether the server of a study can have it.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn rehearse(&self) -> Result<(), Obstacle> {
        let refused = (self.row.refused_in_studies)(&self.value);
        refused.map_or(Ok(()), |why| Err(Obstacle::Absent(why)))
    }
}

/// For a look whether something can be had.
pub(super) fn why_not(outcome: Result<(), impl Display>) -> Option<String> {
    outcome.err().map(|error| error.to_string())
}
