//! How a lever is set that is no setting of the machine, but of a program that is yet to be started.

use serde::Deserialize;

use super::observation::Observation;
use super::our_server::OfOurServer;
use super::program::OfAProgram;
use super::{Obstacle, ProgramPart, ServerPart, Site};

/// What may be typed, and for which program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetAtStart {
    /// The values that it takes, in words.
    pub(super) values: String,
    /// Why no value is right everywhere.
    #[serde(default)]
    depends: String,
    /// The calls and options that set it.
    pub(super) sets: Vec<String>,
    /// What a person would type in our place, or does to other programs.
    pub(super) by_hand: String,
    of: Starter,
}

/// Who starts what has it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Starter {
    Program(OfAProgram),
    OurServer(OfOurServer),
    OurTester(OfOurTester),
}

/// A flag of the ends of our own network tester, of which a machine shows nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfOurTester {
    /// Whether this kernel has it.
    look: Observation,
    /// The command that sets it.
    by: String,
}

/// What a program is started with.
#[derive(Clone)]
pub enum AtStart {
    /// Whatever program it is.
    Program(ProgramPart),
    /// Our own server alone.
    Server(ServerPart),
}

impl AtStart {
    /// Whether a program that is started from here could be given it; our server with a worker on each of these
    /// CPUs.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn rehearse(&self, cpus: &[usize]) -> Result<(), Obstacle> {
        match self {
            Self::Program(part) => part.rehearse(),
            Self::Server(part) => part.rehearse(cpus),
        }
    }
}

impl SetAtStart {
    /// What a program that says nothing has; of any program, what this very process would hand on.
    pub(super) fn read(&self, name: &str, site: &Site) -> Result<String, Obstacle> {
        match &self.of {
            Starter::Program(program) => program.now(name),
            Starter::OurServer(server) => server.unset_at(site),
            Starter::OurTester(tester) => tester.look.look(site),
        }
    }

    /// Whether this machine could have it.
    pub(super) fn is_there(&self, site: &Site) -> Result<(), Obstacle> {
        match &self.of {
            Starter::Program(_) => Ok(()),
            Starter::OurServer(server) => server.unset_at(site).map(drop),
            Starter::OurTester(tester) => tester.look.look(site).map(drop),
        }
    }

    pub(super) fn at_its_start(&self, name: &str) -> Obstacle {
        let (of, by) = match &self.of {
            Starter::Program(_) => (
                "a program",
                format!("linerate levers run {name}=VALUE -- CMD"),
            ),
            Starter::OurServer(server) => (
                "our own server",
                format!("linerate serve {} VALUE", server.flag),
            ),
            Starter::OurTester(tester) => ("our own network tester", tester.by.clone()),
        };
        Obstacle::AtStart { of, by }
    }

    pub(super) fn is_of_our_server(&self) -> bool {
        matches!(self.of, Starter::OurServer(_))
    }

    /// What a program is started with, for a value as a person types it.
    pub(super) fn part(
        &'static self,
        lever: &'static str,
        value: Option<&str>,
    ) -> Result<AtStart, Obstacle> {
        if let Starter::OurTester(_) = self.of {
            return Err(self.at_its_start(lever));
        }
        let expected = self.values.clone();
        let Some(value) = value else {
            return Err(Obstacle::NoValue {
                lever,
                why: &self.depends,
                expected,
            });
        };
        let part = match &self.of {
            Starter::Program(program) => program.part(lever, value).map(AtStart::Program),
            Starter::OurServer(server) => server.part(value).map(AtStart::Server),
            Starter::OurTester(_) => None,
        };
        part.ok_or_else(|| Obstacle::BadValue {
            lever,
            value: value.to_owned(),
            expected,
        })
    }
}
