//! A link in the middle of a rig, as a process of its own.

use std::io::{self, BufRead, Write};
use std::path::Path;

use machine::rig::{Lab, wire};
use model::message::Failure;
use serde::{Deserialize, Serialize};
use traffic::link::{Ends, Link, LinkPlan, LinkReadings};

use crate::role::{Role, RoleProcess, Said, dismissed, heard, say};

#[derive(Debug, Serialize, Deserialize)]
struct LinkOrder {
    plan: LinkPlan,
    ends: Ends,
}

/// Says that it is ready, carries until the input ends, and says what it came to.
pub(crate) fn carry(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let LinkOrder { plan, ends } = heard(input)?;
    let link = match Link::start(&plan, &ends) {
        Ok(link) => link,
        Err(error) => return say(output, &Said::<()>::Err(error.to_string())),
    };
    say(output, &Said::Ok(()))?;
    dismissed(input)?;
    let readings: Said<LinkReadings> = link.finish().map_err(|error| error.to_string());
    say(output, &readings)
}

/// A link in service. Dropping it takes it out.
#[derive(Debug)]
pub struct LinkProcess(RoleProcess);

impl LinkProcess {
    /// Takes a link into service in a rig of the form `wire`; `program` is Linerate.
    ///
    /// # Errors
    /// Says what could not be done.
    pub fn start(program: &Path, lab: &Lab, plan: &LinkPlan) -> Result<Self, Failure> {
        let middle = lab.host(wire::HOST).ok_or_else(|| Failure {
            what: "this rig has no wire for a link".to_owned(),
            advice: "a link is for a rig of the form `wire`".to_owned(),
        })?;
        let order = LinkOrder {
            plan: *plan,
            ends: Ends {
                client: wire::TO_CLIENT.to_owned(),
                server: wire::TO_SERVER.to_owned(),
            },
        };
        let mut process = RoleProcess::start(program, middle, Role::Link, &order)?;
        process.said::<()>()?;
        Ok(Self(process))
    }

    /// Takes it out of service; what it did. What is under way goes with it.
    ///
    /// # Errors
    /// Says what ended it before its time.
    pub fn finish(mut self) -> Result<LinkReadings, Failure> {
        self.0.dismiss();
        self.0.said()
    }
}
