//! The reasons why packets could not be exchanged.

use std::io;
use std::net::SocketAddr;

use super::{LARGEST_BYTES, SMALLEST_BYTES, SMALLEST_FRAME_BYTES};

/// The error of an exchange: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    #[error(
        "a packet of {bytes} bytes cannot be sent: ask for {SMALLEST_BYTES}, which its number \
         takes, to {LARGEST_BYTES}"
    )]
    Size { bytes: usize },
    #[error(
        "a raw frame of {bytes} bytes cannot be sent: ask for {SMALLEST_FRAME_BYTES}, the shortest of \
         Ethernet without its checksum, to {most}, which the rig's devices take"
    )]
    FrameSize { bytes: usize, most: usize },
    #[error(
        "paced packets have at least {} bytes, for their number and time, not {bytes}",
        2 * SMALLEST_BYTES
    )]
    NoTime { bytes: usize },
    #[error(
        "segments of one send have one size: send a mix with `single`, `batch:N` or, raw, `ring:N`"
    )]
    MixedSegments,
    #[error("the rate of packets must be above 0, such as 100000 a second, not {rate}")]
    NoRate { rate: f64 },
    #[error("no packet was due in that time: ask for a higher rate, or for longer")]
    NoneDue,
    #[error("`{way}` is no way for {}: see `linerate packets --help`", match is_raw {
        true => "raw frames",
        false => "UDP, only for raw frames (--raw)",
    })]
    Way { way: String, is_raw: bool },
    #[error("a packet socket at the device {device}: {source}; CAP_NET_RAW is needed there")]
    Device { device: String, source: io::Error },
    #[error(
        "none of {packets} raw frames in a row arrived: does the far device have a filter (tc, XDP)?"
    )]
    NoFrames { packets: u64 },
    #[error(
        "{segments} segments of {bytes} bytes do not fit one send, which carries {LARGEST_BYTES} \
         bytes; {} of them would", LARGEST_BYTES / bytes.max(&1)
    )]
    LargeSend { segments: u16, bytes: usize },
    #[error(
        "{packets} packets of {bytes} bytes with one call do not fit the receiver's buffer, \
         which has room for {room}: ask for fewer, or raise net.core.rmem_max"
    )]
    NoRoom {
        packets: u64,
        bytes: usize,
        room: u64,
    },
    #[error("this kernel cuts no sends into packets (UDP_SEGMENT, Linux 4.18): {0}")]
    NoSegments(io::Error),
    #[error("this kernel merges no packets for a receiver (UDP_GRO, Linux 5.0): {0}")]
    NoMerging(io::Error),
    #[error(
        "this kernel does not take {segments} segments of {bytes} bytes in one send: Linux before \
         6.9 takes 64, and a segment with its headers must fit the MTU: {source}"
    )]
    Segments {
        segments: u16,
        bytes: usize,
        source: io::Error,
    },
    #[error("the UDP sockets: {0}")]
    Sockets(io::Error),
    #[error("CPU {cpu} for one end: {source}; `taskset -p $$` shows what is allowed")]
    Pin { cpu: usize, source: io::Error },
    #[error("sending: {0}")]
    Sending(io::Error),
    #[error("receiving: {0}")]
    Receiving(io::Error),
    #[error(
        "none of {packets} packets in a row arrived: does a firewall drop UDP, over loopback on \
         the device lo? `nft list ruleset` shows its rules"
    )]
    NoneCame { packets: u64 },
    #[error("a packet of {came} bytes arrived where {bytes} were sent")]
    WrongSize { came: usize, bytes: usize },
    #[error("between two machines packets are UDP and leave at a rate: give a rate")]
    NoClock,
    #[error(
        "the receiver at {server} did not answer, and no packet was sent: does a firewall drop UDP on the way?"
    )]
    NoAnswer { server: SocketAddr },
    #[error("packets go to one machine, and {server} is the address of none or of many")]
    NoMachine { server: SocketAddr },
    #[error(
        "the receiver at {server} fell silent while packets were sent to it, so sending was ended"
    )]
    Silent { server: SocketAddr },
    #[error(
        "the two ends report what cannot be true of the same packets; is it the same version of Linerate on both machines?"
    )]
    Absurd,
    #[error("one end has ended before the other; please report it")]
    Ended,
}
