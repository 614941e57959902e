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

/// Carries between two devices here, or has the kernel do so.
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

/// Says that a link is ready, waits for the end of the input, and says what it came to.
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
    let told: Said<Told> = finish(link).map_err(|error| error.to_string());
    say(output, &told)
}

/// What a link carried.
#[derive(Clone, Debug)]
pub enum Carried {
    /// Ours told of itself.
    Userspace(LinkReadings),
    /// The kernel counted: up and down.
    Kernel {
        plan: LinkPlan,
        readings: [QdiscReading; 2],
    },
}

impl Carried {
    /// What a sceptic would ask about it.
    pub fn doubts(&self) -> Vec<Doubt> {
        match self {
            Self::Userspace(readings) => traffic::link::doubts(readings),
            Self::Kernel { plan, readings } => kernels_doubts(plan, readings),
        }
    }

    /// How much later than due the latest packet of either direction left, ns; the kernel does not
    /// tell.
    pub fn latest_ns(&self) -> Option<u64> {
        let Self::Userspace(LinkReadings { up, down, .. }) = self else {
            return None;
        };
        let latest = [up, down].map(|reading| reading.lateness_ns.quantile(1.0));
        latest.into_iter().flatten().max()
    }

    /// What a run keeps of it.
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

/// The kernel counts what it drops for whatever reason, so drops tell most where none were asked for.
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

/// A link in service. Dropping it takes one in user space out; one of the kernel's goes with the
/// rig.
#[derive(Debug)]
pub struct LinkProcess {
    process: RoleProcess,
    plan: LinkPlan,
}

impl LinkProcess {
    /// Takes a link into service in a rig of the form `wire`; `program` is Linerate.
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

    /// What it did up to now; the last thing that is asked of it.
    ///
    /// # Errors
    /// Says what ended it before its time.
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
