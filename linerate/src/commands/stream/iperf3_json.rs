//! The result of a test of streams in the format of `iperf3 -J`, for programs that read that.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sys::address::Address;
use traffic::stream::{
    Carrier, IntervalOfStream, StreamInterval, StreamPlan, StreamTotal, StreamUntil, Way,
};

use super::shape::{StreamWay, Streams};

/// Returns the whole value, its keys in the order of iperf3.
pub(super) fn of(plan: &StreamPlan, streams: &Streams, begun_ns: u64) -> Value {
    let is_udp = plan.carrier == Carrier::Udp;
    let ways = streams.ways.iter().map(|way| (way, names(way.way, plan)));
    let mut end = json!({ "streams": streams.streams.iter().map(|one| end_of(one, streams)).collect::<Vec<_>>() });
    for (way, [sent, received]) in ways {
        let seconds = [streams.window_seconds, way.received_seconds];
        end[sent] = sum(way, seconds[0], way.sent_bytes, streams, is_udp);
        end[received] = sum(way, seconds[1], way.received_bytes, streams, is_udp);
        if is_udp {
            // `sum` has what was sent together with the losses, which `sum_sent` does not have.
            if way.way == plan.ways[0] {
                end["sum"] = end[sent].clone();
            }
            tell_ends_apart(&mut end, [sent, received]);
        }
    }
    let percents = |cpu: Option<[f64; 3]>| [0, 1, 2].map(|at| cpu.map(|cpu| cpu[at]));
    let [host, remote] = streams.cpu_percents.map(percents);
    end["cpu_utilization_percent"] = json!({
        "host_total": host[0], "host_user": host[1], "host_system": host[2],
        "remote_total": remote[0], "remote_user": remote[1], "remote_system": remote[2],
    });
    if !is_udp {
        end["sender_tcp_congestion"] = streams.congestion_of(plan.ways[0]).into();
        end["receiver_tcp_congestion"] = streams.congestion_of(other(plan.ways[0])).into();
    }
    let datagram_bytes = is_udp.then_some(streams.write_bytes.max(1));
    let mut said = json!({
        "start": start(plan, streams, begun_ns),
        "intervals": streams.intervals.iter().map(|interval| {
            let (from, seconds) = (interval.start_seconds, interval.seconds);
            let of_stream = |one: &IntervalOfStream| interval_of(one, from, seconds, datagram_bytes);
            let mut value = json!({ "streams": interval.streams.iter().map(of_stream).collect::<Vec<_>>() });
            for (at, way) in plan.ways.iter().enumerate() {
                let name = if at == 0 { "sum" } else { "sum_bidir_reverse" };
                value[name] = sum_of_interval(interval, *way, datagram_bytes);
            }
            value
        }).collect::<Vec<_>>(),
        "end": end,
    });
    if let Some(broken) = &streams.broken {
        said["error"] = broken.as_str().into();
    }
    said
}

fn start(plan: &StreamPlan, streams: &Streams, begun_ns: u64) -> Value {
    let connected = streams.streams.iter().filter_map(|one| {
        let [local, remote] = one.addresses?;
        Some(json!({
            "socket": one.number,
            "local_host": local.ip().to_string(), "local_port": local.port(),
            "remote_host": remote.ip().to_string(), "remote_port": remote.port(),
        }))
    });
    let (duration, bytes) = match plan.until {
        StreamUntil::Time(time) => (time.as_secs_f64().ceil(), 0),
        StreamUntil::Bytes(bytes) => (0.0, bytes),
    };
    json!({
        "connected": connected.collect::<Vec<_>>(),
        "version": format!("linerate {}", crate::shape::VERSION),
        "timestamp": {
            "time": httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_nanos(begun_ns)),
            "timesecs": begun_ns / 1_000_000_000,
        },
        "connecting_to": match &streams.server_at {
            Address::Tcp(server) => json!({ "host": server.ip().to_string(), "port": server.port() }),
            Address::Unix(_) => json!(null),
        },
        "target_bitrate": plan.rate_bits,
        "sock_bufsize": plan.buffer_bytes.unwrap_or(0),
        "test_start": {
            "protocol": if plan.carrier == Carrier::Udp { "UDP" } else { "TCP" },
            "num_streams": plan.streams,
            "blksize": streams.write_bytes,
            "omit": 0,
            "duration": duration,
            "bytes": bytes,
            "blocks": 0,
            "reverse": u8::from(plan.ways == [Way::Down]),
            "bidir": u8::from(plan.ways.len() > 1),
            "tos": plan.type_of_service,
            "target_bitrate": plan.rate_bits,
        },
    })
}

/// Returns the value for the bytes of a span of time.
fn span(start: f64, seconds: f64, bytes: u64, is_sender: bool) -> Value {
    json!({
        "start": start,
        "end": start + seconds,
        "seconds": seconds,
        "bytes": bytes,
        "bits_per_second": bytes as f64 * 8.0 / seconds.max(1e-9),
        "omitted": false,
        "sender": is_sender,
    })
}

/// Returns the value for an interval of a stream. Datagrams that we send are counted by their
/// bytes; those that the other end sends are reported only at the end.
fn interval_of(
    one: &IntervalOfStream,
    start: f64,
    seconds: f64,
    datagram_bytes: Option<u64>,
) -> Value {
    let is_sender = one.way == Way::Up;
    let mut value = span(start, seconds, one.bytes, is_sender);
    value["socket"] = one.number.into();
    if let (Some(each), true) = (datagram_bytes, is_sender) {
        value["packets"] = one.bytes.div_ceil(each).into();
    }
    if let (Some(tcp), true, None) = (one.tcp, is_sender, datagram_bytes) {
        value["retransmits"] = tcp.retransmits.into();
        value["snd_cwnd"] = tcp.congestion_window_bytes.into();
        value["snd_wnd"] = tcp.peer_window_bytes.into();
        value["rtt"] = tcp.rtt_us.into();
        value["rttvar"] = tcp.rtt_variation_us.into();
        value["pmtu"] = tcp.path_mtu_bytes.into();
    }
    value
}

