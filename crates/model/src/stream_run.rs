//! A test of streams as its run folder describes it, and what is judged of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::credit::{Credit, Plateau};
use crate::named::named;
use crate::run::{BlockRecord, RunRecord};

/// A test of streams. Its arms are the ways.
pub type SavedStreams = RunRecord<StreamTest, Way>;

/// One interval of one way.
pub type StreamBlock = BlockRecord<StreamReading>;

/// What carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    Tcp,
    Udp,
    /// A socket among the files, of bytes.
    Unix,
}

named! {
    /// From where to where it goes: `up` is from the client to the server.
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
    /// Whether the client knows what arrives: who sends datagrams does not.
    pub fn is_known(self, way: Way) -> bool {
        (self, way) != (Self::Udp, Way::Up)
    }
}

/// What was asked for, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTest {
    /// That it is a test of streams.
    pub workload: StreamKind,
    /// Where the server was: loopback, netns, or its address.
    pub target: String,
    /// What carried the bytes.
    pub carrier: Carrier,
    /// Streams each way, count.
    pub streams: u32,
    /// How long it was to take, s; null where bytes were counted.
    pub asked_seconds: Option<f64>,
    /// How it ended; null of one that was killed.
    pub ending: Option<StreamEnding>,
}

/// What tells streams from other runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StreamKind {
    /// As much as a path carries.
    #[default]
    Stream,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEnding {
    /// What the limit of each way was, in words.
    pub limits: Vec<String>,
    /// CPU time of both ends' workers per 10⁹ bytes received, s; null where nothing was.
    pub cpu_seconds_per_gb: Option<f64>,
    /// What ended it before its time; null where nothing did.
    pub broken: Option<String>,
}

/// What one interval of a way carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReading {
    /// Its length, s.
    pub seconds: f64,
    /// What the client sent or received, bytes.
    pub bytes: u64,
    /// Segments that it sent again, count; null of UDP, and down, where the server sends.
    pub retransmits: Option<u64>,
    /// Smoothed round trip at the end, the largest of its streams, µs; null of UDP.
    pub rtt_us: Option<u32>,
}

/// What a test of streams came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamsJudged {
    /// Each way that was asked for.
    pub ways: Vec<StreamWayJudged>,
}

/// What came of one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWayJudged {
    /// From the client (up) or from the server (down).
    pub way: Way,
    /// For how long it was measured, s.
    pub seconds: f64,
    /// What the client sent or received meanwhile, bytes.
    pub bytes: u64,
    /// Segments that it sent again, count; null of UDP, and down, where the server sends.
    pub retransmits: Option<u64>,
    /// Plateaus of the rate, one after another; one where nothing changes, none of datagrams up.
    pub plateaus: Vec<Plateau>,
    /// Credit that was spent; null where no plateau gave way to a lower one that stayed.
    pub credit: Option<Credit>,
}

impl StreamWayJudged {
    /// Over all of the time, bit/s.
    pub fn bits_per_second(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds.max(1e-9)
    }
}
