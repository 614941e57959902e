//! What came of it.

use std::net::SocketAddr;

use model::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Way;

/// What came of streams, as the client knows it and the server told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Streamed {
    /// From when the streams began to when the client ended them.
    pub window_ns: u64,
    pub streams: Vec<StreamTotal>,
    /// Of what the client sent and received, interval by interval.
    pub intervals: Vec<StreamInterval>,
    /// The same of a server of ours; empty of iperf3.
    pub server_intervals: Vec<StreamInterval>,
    /// Of each stream that a server of ours sends, its account over all of the window; empty of iperf3.
    pub server_totals: Vec<(u32, TcpReading)>,
    pub client: EndCost,
    /// `None` of a server that went before it told.
    pub server: Option<EndCost>,
    /// Whether the server is one of ours, which tells more; `None` where it told nothing.
    pub is_ours: Option<bool>,
    /// Of each write, or each datagram.
    pub write_bytes: u64,
    /// Congestion controls of the client's connections and of the server's, by the kernel's names.
    pub congestion: [Option<String>; 2],
    pub echoes: Option<StreamEchoes>,
    /// What ended it before its time; the figures are those until then.
    pub broken: Option<String>,
}

/// Round trips of small datagrams.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StreamEchoes {
    pub idle: Histogram,
    pub loaded: Histogram,
    pub idle_sent: u64,
    pub loaded_sent: u64,
}

/// What an end took of its CPUs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EndCost {
    /// Of all its workers; of iperf3 of its process.
    pub cpu_ns: u64,
    /// Of that, in its own code and in the kernel, by the kernel's account.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Share of the window that its busiest worker had a CPU, 0 to 1; of iperf3 its process.
    pub busy_share: f64,
    /// Share of the window that this worker waited for a CPU that others had; of iperf3 it is not known.
    pub waiting_share: f64,
    /// The kernel's copies of what was sent in place, as a share of such sends; `None` without any.
    pub copied_share: Option<f64>,
}

/// Of one stream, over all of the window.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamTotal {
    /// As iperf3 numbers them: 1, 3, 4, 5 and so on.
    pub number: u32,
    /// From the client (up) or from the server (down).
    pub way: Way,
    /// What the sender gave to the kernel, bytes; of a server that is gone what came of it.
    pub sent_bytes: u64,
    /// What the receiver took, bytes; of a server that is gone what its kernel acknowledged.
    pub received_bytes: u64,
    /// Over which the receiver took it, by its own clock, s.
    pub received_seconds: f64,
    /// Segments that were sent again, count; null of UDP and where the sender does not know.
    pub retransmits: Option<u64>,
    /// Of the client's end of the connection, by the kernel's account; null of UDP.
    pub tcp: Option<TcpReading>,
    /// Null of TCP, and of what was sent to a server that is gone.
    pub datagrams: Option<StreamDatagrams>,
    /// The client's end and the server's; null where it is not known.
    pub addresses: Option<[SocketAddr; 2]>,
}

/// What became of the datagrams of a stream, by their numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamDatagrams {
    /// Sent, count.
    pub sent: u64,
    /// Sent and not received up to the end, count.
    pub lost: u64,
    /// Received after one that was sent later, or once more, count; null where the receiver does not tell.
    pub late: Option<u64>,
    /// How much the time on the way varies, by RFC 1889, ms.
    pub jitter_ms: f64,
}

/// A part of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamInterval {
    /// From the begin of the window, s.
    pub start_seconds: f64,
    /// Its length, s.
    pub seconds: f64,
    /// The streams of this end.
    pub streams: Vec<IntervalOfStream>,
}

impl StreamInterval {
    /// What the streams of a way sent or received at this end.
    pub fn bytes(&self, way: Way) -> u64 {
        let streams = self.streams.iter().filter(|one| one.way == way);
        streams.map(|one| one.bytes).sum()
    }
}

/// What one stream did in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalOfStream {
    /// As iperf3 numbers them.
    pub number: u32,
    /// From the client (up) or from the server (down).
    pub way: Way,
    /// What this end sent or received, bytes.
    pub bytes: u64,
    /// Of the connection at this end, by the kernel's account; null of UDP.
    pub tcp: Option<TcpReading>,
}

/// What the kernel tells of a connection (struct tcp_info): of a span of time, and as it was at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpReading {
    /// Smoothed round trip at the end of it, µs.
    pub rtt_us: u32,
    /// How far it varies then, µs.
    pub rtt_variation_us: u32,
    /// Congestion window then, bytes.
    pub congestion_window_bytes: u64,
    /// The other end's receive window then, bytes; 0 of kernels that do not tell.
    pub peer_window_bytes: u32,
    /// Largest packet that the path is thought to carry, bytes.
    pub path_mtu_bytes: u32,
    /// Rate at which the kernel last saw data delivered, bit/s.
    pub delivery_bits_per_second: u64,
    /// Segments sent again within it, count.
    pub retransmits: u64,
    /// Segments that the other end said within it that it had already, count: they were overtaken and not lost; 0 of
    /// kernels that do not tell (DSACK).
    #[serde(default)]
    pub had_already: u64,
    /// Segments with payload sent within it, count.
    pub segments: u64,
    /// There was something to send or to be acknowledged, s.
    pub busy_seconds: f64,
    /// Of that, the receiver's window let no more be sent, s.
    pub rwnd_limited_seconds: f64,
    /// Of that, the sender's own buffer held no more, s.
    pub sndbuf_limited_seconds: f64,
}

/// What an end of ours tells another beside what iperf3 tells.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OwnResult {
    pub(super) cost: EndCost,
    pub(super) intervals: Vec<StreamInterval>,
    /// Of each stream that this end sends: its number, and its account over all of the window.
    pub(super) totals: Vec<(u32, TcpReading)>,
    /// Of each stream that this end receives: its number, and datagrams that came late.
    pub(super) late: Vec<(u32, u64)>,
}
