//! A test of streams as its run folder describes it, and what is judged from it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::credit::{Credit, Plateau};
use crate::named::named;
use crate::run::{BlockRecord, RunRecord};

/// A saved test of streams. Its arms are the ways: up and down.
pub type SavedStreams = RunRecord<StreamTest, Way>;

/// The record of one interval of one way.
pub type StreamBlock = BlockRecord<StreamReading>;

/// What carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    Tcp,
    Udp,
    /// A Unix socket that carries a stream of bytes.
    Unix,
}

named! {
    /// The direction of the bytes: `up` is from the client to the server.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Way, "way" {
        Up = "up",
        Down = "down",
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Unix => "a socket among the files",
        })
    }
}

impl Carrier {
    /// Whether the client knows how much arrives: a sender of datagrams does not.
    pub fn is_known(self, way: Way) -> bool {
        (self, way) != (Self::Udp, Way::Up)
    }
}

/// A test of streams as it was asked for, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTest {
    /// Marks the run as a test of streams.
    pub workload: StreamKind,
    /// Where the server was: loopback, netns, or its address.
    pub target: String,
    /// What carried the bytes.
    pub carrier: Carrier,
    /// Streams each way, count.
    pub streams: u32,
    /// Length that was asked for, s; null where a number of bytes was asked for.
    pub asked_seconds: Option<f64>,
    /// How the test ended; null for one that was killed.
    pub ending: Option<StreamEnding>,
}

/// The mark that tells a test of streams from other runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StreamKind {
    /// Streams that carry as much as the path can.
    #[default]
    Stream,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEnding {
    /// What limited each way, in words.
    pub limits: Vec<String>,
    /// CPU time of both ends' workers per 10⁹ bytes received, s; null where nothing was received.
    pub cpu_seconds_per_gb: Option<f64>,
    /// What ended the test early; null where nothing did.
    pub broken: Option<String>,
}

/// What one interval of a way carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReading {
    /// Length of the interval, s.
    pub seconds: f64,
    /// What the client sent or received, bytes.
    pub bytes: u64,
    /// Segments that the client sent again, count; null for UDP, and down, where the server sends.
    pub retransmits: Option<u64>,
    /// Smoothed round trip at the end of the interval, the largest of its streams, µs; null for
    /// UDP.
    pub rtt_us: Option<u32>,
}

/// The results of a test of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamsJudged {
    /// The result of each way that was asked for.
    pub ways: Vec<StreamWayJudged>,
}

/// The result of one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWayJudged {
    /// From the client (up) or from the server (down).
    pub way: Way,
    /// How long the way was measured, s.
    pub seconds: f64,
    /// What the client sent or received in that time, bytes.
    pub bytes: u64,
    /// Segments that the client sent again, count; null for UDP, and down, where the server sends.
    pub retransmits: Option<u64>,
    /// Plateaus of the rate, in order of time; one where the rate does not change, none for
    /// datagrams up.
    pub plateaus: Vec<Plateau>,
    /// Credit that was spent; null where no plateau was followed by a lower one that stayed.
    pub credit: Option<Credit>,
}

impl StreamWayJudged {
    /// Returns the mean rate over the whole time, bit/s.
    pub fn bits_per_second(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds.max(1e-9)
    }
}
