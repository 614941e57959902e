//! The results of a test of streams.

use std::net::SocketAddr;

use model::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Way;

/// The result of a test, from what the client counted and what the server reported.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Streamed {
    /// Time from the start of the streams to when the client ended them, ns.
    pub window_ns: u64,
    pub streams: Vec<StreamTotal>,
    /// What the client sent and received, interval by interval.
    pub intervals: Vec<StreamInterval>,
    /// What a server of ours sent and received, interval by interval; empty for iperf3.
    pub server_intervals: Vec<StreamInterval>,
    /// The kernel's account of each stream that a server of ours sends, over the whole window;
    /// empty for iperf3.
    pub server_totals: Vec<(u32, TcpReading)>,
    pub client: EndCost,
    /// `None` if the server went before it reported.
    pub server: Option<EndCost>,
    /// Whether the server is one of ours, which reports more; `None` where that is not known.
    pub is_ours: Option<bool>,
    /// Bytes of each write, or of each datagram.
    pub write_bytes: u64,
    /// Congestion controls of the client's connections and of the server's, by the kernel's names.
    pub congestion: [Option<String>; 2],
    pub echoes: Option<StreamEchoes>,
    /// What ended the test early; the figures go up to that moment.
    pub broken: Option<String>,
}

/// Round trips of small datagrams: idle, before the streams, and loaded, beside them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StreamEchoes {
    pub idle: Histogram,
    pub loaded: Histogram,
    pub idle_sent: u64,
    pub loaded_sent: u64,
}

/// CPU time that an end used.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EndCost {
    /// CPU time of all its workers; for iperf3, of its process.
    pub cpu_ns: u64,
    /// Part of it in its own code, by the kernel's account; `system_ns` is the part in the kernel.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Share of the window in which its busiest worker had a CPU, 0 to 1; for iperf3, its process.
    pub busy_share: f64,
    /// Share of the window in which this worker waited for a CPU that others had; not known for
    /// iperf3.
    pub waiting_share: f64,
    /// Share of the sends in place that the kernel copied after all, 0 to 1; `None` if there were
    /// none.
    pub copied_share: Option<f64>,
}

/// Totals of one stream over the whole window.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamTotal {
    /// Number that iperf3 gives the stream: 1, 3, 4, 5 and so on.
    pub number: u32,
    /// Direction: from the client (up) or from the server (down).
    pub way: Way,
    /// Bytes that the sender gave to the kernel; from a server that is gone, those that arrived.
    pub sent_bytes: u64,
    /// Bytes that the receiver read; at a server that is gone, those that its kernel acknowledged.
    pub received_bytes: u64,
    /// Time over which the receiver read them, by its own clock, s.
    pub received_seconds: f64,
    /// Segments sent again, count; null for UDP and where the sender does not know.
    pub retransmits: Option<u64>,
    /// The client's end of the connection, by the kernel's account; null for UDP.
    pub tcp: Option<TcpReading>,
    /// What became of the datagrams; null for TCP, and for a stream to a server that is gone.
    pub datagrams: Option<StreamDatagrams>,
    /// Addresses of the client's end and of the server's; null where they are not known.
    pub addresses: Option<[SocketAddr; 2]>,
}

/// What became of the datagrams of a stream, by their numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamDatagrams {
    /// Datagrams sent, count.
    pub sent: u64,
    /// Datagrams sent and not received up to the end, count.
    pub lost: u64,
    /// Datagrams received after one that was sent later, or received twice, count; null where the
    /// receiver does not report it.
    pub late: Option<u64>,
    /// Variation of the time on the way (jitter), by RFC 1889, ms.
    pub jitter_ms: f64,
}

/// One interval of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamInterval {
    /// Start of the interval, from the start of the window, s.
    pub start_seconds: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    /// The streams, as this end counts them.
    pub streams: Vec<IntervalOfStream>,
}

impl StreamInterval {
    /// Bytes that the streams of a way sent or received at this end.
    pub fn bytes(&self, way: Way) -> u64 {
        let streams = self.streams.iter().filter(|one| one.way == way);
        streams.map(|one| one.bytes).sum()
    }
}

/// What one stream did in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalOfStream {
    /// Number that iperf3 gives the stream.
    pub number: u32,
    /// Direction: from the client (up) or from the server (down).
    pub way: Way,
    /// Bytes that this end sent or received.
    pub bytes: u64,
    /// The connection at this end, by the kernel's account; null for UDP.
    pub tcp: Option<TcpReading>,
}

/// The kernel's account of a connection (struct tcp_info): counts over a span of time, and the
/// state at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpReading {
    /// Smoothed round-trip time at the end of the span, µs.
    pub rtt_us: u32,
    /// Variation of the round-trip time at the end of the span, µs.
    pub rtt_variation_us: u32,
    /// Congestion window at the end of the span, bytes.
    pub congestion_window_bytes: u64,
    /// The other end's receive window at the end of the span, bytes; 0 on kernels that do not
    /// report it.
    pub peer_window_bytes: u32,
    /// Largest packet that the path is thought to carry, bytes.
    pub path_mtu_bytes: u32,
    /// Rate at which the kernel last saw data delivered, bit/s.
    pub delivery_bits_per_second: u64,
    /// Segments sent again within the span, count.
    pub retransmits: u64,
    /// Segments that the other end reported within the span as received already (DSACK), count:
    /// they were overtaken and not lost; 0 on kernels that do not report it.
    #[serde(default)]
    pub had_already: u64,
    /// Segments with payload sent within the span, count.
    pub segments: u64,
    /// Time in which there was something to send or to be acknowledged, s.
    pub busy_seconds: f64,
    /// Part of that time in which the receiver's window let no more be sent, s.
    pub rwnd_limited_seconds: f64,
    /// Part of that time in which the size of the sender's own buffer let no more be sent, s.
    pub sndbuf_limited_seconds: f64,
}

/// What an end of ours reports to another beside iperf3's results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OwnResult {
    pub(super) cost: EndCost,
    pub(super) intervals: Vec<StreamInterval>,
    /// For each stream that this end sends: its number, and the kernel's account over the whole
    /// window.
    pub(super) totals: Vec<(u32, TcpReading)>,
    /// For each stream that this end receives: its number, and the datagrams that came late.
    pub(super) late: Vec<(u32, u64)>,
}
