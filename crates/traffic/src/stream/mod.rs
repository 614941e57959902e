//! Measures how much a path carries from one end to the other: TCP or UDP, several streams on
//! threads of their own, one way or both ways at once. The ends agree by the control messages of
//! iperf3, so either may be iperf3 itself. What iperf3 does not know, ends of ours tell each other
//! beside it.
//!
//! A worker only receives or sends, and counts. The connections are read from outside, by the
//! thread that holds the control line to the other end.

mod account;
mod asking;
mod carrying;
mod client;
mod control;
mod datagrams;
mod door;
mod echo;
mod ending;
mod entrance;
mod error;
mod flow;
mod manner;
mod outcome;
mod reading;
mod room;
mod server;
mod serving;
mod session;

use std::time::Duration;

use model::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use client::run;
pub use error::StreamError;
pub use model::stream_run::{Carrier, Way};
pub use outcome::{
    EndCost, IntervalOfStream, StreamDatagrams, StreamEchoes, StreamInterval, StreamTotal,
    Streamed, TcpReading,
};
pub use server::{StreamServed, StreamServer, StreamServing};

/// The port on which iperf3 listens.
pub const USUAL_PORT: u16 = 5201;

/// When a client ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamUntil {
    Time(Duration),
    /// After this many bytes, of all streams of a way together.
    Bytes(u64),
}

named! {
    /// How bytes are given to the kernel.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum SendBy, "way to send" {
        /// Copied out of a buffer: send(2).
        #[default]
        Copy = "copy",
        /// Pages of a file in memory: sendfile(2).
        Sendfile = "sendfile",
        /// Pages of a file in memory, through a pipe: splice(2).
        Splice = "splice",
        /// In place, from our own memory: `MSG_ZEROCOPY`.
        Zerocopy = "zerocopy",
    }
}

named! {
    /// How bytes are received from the kernel.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum ReceiveBy, "way to receive" {
        /// Discarded within the kernel: `MSG_TRUNC`. With UDP it is a copy, as each datagram is
        /// looked at.
        #[default]
        Discard = "discard",
        /// Copied into a buffer: recv(2).
        Copy = "copy",
    }
}

/// A test as a client asks for it and runs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamPlan {
    pub carrier: Carrier,
    /// One direction or both.
    pub ways: Vec<Way>,
    /// Number of streams each way.
    pub streams: u32,
    pub until: StreamUntil,
    /// Bytes of each write, or of each datagram; `None` for the default, which for datagrams is
    /// what the path carries in one packet.
    pub write_bytes: Option<u32>,
    pub send: SendBy,
    pub receive: ReceiveBy,
    /// Rate of each stream, held by the sending end, bit/s; 0 for as fast as possible.
    pub rate_bits: u64,
    /// Rate of each stream, held by the kernel, bit/s; 0 for as fast as possible.
    pub pace_bits: u64,
    pub congestion: Option<String>,
    pub segment_bytes: Option<u32>,
    pub type_of_service: u8,
    pub buffer_bytes: Option<u32>,
    /// Time between two readings of the connections.
    pub interval: Duration,
    /// How long small datagrams go to and fro before the streams; they also go beside the streams.
    /// `None` for no such datagrams.
    pub echo_before: Option<Duration>,
    /// The other end is iperf3: it is asked for nothing that it does not know.
    pub is_to_iperf3: bool,
}

impl StreamPlan {
    /// The rate asked for of each stream, bit/s, whether the sender or the kernel holds it; `None`
    /// for as fast as possible.
    pub fn asked_bits(&self) -> Option<u64> {
        let asked = [self.rate_bits, self.pace_bits].into_iter();
        asked.filter(|bits| *bits > 0).min()
    }
}
