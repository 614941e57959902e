//! The rtnetlink messages that put a queueing discipline on a device. Layouts:
//! linux/pkt_sched.h.

use std::io;

use sys::netlink::push_attribute;

use super::asked::{Bucket, Buckets, Emulation, Qdisc, Room, Shaper};
use crate::rtnetlink::{DO, MAKE, ask, push_bytes, push_text};

// From linux/rtnetlink.h: types of requests, and `TCA_…`.
const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
pub(crate) const KIND: u16 = 1;
pub(super) const OPTIONS: u16 = 2;
/// `TC_H_ROOT`, and the handles that tc(8) writes as `1:`, `1:1` and `2:`.
pub(crate) const AT_ROOT: u32 = u32::MAX;
const ROOT: u32 = 1 << 16;
pub(super) const CLASS: u32 = ROOT | 1;
const INNER: u32 = 2 << 16;
/// `TC_LINKLAYER_ETHERNET`: the kernel then needs no table of sizes.
const ETHERNET: u8 = 1;

/// Puts the qdisc on the device of that number, which has none yet.
pub(super) fn attach(device: u32, qdisc: &Qdisc) -> io::Result<()> {
    let root = [device, ROOT, AT_ROOT];
    match qdisc.shaper {
        Shaper::Open => {}
        Shaper::Tbf(buckets) => add(root, "tbf", |options| push_tbf(options, &buckets))?,
        Shaper::Netem(emulation) => add(root, "netem", |options| push_netem(options, &emulation))?,
    }
    let place = match qdisc.shaper {
        Shaper::Open => root,
        _ => [device, INNER, CLASS],
    };
    qdisc.room.map_or(Ok(()), |room| add_queue(place, room))
}

/// Removes the qdisc at the root of the device of that number, with all that is in it.
pub(crate) fn detach(device: u32) -> io::Result<()> {
    ask(DELETE_QDISC, DO, |payload| {
        push_place(payload, [device, 0, AT_ROOT]);
    })
}

fn add_queue(place: [u32; 3], room: Room) -> io::Result<()> {
    add(place, room.kind(), |options| {
        options.extend(room.limit().to_ne_bytes());
    })
}

fn add(place: [u32; 3], kind: &str, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    ask(NEW_QDISC, MAKE, |payload| {
        push_place(payload, place);
        push_text(payload, KIND, kind);
        push_attribute(payload, OPTIONS, fill);
    })
}

/// Writes a `struct tcmsg`: family, device, handle, parent, info.
pub(crate) fn push_place(payload: &mut Vec<u8>, place: [u32; 3]) {
    payload.extend([0; 4]);
    payload.extend(place.map(u32::to_ne_bytes).concat());
    payload.extend([0; 4]);
}

/// Writes `TCA_TBF_PARMS`, and beside it what does not fit there: the rates in 64 bits, and the
/// buckets in bytes.
fn push_tbf(options: &mut Vec<u8>, buckets: &Buckets) {
    let Buckets { base, peak } = buckets;
    let [rate, peak_rate] = [Some(base), peak.as_ref()].map(rate_specification);
    // The limit of the queue that tbf makes for itself and ours replaces. With 0 that queue would
    // be noop.
    let limit = 1_u32.to_ne_bytes();
    let [fill, peak_fill] = [Some(base), peak.as_ref()].map(fill_time);
    let parameters = [&rate[..], &peak_rate, &limit, &fill, &peak_fill].concat();
    push_bytes(options, 1, &parameters);
    push_bytes(options, 4, &base.bytes_per_second.to_ne_bytes());
    push_bytes(options, 6, &saturated(base.bytes));
    if let Some(peak) = peak {
        push_bytes(options, 5, &peak.bytes_per_second.to_ne_bytes());
        push_bytes(options, 7, &saturated(peak.bytes));
    }
}

/// Writes a `struct tc_netem_qopt` (latency, limit, loss, gap, duplicates, jitter), and after it
/// `TCA_NETEM_REORDER`, `_RATE`, `_RATE64` and `_LATENCY64`.
fn push_netem(options: &mut Vec<u8>, emulation: &Emulation) {
    // With a gap of one, each packet is sent early by its own chance.
    let gap = u32::from(emulation.reorder > 0);
    let settings = [0, emulation.limit_packets, emulation.loss, gap, 0, 0];
    options.extend(settings.map(u32::to_ne_bytes).concat());
    if gap > 0 {
        let share = [emulation.reorder, 0].map(u32::to_ne_bytes);
        push_bytes(options, 3, &share.concat());
    }
    if emulation.bytes_per_second > 0 {
        let rate = [small(emulation.bytes_per_second), 0, 0, 0];
        push_bytes(options, 6, &rate.map(u32::to_ne_bytes).concat());
        push_bytes(options, 8, &emulation.bytes_per_second.to_ne_bytes());
    }
    push_bytes(options, 10, &emulation.delay_ns.to_ne_bytes());
}

/// A `struct tc_ratespec`; all zero without a bucket.
fn rate_specification(bucket: Option<&Bucket>) -> [u8; 12] {
    let mut bytes = [0; 12];
    if let Some(bucket) = bucket {
        bytes[1] = ETHERNET;
        bytes[8..].copy_from_slice(&small(bucket.bytes_per_second).to_ne_bytes());
    }
    bytes
}

fn fill_time(bucket: Option<&Bucket>) -> [u8; 4] {
    bucket.map_or(0, Bucket::ticks).to_ne_bytes()
}

/// The rate in 32 bits. If it does not fit, the kernel uses the 64 bits beside it.
fn small(bytes_per_second: u64) -> u32 {
    u32::try_from(bytes_per_second).unwrap_or(u32::MAX)
}

fn saturated(bytes: u64) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes()
}
