//! A link that the kernel carries: a bridge between two devices of a rig, and on each of them the
//! queueing discipline that shapes what leaves by it. All of it ends with the rig's namespace.

mod asked;
mod attach;
mod reported;
mod words;

use std::io;

use model::link::{LinkPlan, LinkShape, QdiscReading, Via};

use super::cabling;
use crate::errno::errno;
use crate::rtnetlink;
use asked::Qdisc;
pub(crate) use attach::{AT_ROOT, KIND, detach, push_place};
pub(crate) use reported::{Reported, losses, qdiscs};

/// Name of the bridge.
const BRIDGE: &str = "lr-bridge";
/// `ENOENT`: the kernel knows no qdisc of that name.
const NO_SUCH: i32 = 2;

/// The reason why the kernel cannot carry such a link.
#[derive(Debug, thiserror::Error)]
pub enum QdiscError {
    #[error("this kernel has no {via} (the module sch_{via}, CONFIG_NET_SCH_{})", via.name().to_uppercase())]
    Absent { via: Via },
    #[error("{what} {device} failed: {}", errno(source))]
    Refused {
        what: &'static str,
        device: String,
        source: io::Error,
    },
    #[error("the kernel reports `{told}` for {device}, where `{asked}` was asked for")]
    Another {
        device: String,
        asked: String,
        told: String,
    },
}

/// A link in operation, which exists as long as the namespace of its devices.
#[derive(Debug)]
pub struct KernelLink {
    up: Shaped,
    down: Shaped,
}

/// A device with its qdisc on it.
#[derive(Debug)]
pub(crate) struct Shaped {
    device: String,
    index: u32,
    asked: Qdisc,
    /// The qdisc as the kernel reports it, in the words of tc(8).
    qdisc: String,
}

impl KernelLink {
    /// Joins two devices of the calling thread's network namespace, which have no address, by the
    /// link that the plan asks for. Reads back what the kernel set.
    ///
    /// # Errors
    /// Says what the kernel lacks, refused, or has in place of what was asked for.
    pub fn start(plan: &LinkPlan, [client, server]: [&str; 2]) -> Result<Self, QdiscError> {
        let link = Self {
            up: Shaped::start(server, plan.via, &plan.up)?,
            down: Shaped::start(client, plan.via, &plan.down)?,
        };
        cabling::bridge(BRIDGE, [client, server])
            .map_err(|source| refused("joining the ends by", BRIDGE, source))?;
        Ok(link)
    }

    /// Reads what it has carried so far: up and down.
    ///
    /// # Errors
    /// If a qdisc is no longer there.
    pub fn read(&self) -> Result<[QdiscReading; 2], QdiscError> {
        Ok([self.up.read()?, self.down.read()?])
    }
}

impl Shaped {
    /// Puts the qdisc on a device that has none yet, and reads it back.
    ///
    /// # Errors
    /// As [`KernelLink::start`].
    pub(crate) fn start(device: &str, via: Via, shape: &LinkShape) -> Result<Self, QdiscError> {
        let failed = |source| refused("putting a qdisc on", device, source);
        let index = rtnetlink::index_of(device).map_err(failed)?;
        let asked = Qdisc::asked(via, shape);
        attach::attach(index, &asked).map_err(|source| match source.raw_os_error() {
            Some(NO_SUCH) => QdiscError::Absent { via },
            _ => failed(source),
        })?;
        let mut shaped = Self {
            device: device.to_owned(),
            index,
            asked,
            qdisc: String::new(),
        };
        shaped.qdisc = shaped.verify()?;
        Ok(shaped)
    }

    /// Checks that the qdisc is still there, and returns it in the words of tc(8).
    ///
    /// # Errors
    /// If the kernel reports another one.
    pub(crate) fn verify(&self) -> Result<String, QdiscError> {
        let failed = |source| refused("reading the qdisc of", &self.device, source);
        let reported = reported::reported(self.index).map_err(failed)?;
        let reported = reported.map(|(qdisc, _)| qdisc);
        let words = reported.map_or_else(|| "another".to_owned(), |qdisc| qdisc.to_string());
        if reported.is_some_and(|qdisc| self.asked.matches(&qdisc)) {
            return Ok(words);
        }
        Err(QdiscError::Another {
            device: self.device.clone(),
            asked: self.asked.to_string(),
            told: words,
        })
    }

    /// Removes the qdisc from its device, which then has the kernel's own choice.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn take_away(&self) -> Result<(), QdiscError> {
        attach::detach(self.index)
            .map_err(|source| refused("taking the qdisc from", &self.device, source))
    }

    fn read(&self) -> Result<QdiscReading, QdiscError> {
        let failed = |source| refused("reading the qdisc of", &self.device, source);
        let reported = reported::reported(self.index).map_err(failed)?;
        let (_, counters) = reported.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        Ok(QdiscReading {
            qdisc: self.qdisc.clone(),
            carried_packets: counters.sent_packets,
            carried_bytes: counters.sent_bytes,
            dropped_packets: counters.dropped_packets,
            held_packets: counters.waiting_packets,
        })
    }
}

fn refused(what: &'static str, device: &str, source: io::Error) -> QdiscError {
    QdiscError::Refused {
        what,
        device: device.to_owned(),
        source,
    }
}
