//! Levers that are not settings of the machine, but of a program when it is started.

use serde::Deserialize;

use super::observation::Observation;
use super::our_server::OfOurServer;
use super::program::OfAProgram;
use super::{Obstacle, ProgramPart, ServerPart, Site};

/// Such a lever: the values that may be typed, and the program that it is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetAtStart {
    /// Describes the values that the lever accepts.
    pub(super) values: String,
    /// Why no single value is right everywhere.
    #[serde(default)]
    depends: String,
    /// The system calls and options that set it.
    pub(super) sets: Vec<String>,
    /// How a person would set it without us, or for other programs.
    pub(super) by_hand: String,
    of: Starter,
}

/// The kind of program that has the setting.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Starter {
    Program(OfAProgram),
    OurServer(OfOurServer),
    OurTester(OfOurTester),
}

/// A flag of our own network tester. The machine shows nothing of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfOurTester {
    /// Shows whether this kernel supports the flag.
    look: Observation,
    /// The command that sets the flag.
    by: String,
}

/// What a program is started with, for one lever and value.
#[derive(Clone)]
pub enum AtStart {
    /// For any program.
    Program(ProgramPart),
    /// For our own server only.
    Server(ServerPart),
}

impl AtStart {
    /// Checks whether a program that is started from here could be given this setting. Our server
    /// is tried with a worker on each of these CPUs.
    ///
    /// # Errors
    /// The obstacle where the kernel refused it.
    pub(crate) fn rehearse(&self, cpus: &[usize]) -> Result<(), Obstacle> {
        match self {
            Self::Program(part) => part.rehearse(),
            Self::Server(part) => part.rehearse(cpus),
        }
    }
}

impl SetAtStart {
    /// The value of a program that sets nothing itself. For programs in general, this is what our
    /// own process would pass on.
    pub(super) fn read(&self, name: &str, site: &Site) -> Result<String, Obstacle> {
        match &self.of {
            Starter::Program(program) => program.now(name),
            Starter::OurServer(server) => server.unset_at(site),
            Starter::OurTester(tester) => tester.look.look(site),
        }
    }

    /// Checks whether this machine supports it.
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

    /// The setting to start a program with, from a value as a person types it.
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
