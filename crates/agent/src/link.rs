//! A link between the hosts of a rig, as a process of its own.

use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::path::Path;

use machine::rig::qdisc::KernelLink;
use machine::rig::{Lab, wire};
use model::failure::Failure;
use model::link::{LinkPlan, LinkRecord, LinkTotals, QdiscReading};
use model::{Doubt, LinkDoubt};
use serde::{Deserialize, Serialize};
use traffic::link::{Link, LinkReadings};

use crate::role::{Role, RoleProcess, Said, dismissed, here, say};

/// A link between two devices, the client's and the server's.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LinkOrder {
    pub(crate) plan: LinkPlan,
    ends: [String; 2],
}

/// Carries packets between two devices here, or has the kernel carry them.
pub(crate) fn carry(
    LinkOrder { plan, ends }: &LinkOrder,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    let ends = ends.each_ref().map(String::as_str);
    if plan.via.is_ours() {
        let link = Link::between_devices(plan, ends);
        attend(link, Link::finish, input, output)
    } else {
        let link = KernelLink::start(plan, ends);
        attend(link, |link| link.read(), input, output)
    }
}

/// Reports that a link is ready, waits for the end of the input, and reports what the link carried.
fn attend<L, Told: Serialize, Why: Display, Then: Display>(
    link: Result<L, Why>,
    finish: impl FnOnce(L) -> Result<Told, Then>,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    let link = match link {
        Ok(link) => link,
        Err(error) => return say(output, &Said::<()>::Err(error.to_string())),
    };
    say(output, &Said::Ok(()))?;
    dismissed(input)?;
    let outcome: Said<Told> = finish(link).map_err(|error| error.to_string());
    say(output, &outcome)
}

/// What a link carried.
#[derive(Clone, Debug)]
pub enum Carried {
    /// The readings of our own link.
    Userspace(LinkReadings),
    /// The kernel's counts, up and down.
    Kernel {
        plan: LinkPlan,
        readings: [QdiscReading; 2],
    },
}

impl Carried {
    /// The doubts that a sceptic would have about it.
    pub fn doubts(&self) -> Vec<Doubt> {
        match self {
            Self::Userspace(readings) => traffic::link::doubts(readings),
            Self::Kernel { plan, readings } => kernels_doubts(plan, readings),
        }
    }

    /// How much later than due the latest packet of either direction left, ns; `None` for a link of
    /// the kernel, which does not report it.
    pub fn latest_ns(&self) -> Option<u64> {
        let Self::Userspace(LinkReadings { up, down, .. }) = self else {
            return None;
        };
        let latest = [up, down].map(|reading| reading.lateness_ns.quantile(1.0));
        latest.into_iter().flatten().max()
    }

    /// The record of it that a run stores.
    pub fn record(&self) -> LinkRecord {
        let [up, down] = match self {
            Self::Userspace(readings) => {
                [&readings.up, &readings.down].map(|reading| LinkTotals::from(&reading.tally))
            }
            Self::Kernel { readings, .. } => readings.each_ref().map(LinkTotals::from),
        };
        let doubts = self.doubts();
        LinkRecord { up, down, doubts }
    }
}

/// The doubts about a link of the kernel. The kernel counts drops of every cause together, so drops
/// are doubtful only where neither loss nor a rate was asked for.
fn kernels_doubts(plan: &LinkPlan, readings: &[QdiscReading; 2]) -> Vec<Doubt> {
    let directions = [("up", &plan.up), ("down", &plan.down)];
    let doubtful = directions.into_iter().zip(readings);
    let doubtful = doubtful.filter(|((_, shape), reading)| {
        shape.loss_share == 0.0 && shape.rate.is_none() && reading.dropped_packets > 0
    });
    let doubts = doubtful.map(|((direction, _), reading)| LinkDoubt::Unheld {
        direction: direction.to_owned(),
        packets: reading.dropped_packets,
    });
    doubts.map(Doubt::Link).collect()
}

/// A link in service. Dropping it ends a link in user space; a link of the kernel ends with the
/// rig.
#[derive(Debug)]
pub struct LinkProcess {
    process: RoleProcess,
    plan: LinkPlan,
}

impl LinkProcess {
    /// Starts a link in a rig of the form `wire`; `program` is Linerate.
    ///
    /// # Errors
    /// Says what could not be done.
    pub fn start(program: &Path, lab: &Lab, plan: &LinkPlan) -> Result<Self, Failure> {
        let middle = lab.host(wire::HOST).ok_or_else(no_place)?;
        let ends = [wire::TO_CLIENT, wire::TO_SERVER].map(str::to_owned);
        let role = Role::Link(LinkOrder { plan: *plan, ends });
        let mut process = RoleProcess::start(here(program, Some(middle))?, &role)?;
        process.said::<()>()?;
        let plan = *plan;
        Ok(Self { process, plan })
    }

    /// Asks the link for what it has carried, and ends it.
    ///
    /// # Errors
    /// Says what ended the link before its time.
    pub fn finish(mut self) -> Result<Carried, Failure> {
        self.process.dismiss();
        Ok(if self.plan.via.is_ours() {
            Carried::Userspace(self.process.said()?)
        } else {
            Carried::Kernel {
                plan: self.plan,
                readings: self.process.said()?,
            }
        })
    }
}

fn no_place() -> Failure {
    Failure {
        what: "this rig has no place for a link".to_owned(),
        advice: "a link is for a rig of the form `wire`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::link::{LinkRate, LinkShape, Via};

    use super::*;

    fn after(dropped_packets: u64, up: LinkShape) -> Carried {
        let reading = |dropped_packets| QdiscReading {
            qdisc: "netem limit 199464".to_owned(),
            carried_packets: 9,
            carried_bytes: 900,
            dropped_packets,
            held_packets: 0,
        };
        Carried::Kernel {
            plan: LinkPlan::new([up, LinkShape::default()], None, Via::Netem).unwrap(),
            readings: [dropped_packets, 0].map(reading),
        }
    }

    #[test]
    fn what_the_kernel_drops_of_a_link_without_loss_or_rate_is_doubted() {
        let delayed = LinkShape {
            delay_ns: 300_000_000,
            ..LinkShape::default()
        };
        assert_eq!(after(0, delayed).doubts(), []);
        let doubts = after(3, delayed).record().doubts;
        assert_eq!(doubts.len(), 1);
        assert!(doubts[0].what().contains("3 packets up"), "{doubts:?}");
    }

    #[test]
    fn what_the_kernel_drops_where_drops_were_asked_for_is_not() {
        let lossy = LinkShape {
            loss_share: 0.01,
            ..LinkShape::default()
        };
        let rate = LinkRate::Steady {
            bits_per_second: 1_000_000,
        };
        let slow = LinkShape {
            rate: Some(rate),
            ..LinkShape::default()
        };
        for asked in [lossy, slow] {
            assert_eq!(after(3, asked).doubts(), []);
        }
    }
}
