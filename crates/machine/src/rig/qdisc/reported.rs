//! What the kernel reports about the queueing disciplines on a device.

use std::io;

use super::asked::{Bucket, Buckets, Emulation, Qdisc, Room, Shaper};
use super::attach::{AT_ROOT, CLASS, KIND, OPTIONS, push_place};
use crate::links::{number, text, within};
use crate::rtnetlink;

// From linux/rtnetlink.h: the type of the request, and `TCA_STATS2`.
const GET_QDISC: u16 = 38;
const STATISTICS: u16 = 7;
/// Length of `struct tcmsg`.
const HEADER_BYTES: usize = 20;
/// Length of `struct tc_netem_qopt`, after which attributes follow.
const NETEM_BYTES: usize = 24;

/// One qdisc, as the kernel lists it.
#[derive(Clone, Debug)]
pub(crate) struct Reported {
    device: u32,
    /// The handle; 0 for a qdisc that nobody has put there.
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    pub(crate) kind: String,
    options: Vec<u8>,
    counters: Counters,
}

#[cfg(test)]
impl Reported {
    /// A qdisc without settings.
    pub(crate) fn of(handle: u32, parent: u32, kind: &str) -> Self {
        Self {
            device: 2,
            handle,
            parent,
            kind: kind.to_owned(),
            options: Vec::new(),
            counters: Counters::default(),
        }
    }
}

/// The counters of a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) dropped_packets: u64,
    pub(super) waiting_packets: u64,
}

/// Reads the qdisc of the device of that number, and its counters; `None` if it is none that we
/// would put there.
pub(super) fn reported(device: u32) -> io::Result<Option<(Qdisc, Counters)>> {
    let qdiscs = qdiscs(device)?;
    let Some(root) = qdiscs.iter().find(|qdisc| qdisc.parent == AT_ROOT) else {
        return Ok(None);
    };
    let shaper = match &*root.kind {
        "tbf" => tbf(&root.options).map(Shaper::Tbf),
        "netem" => netem(&root.options).map(Shaper::Netem),
        _ => Some(Shaper::Open),
    };
    let holder = match shaper {
        Some(Shaper::Open) => Some(root),
        _ => qdiscs.iter().find(|qdisc| qdisc.parent == CLASS),
    };
    let qdisc = |shaper| Qdisc {
        shaper,
        room: holder.and_then(queue),
    };
    Ok(shaper.map(|shaper| (qdisc(shaper), root.counters)))
}

/// Lists all qdiscs on the device of that number.
///
/// # Errors
/// Those of the kernel.
pub(crate) fn qdiscs(device: u32) -> io::Result<Vec<Reported>> {
    let mut all = Vec::new();
    let of_device = |payload: &mut Vec<u8>| push_place(payload, [device, 0, 0]);
    rtnetlink::list(GET_QDISC, of_device, |message| {
        all.extend(parse(message.payload));
    })?;
    all.retain(|qdisc| qdisc.device == device);
    Ok(all)
}

/// Returns the packets that all devices of this network namespace have dropped because their queues
/// were full, and those that wait in these queues.
///
/// # Errors
/// Those of the kernel.
pub(crate) fn losses() -> io::Result<(u64, u64)> {
    let mut sums = (0, 0);
    let of_all = |payload: &mut Vec<u8>| push_place(payload, [0, 0, 0]);
    rtnetlink::list(GET_QDISC, of_all, |message| {
        // The counters of a qdisc include those within it.
        if let Some(root) = parse(message.payload).filter(|qdisc| qdisc.parent == AT_ROOT) {
            sums.0 += root.counters.dropped_packets;
            sums.1 += root.counters.waiting_packets;
        }
    })?;
    Ok(sums)
}

fn parse(payload: &[u8]) -> Option<Reported> {
    let (header, attributes) = payload.split_at_checked(HEADER_BYTES)?;
    Some(Reported {
        device: number(&header[4..]),
        handle: number(&header[8..]),
        parent: number(&header[12..]),
        kind: within(attributes, KIND).map(text)?,
        options: within(attributes, OPTIONS).unwrap_or_default().to_vec(),
        counters: within(attributes, STATISTICS).map_or_else(Counters::default, counters),
    })
}

/// Reads `TCA_STATS_BASIC`, `_QUEUE`, and the number of packets in 64 bits if 32 bits did not
/// suffice.
fn counters(statistics: &[u8]) -> Counters {
    let basic = within(statistics, 1).unwrap_or_default();
    let queue = within(statistics, 3).unwrap_or_default();
    let packets = u64::from(number_at(basic, 8));
    Counters {
        sent_packets: within(statistics, 8).map_or(packets, large),
        sent_bytes: large(basic),
        dropped_packets: number_at(queue, 8).into(),
        waiting_packets: number_at(queue, 0).into(),
    }
}

/// Reads `TCA_TBF_PARMS`; without a peak its rate is 0.
fn tbf(options: &[u8]) -> Option<Buckets> {
    let peak = bucket(options, 20, 5, 32)?;
    Some(Buckets {
        base: bucket(options, 8, 4, 28)?,
        peak: (peak.bytes_per_second > 0).then_some(peak),
    })
}

/// Reads a bucket: its rate and its time to fill from their places in the parameters, and a rate
/// that is too large for them from an attribute of its own.
fn bucket(options: &[u8], rate_at: usize, wide: u16, ticks_at: usize) -> Option<Bucket> {
    let parameters = within(options, 1)?;
    let small = u64::from(number_at(parameters, rate_at));
    let rate = within(options, wide).map_or(small, large);
    Some(Bucket::filled_in(rate, number_at(parameters, ticks_at)))
}

fn netem(options: &[u8]) -> Option<Emulation> {
    let (settings, attributes) = options.split_at_checked(NETEM_BYTES)?;
    let rate = within(attributes, 6).map_or(0, number).into();
    Some(Emulation {
        delay_ns: within(attributes, 10).map(large)?,
        bytes_per_second: within(attributes, 8).map_or(rate, large),
        loss: number_at(settings, 8),
        reorder: within(attributes, 3).map_or(0, number),
        limit_packets: number_at(settings, 4),
    })
}

fn queue(qdisc: &Reported) -> Option<Room> {
    let limit = number(&qdisc.options);
    match &*qdisc.kind {
        "pfifo" => Some(Room::Packets(limit)),
        "bfifo" => Some(Room::Bytes(limit)),
        _ => None,
    }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    number(bytes.get(at..).unwrap_or_default())
}

/// Reads 64 bits in the machine's byte order; 0 if there are fewer.
fn large(value: &[u8]) -> u64 {
    let bytes = value.first_chunk::<8>();
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
