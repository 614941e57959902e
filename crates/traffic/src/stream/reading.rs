//! Reads the connections of an end from outside while they run: what each did since the last
//! reading.

use std::os::fd::AsFd as _;

use sys::tcp_info::TcpInfo;

use super::flow::{Flow, FlowSocket};
use super::{IntervalOfStream, StreamInterval, TcpReading};

/// Most readings of streams that are stored: an hour of one stream read each second, and no more
/// than fits the message in which a server reports them.
pub(super) const MOST_KEPT: usize = 4_000;

/// One reading of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    bytes: u64,
    tcp: Option<TcpInfo>,
}

impl Moment {
    fn of(flow: &Flow) -> Self {
        let tcp = match &flow.socket {
            FlowSocket::Tcp(socket) => TcpInfo::of(socket.as_fd()).ok(),
            FlowSocket::Udp(_) => None,
        };
        let bytes = flow.count.bytes();
        Self { bytes, tcp }
    }
}

/// The readings of all streams of an end.
#[derive(Debug)]
pub(super) struct Readings {
    begun_ns: u64,
    last_ns: u64,
    first: Vec<Moment>,
    last: Vec<Moment>,
    pub(super) intervals: Vec<StreamInterval>,
}

impl Readings {
    pub(super) fn begin(flows: &[Flow], now_ns: u64) -> Self {
        let first: Vec<Moment> = flows.iter().map(Moment::of).collect();
        Self {
            begun_ns: now_ns,
            last_ns: now_ns,
            last: first.clone(),
            first,
            intervals: Vec::new(),
        }
    }

    /// Ends an interval and returns it; it is also stored as long as there is room.
    pub(super) fn read(&mut self, flows: &[Flow], now_ns: u64) -> StreamInterval {
        let moments: Vec<Moment> = flows.iter().map(Moment::of).collect();
        let streams = flows.iter().zip(self.last.iter().zip(&moments));
        let streams = streams.map(|(flow, (from, to))| IntervalOfStream {
            number: flow.id,
            way: flow.way,
            bytes: to.bytes - from.bytes,
            tcp: between(from, to),
        });
        let interval = StreamInterval {
            start_seconds: (self.last_ns - self.begun_ns) as f64 / 1e9,
            seconds: (now_ns - self.last_ns) as f64 / 1e9,
            streams: streams.collect(),
        };
        (self.last, self.last_ns) = (moments, now_ns);
        if (self.intervals.len() + 1) * flows.len() <= MOST_KEPT {
            self.intervals.push(interval.clone());
        }
        interval
    }

    /// The account of the stream at a place, from the start of the window to the last reading.
    pub(super) fn total(&self, place: usize) -> Option<TcpReading> {
        between(self.first.get(place)?, self.last.get(place)?)
    }
}

fn between(from: &Moment, to: &Moment) -> Option<TcpReading> {
    let (before, now) = (from.tcp.unwrap_or_default(), to.tcp?);
    let seconds = |before: u64, now: u64| now.saturating_sub(before) as f64 / 1e6;
    let count = |before: u32, now: u32| u64::from(now.wrapping_sub(before));
    Some(TcpReading {
        rtt_us: now.rtt_us,
        rtt_variation_us: now.rtt_variation_us,
        congestion_window_bytes: u64::from(now.window_segments) * u64::from(now.segment_bytes),
        peer_window_bytes: now.peer_window_bytes,
        path_mtu_bytes: now.path_mtu_bytes,
        delivery_bits_per_second: now.delivery_bytes_per_s.saturating_mul(8),
        retransmits: count(before.retransmits, now.retransmits),
        had_already: count(before.had_already, now.had_already),
        segments: count(before.segments_out, now.segments_out),
        busy_seconds: seconds(before.busy_us, now.busy_us),
        rwnd_limited_seconds: seconds(before.rwnd_limited_us, now.rwnd_limited_us),
        sndbuf_limited_seconds: seconds(before.sndbuf_limited_us, now.sndbuf_limited_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Way;
    use wire::iperf3::MOST_RESULT_BYTES;

    #[test]
    fn as_many_readings_as_are_kept_fit_the_message_of_results_whatever_is_in_them() {
        let third = 86_400.0 / 3.0 + 1e-9;
        let tcp = TcpReading {
            rtt_us: u32::MAX,
            rtt_variation_us: u32::MAX,
            congestion_window_bytes: u64::MAX,
            peer_window_bytes: u32::MAX,
            path_mtu_bytes: u32::MAX,
            delivery_bits_per_second: u64::MAX,
            retransmits: u64::MAX,
            had_already: u64::MAX,
            segments: u64::MAX,
            busy_seconds: third,
            rwnd_limited_seconds: third,
            sndbuf_limited_seconds: third,
        };
        let stream = IntervalOfStream {
            number: u32::MAX,
            way: Way::Down,
            bytes: u64::MAX,
            tcp: Some(tcp),
        };
        let interval = StreamInterval {
            start_seconds: third,
            seconds: third,
            streams: vec![stream],
        };
        let each = serde_json::to_vec(&interval).unwrap().len() + 1;
        let rest = 512 * 1024;
        assert!(
            each * MOST_KEPT + rest < MOST_RESULT_BYTES as usize,
            "{each}"
        );
    }
}
