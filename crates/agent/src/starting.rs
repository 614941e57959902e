//! What a target's process starts with: CPUs, what its levers give it, and no powers of root.

use machine::cpus::CpuSplit;
use machine::levers::Obstacle;
use machine::levers::program::Start;
use machine::planted::ChildPart;
use model::failure::Failure;
use sys::attribute::Attribute;
use sys::process::ChildSetup;

use crate::environment;

/// The start of a process, prepared and not yet made.
pub(crate) struct Starting {
    pub(crate) setup: ChildSetup,
    start: Start,
}

impl Starting {
    /// Prepares a start on the CPUs of the server, unless a lever names others.
    pub(crate) fn new(part: ChildPart, cpus: &CpuSplit) -> Result<Self, Failure> {
        let start = Start::prepare(part.program).map_err(|obstacle| refused(&obstacle))?;
        let mut setup = ChildSetup {
            seccomp: part.seccomp,
            ..environment::ordinary(start.cpus().unwrap_or(&cpus.server))?
        };
        start.put_into(&mut setup);
        Ok(Self { setup, start })
    }

    /// Adds to a failure to start the levers of the process: together they may be refused where
    /// each alone is not.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let levers = self.start.words();
        if levers.is_empty() {
            return failure;
        }
        Failure {
            what: format!("{} (with {levers})", failure.what),
            ..failure
        }
    }

    /// Checks that the process has what its levers give it.
    pub(crate) fn verify(&self, pid: u32) -> Result<(), Failure> {
        let verified = self.start.verify(pid);
        verified.map_err(|obstacle| refused(&obstacle))
    }

    /// Takes the CPUs out of the setup, for a caller that pins the process itself.
    pub(crate) fn take_cpus(&mut self) -> Vec<usize> {
        let is_of_cpus = |attribute: &Attribute| matches!(attribute, Attribute::Cpus(_));
        self.setup
            .attributes
            .retain(|attribute| !is_of_cpus(attribute));
        std::mem::take(&mut self.setup.cpus)
    }

    /// The part that must outlive the process.
    pub(crate) fn into_start(self) -> Start {
        self.start
    }
}

fn refused(obstacle: &Obstacle) -> Failure {
    Failure::plain(format!("lever {obstacle}"))
}
