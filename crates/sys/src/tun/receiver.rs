//! What a host sends by its TUN device.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use crate::netlink::{Netlink, attributes, push_attribute, push_message};

/// No IP packet is longer.
const LONGEST_PACKET_BYTES: usize = 65_535;

/// Receives the packets of one device. The kernel does not tell when they came.
#[derive(Debug)]
pub struct Receiver {
    file: File,
    watch: Netlink,
    name: String,
    buffer: Box<[u8]>,
}

impl Receiver {
    pub(super) fn new(file: File, watch: Netlink, name: &str) -> Self {
        Self {
            file,
            watch,
            name: name.to_owned(),
            buffer: vec![0; LONGEST_PACKET_BYTES].into(),
        }
    }

    /// Hands the packets that are there to `each`, from the IP header on, oldest first and at most
    /// so many; how many. Each costs a system call, and so does finding that there are no more.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> usize {
        for taken in 0..most {
            // Also where the device is down, which waits for nobody.
            let Ok(bytes) = self.file.read(&mut self.buffer) else {
                return taken;
            };
            each(&self.buffer[..bytes]);
        }
        most
    }

    /// Packets so far that found no room in the device's queue (`tx_dropped` of ip-link(8)).
    ///
    /// # Errors
    /// `ENODEV` where somebody has taken the device away or given it another name.
    pub fn missed(&self) -> io::Result<u64> {
        let mut request = Vec::new();
        push_message(&mut request, GET_LINK, ASK_AND_ACKNOWLEDGE, 1, |payload| {
            payload.extend([0; HEADER_BYTES]);
            push_attribute(payload, NAME, |value| {
                value.extend(self.name.as_bytes());
                value.push(0);
            });
        });
        let mut dropped = None;
        self.watch.ask(&request, 1, |answer| {
            dropped = dropped.or_else(|| dropped_of(answer.payload));
            ControlFlow::Continue(())
        })?;
        dropped.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Readable when there are packets.
impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

// linux/rtnetlink.h and linux/netlink.h: `RTM_GETLINK`, and `NLM_F_REQUEST | NLM_F_ACK`.
const GET_LINK: u16 = 18;
const ASK_AND_ACKNOWLEDGE: u16 = 5;
/// Length of `struct ifinfomsg`.
const HEADER_BYTES: usize = 16;
// linux/if_link.h: `IFLA_IFNAME` and `IFLA_STATS64`.
const NAME: u16 = 3;
const COUNTERS: u16 = 23;
/// Where `tx_dropped` stands in `struct rtnl_link_stats64`.
const DROPPED_AT: usize = 7 * size_of::<u64>();

/// From what rtnetlink(7) tells of a device.
fn dropped_of(payload: &[u8]) -> Option<u64> {
    let mut told = attributes(payload.get(HEADER_BYTES..)?);
    let (_, counters) = told.find(|(kind, _)| *kind == COUNTERS)?;
    let dropped = counters.get(DROPPED_AT..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*dropped))
}