/// Returns the value for an interval of all streams of a way together.
fn sum_of_interval(interval: &StreamInterval, way: Way, datagram_bytes: Option<u64>) -> Value {
    let (start, seconds, bytes) = (
        interval.start_seconds,
        interval.seconds,
        interval.bytes(way),
    );
    let is_sender = way == Way::Up;
    let mut value = span(start, seconds, bytes, is_sender);
    let of_way = || interval.streams.iter().filter(|one| one.way == way);
    let again: Option<u64> = of_way().map(|one| one.tcp.map(|tcp| tcp.retransmits)).sum();
    match (datagram_bytes, again, is_sender) {
        (Some(each), _, true) => {
            let packets: u64 = of_way().map(|one| one.bytes.div_ceil(each)).sum();
            value["packets"] = packets.into();
        }
        (None, Some(again), true) => value["retransmits"] = again.into(),
        _ => {}
    }
    value
}

fn end_of(one: &StreamTotal, streams: &Streams) -> Value {
    let is_sender = one.way == Way::Up;
    let of = |seconds: f64, bytes: u64| {
        let mut value = span(0.0, seconds, bytes, is_sender);
        value["socket"] = one.number.into();
        value
    };
    if let Some(datagrams) = one.datagrams {
        let bytes = match is_sender {
            true => one.sent_bytes,
            false => one.received_bytes,
        };
        let mut value = of(streams.window_seconds, bytes);
        value["jitter_ms"] = datagrams.jitter_ms.into();
        value["lost_packets"] = datagrams.lost.into();
        value["packets"] = datagrams.sent.into();
        value["lost_percent"] =
            (datagrams.lost as f64 / datagrams.sent.max(1) as f64 * 100.0).into();
        if let Some(late) = datagrams.late {
            value["out_of_order"] = late.into();
        }
        return json!({ "udp": value });
    }
    let mut sender = of(streams.window_seconds, one.sent_bytes);
    let receiver = of(one.received_seconds, one.received_bytes);
    if let Some(again) = one.retransmits {
        sender["retransmits"] = again.into();
    }
    if is_sender {
        add_readings(&mut sender, one.number, streams);
    }
    json!({ "sender": sender, "receiver": receiver })
}

/// Adds the extremes and the mean over the intervals of a stream, as iperf3 does.
fn add_readings(value: &mut Value, number: u32, streams: &Streams) {
    let intervals = streams.intervals.iter().flat_map(|one| &one.streams);
    let readings = intervals.filter(|one| one.number == number);
    let readings: Vec<_> = readings.filter_map(|one| one.tcp).collect();
    let rtts = || readings.iter().map(|tcp| u64::from(tcp.rtt_us));
    let windows = readings.iter().map(|tcp| tcp.congestion_window_bytes);
    if let (Some(least), Some(most), Some(window)) = (rtts().min(), rtts().max(), windows.max()) {
        value["max_snd_cwnd"] = window.into();
        value["max_rtt"] = most.into();
        value["min_rtt"] = least.into();
        value["mean_rtt"] = (rtts().sum::<u64>() / readings.len() as u64).into();
    }
}

fn sum(way: &StreamWay, seconds: f64, bytes: u64, streams: &Streams, is_udp: bool) -> Value {
    let mut value = span(0.0, seconds, bytes, way.way == Way::Up);
    if !is_udp {
        if let Some(again) = way.retransmits {
            value["retransmits"] = again.into();
        }
        return value;
    }
    let of_way = || {
        let of_way = streams.streams.iter().filter(|one| one.way == way.way);
        of_way.filter_map(|one| one.datagrams)
    };
    let [sent, lost] = of_way().fold([0_u64, 0], |[sent, lost], one| {
        [sent.saturating_add(one.sent), lost.saturating_add(one.lost)]
    });
    value["packets"] = sent.into();
    value["lost_packets"] = lost.into();
    value["lost_percent"] = (lost as f64 / sent.max(1) as f64 * 100.0).into();
    value["jitter_ms"] =
        (of_way().map(|one| one.jitter_ms).sum::<f64>() / of_way().count().max(1) as f64).into();
    value
}

/// Marks the sums of sender and receiver, whichever end this one is. A sender knows of no losses.
fn tell_ends_apart(end: &mut Value, [sent, received]: [&str; 2]) {
    end[sent]["sender"] = true.into();
    end[received]["sender"] = false.into();
    for unknown in ["lost_packets", "lost_percent", "jitter_ms"] {
        end[sent][unknown] = 0.into();
    }
}

fn other(way: Way) -> Way {
    match way {
        Way::Up => Way::Down,
        Way::Down => Way::Up,
    }
}

/// Returns the keys of the sums of a way; the second of two ways has keys of its own.
fn names(way: Way, plan: &StreamPlan) -> [&'static str; 2] {
    match way == plan.ways[0] {
        true => ["sum_sent", "sum_received"],
        false => ["sum_sent_bidir_reverse", "sum_received_bidir_reverse"],
    }
}

impl Streams {
    /// The congestion control of the end that sends a way.
    fn congestion_of(&self, way: Way) -> Option<&str> {
        match way {
            Way::Up => self.client_congestion.as_deref(),
            Way::Down => self.server_congestion.as_deref(),
        }
    }
}
