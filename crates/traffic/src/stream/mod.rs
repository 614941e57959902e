//! As much as a path carries, from one end to the other: TCP or UDP, several streams on threads of their
//! own, one way or both ways at once. The ends agree by the control messages of iperf3, so either may be
//! iperf3 itself; what it does not know, ends of ours tell each other beside it.
//!
//! What a worker does is receive or send and count; the connections are read from outside, by the
//! thread that holds the line to the other end.

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

/// Where iperf3 listens.
pub const USUAL_PORT: u16 = 5201;

/// When a client ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamUntil {
    Time(Duration),
    /// So much was sent, of all streams of a way together.
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
        /// The same through a pipe: splice(2).
        Splice = "splice",
        /// From where they lie in our memory: `MSG_ZEROCOPY`.
        Zerocopy = "zerocopy",
    }
}

named! {
    /// How they are taken from it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum ReceiveBy, "way to receive" {
        /// Thrown away within the kernel: `MSG_TRUNC`. Of UDP it is a copy, as each datagram is looked at.
        #[default]
        Discard = "discard",
        /// Copied into a buffer: recv(2).
        Copy = "copy",
    }
}

/// What a client asks for and does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamPlan {
    pub carrier: Carrier,
    /// One of them or both.
    pub ways: Vec<Way>,
    /// Each way.
    pub streams: u32,
    pub until: StreamUntil,
    /// Of each write, or each datagram; `None` for what is usual, which of datagrams is what the path carries
    /// in one packet.
    pub write_bytes: Option<u32>,
    pub send: SendBy,
    pub receive: ReceiveBy,
    /// Of each stream, held by whoever sends; 0 for what is possible.
    pub rate_bits: u64,
    /// The same, held by the kernel.
    pub pace_bits: u64,
    pub congestion: Option<String>,
    pub segment_bytes: Option<u32>,
    pub type_of_service: u8,
    pub buffer_bytes: Option<u32>,
    /// Between two readings of the connections.
    pub interval: Duration,
    /// For how long small datagrams go to and fro before the streams, as they do beside them then; `None`
    /// without any.
    pub echo_before: Option<Duration>,
    /// The other end is iperf3: nothing is asked of it that it does not know.
    pub is_to_iperf3: bool,
}

impl StreamPlan {
    /// The rate that is asked for of each stream, whoever holds it; `None` for what is possible.
    pub fn asked_bits(&self) -> Option<u64> {
        let asked = [self.rate_bits, self.pace_bits].into_iter();
        asked.filter(|bits| *bits > 0).min()
    }
}
