//! What came of streams in the shape of `iperf3 -J`, for programs that read that.

use serde_json::{Value, json};
use sys::clock;
use traffic::stream::{Carrier, IntervalOfStream, StreamPlan, StreamTotal, StreamUntil, Way};

use super::shape::{StreamWay, Streams};

/// The whole value, in the order that iperf3 has.
pub(super) fn of(plan: &StreamPlan, streams: &Streams) -> Value {
    let is_udp = plan.carrier == Carrier::Udp;
    let ways = streams.ways.iter().map(|way| (way, names(way.way, plan)));
    let mut end = json!({ "streams": streams.streams.iter().map(|one| end_of(one, streams)).collect::<Vec<_>>() });
    for (way, [sent, received]) in ways {
        end[sent] = sum(way, way.sent_bytes, streams, is_udp);
        end[received] = sum(way, way.received_bytes, streams, is_udp);
        if is_udp && way.way == plan.ways[0] {
            end["sum"] = end[received].clone();
        }
    }
    let [host, remote] = streams.percents();
    end["cpu_utilization_percent"] = json!({
        "host_total": host, "host_user": 0.0, "host_system": host,
        "remote_total": remote, "remote_user": 0.0, "remote_system": remote,
    });
    if !is_udp {
        end["sender_tcp_congestion"] = streams.congestion_of(plan.ways[0]).into();
        end["receiver_tcp_congestion"] = streams.congestion_of(other(plan.ways[0])).into();
    }
    json!({
        "start": start(plan, streams),
        "intervals": streams.intervals.iter().map(|interval| {
            let (from, seconds) = (interval.start_seconds, interval.seconds);
            let of_stream = |one: &IntervalOfStream| interval_of(one, from, seconds, is_udp);
            let bytes = |way: Way| {
                let of_way = interval.streams.iter().filter(|one| one.way == way);
                of_way.map(|one| one.bytes).sum::<u64>()
            };
            let mut value = json!({ "streams": interval.streams.iter().map(of_stream).collect::<Vec<_>>() });
            for (at, way) in plan.ways.iter().enumerate() {
                let name = if at == 0 { "sum" } else { "sum_bidir_reverse" };
                value[name] = span(from, seconds, bytes(*way), *way == Way::Up);
            }
            value
        }).collect::<Vec<_>>(),
        "end": end,
    })
}

fn start(plan: &StreamPlan, streams: &Streams) -> Value {
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
    let since_1970_ns = clock::wall_ns();
    json!({
        "connected": connected.collect::<Vec<_>>(),
        "version": format!("linerate {}", crate::shape::VERSION),
        "timestamp": { "timesecs": since_1970_ns / 1_000_000_000 },
        "connecting_to": {
            "host": streams.server_address.ip().to_string(), "port": streams.server_address.port(),
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

/// Bytes of a span of time.
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

fn interval_of(one: &IntervalOfStream, start: f64, seconds: f64, is_udp: bool) -> Value {
    let is_sender = one.way == Way::Up;
    let mut value = span(start, seconds, one.bytes, is_sender);
    value["socket"] = one.number.into();
    if let (Some(tcp), true, false) = (one.tcp, is_sender, is_udp) {
        value["retransmits"] = tcp.retransmits.into();
        value["snd_cwnd"] = tcp.congestion_window_bytes.into();
        value["snd_wnd"] = tcp.peer_window_bytes.into();
        value["rtt"] = tcp.rtt_us.into();
        value["rttvar"] = tcp.rtt_variation_us.into();
        value["pmtu"] = tcp.path_mtu_bytes.into();
    }
    value
}

fn end_of(one: &StreamTotal, streams: &Streams) -> Value {
    let is_sender = one.way == Way::Up;
    let of = |bytes: u64| {
        let mut value = span(0.0, streams.window_seconds, bytes, is_sender);
        value["socket"] = one.number.into();
        value
    };
    if let Some(datagrams) = one.datagrams {
        let mut value = of(if is_sender {
            one.sent_bytes
        } else {
            one.received_bytes
        });
        value["jitter_ms"] = datagrams.jitter_ms.into();
        value["lost_packets"] = datagrams.lost.into();
        value["packets"] = datagrams.sent.into();
        value["lost_percent"] =
            (datagrams.lost as f64 / datagrams.sent.max(1) as f64 * 100.0).into();
        value["out_of_order"] = datagrams.late.unwrap_or(0).into();
        return json!({ "udp": value });
    }
    let (mut sender, receiver) = (of(one.sent_bytes), of(one.received_bytes));
    sender["retransmits"] = one.retransmits.unwrap_or(0).into();
    if let Some(tcp) = one.tcp.filter(|_| is_sender) {
        sender["mean_rtt"] = tcp.rtt_us.into();
    }
    json!({ "sender": sender, "receiver": receiver })
}

fn sum(way: &StreamWay, bytes: u64, streams: &Streams, is_udp: bool) -> Value {
    let mut value = span(0.0, streams.window_seconds, bytes, way.way == Way::Up);
    if !is_udp {
        value["retransmits"] = way.retransmits.unwrap_or(0).into();
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

fn other(way: Way) -> Way {
    match way {
        Way::Up => Way::Down,
        Way::Down => Way::Up,
    }
}

/// The second way of two has names of its own.
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
