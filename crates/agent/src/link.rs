//! A link in the middle of a rig, as a process of its own.

use std::io::{self, BufRead, Write};
use std::path::Path;

use machine::rig::qdisc::KernelLink;
use machine::rig::{Lab, wire};
use model::Doubt;
use model::link::{LinkPlan, LinkRecord, LinkTotals, QdiscReading, Via};
use model::message::Failure;
use serde::{Deserialize, Serialize};
use traffic::link::{Ends, Link, LinkReadings};

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

/// Says that the kernel carries, waits for the end of the input, and says what it came to.
pub(crate) fn have_carried(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let LinkOrder { plan, ends } = heard(input)?;
    let link = match KernelLink::start(&plan, [&ends.client, &ends.server]) {
        Ok(link) => link,
        Err(error) => return say(output, &Said::<()>::Err(error.to_string())),
    };
    say(output, &Said::Ok(()))?;
    dismissed(input)?;
    let readings: Said<[QdiscReading; 2]> = link.read().map_err(|error| error.to_string());
    say(output, &readings)
}

/// What a link carried.
#[derive(Clone, Debug)]
pub enum Carried {
    /// Ours told of itself.
    Userspace(LinkReadings),
    /// The kernel counted: up and down.
    Kernel([QdiscReading; 2]),
}

impl Carried {
    /// What a sceptic would ask about it.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        match self {
            Self::Userspace(readings) => traffic::link::doubts(readings),
            Self::Kernel(_) => Vec::new(),
        }
    }

    /// What a run keeps of it.
    #[must_use]
    pub fn record(&self) -> LinkRecord {
        let [up, down] = match self {
            Self::Userspace(readings) => {
                [&readings.up, &readings.down].map(|reading| LinkTotals::from(&reading.tally))
            }
            Self::Kernel(readings) => readings.each_ref().map(LinkTotals::from),
        };
        let doubts = self.doubts();
        LinkRecord { up, down, doubts }
    }
}

/// A link in service. Dropping it takes one in user space out; one of the kernel's goes with the
/// rig.
#[derive(Debug)]
pub struct LinkProcess {
    process: RoleProcess,
    via: Via,
}

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
        let role = match plan.via {
            Via::Userspace => Role::Link,
            Via::Tbf | Via::Htb | Via::Netem => Role::KernelLink,
        };
        let mut process = RoleProcess::start(program, middle, role, &order)?;
        process.said::<()>()?;
        let via = plan.via;
        Ok(Self { process, via })
    }

    /// What it did up to now; the last thing that is asked of it.
    ///
    /// # Errors
    /// Says what ended it before its time.
    pub fn finish(mut self) -> Result<Carried, Failure> {
        self.process.dismiss();
        Ok(match self.via {
            Via::Userspace => Carried::Userspace(self.process.said()?),
            Via::Tbf | Via::Htb | Via::Netem => Carried::Kernel(self.process.said()?),
        })
    }
}
