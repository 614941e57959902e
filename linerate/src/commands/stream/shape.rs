//! The result of a test of streams, as it is printed.

use judge::stream::{EXCEEDED_SHARE, EndSigns, StreamSigns, fairness, limit};
use model::Doubt;
use model::credit::{Credit, Plateau};
use model::doubt::{WordedDoubt, worded};
use model::reading::{MachineCpu, MachinePerUnit};
use model::rig::RigKind;
use schemars::JsonSchema;
use serde::Serialize;
use sys::address::Address;
use traffic::stream::{
    Carrier, EndCost, ReceiveBy, SendBy, StreamEchoes, StreamInterval, StreamPlan, StreamTotal,
    Streamed, TcpReading, Way,
};

use super::rates::WayRates;
use crate::commands::quantiles::Quantiles;
use crate::commands::whole_machine;
use crate::shape;

/// Streams of bytes from one end to another, and what the limit was.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Streams {
    /// Version of the program.
    linerate_version: &'static str,
    /// What carried the bytes.
    carrier: Carrier,
    /// Where both ends were: loopback, netns, hosts (over SSH), or host for a server that already
    /// ran.
    #[schemars(extend("enum" = ["loopback", "netns", "hosts", "host"]))]
    place: &'static str,
    /// Where the server listened: an address and a port, or unix: and a path.
    server_address: String,
    #[serde(skip)]
    pub(super) server_at: Address,
    /// Program of the server; null if it left before it said so.
    #[schemars(extend("enum" = ["linerate", "iperf3", null]))]
    server_program: Option<&'static str>,
    /// Streams each way.
    streams_each_way: u32,
    /// Length of the window, s.
    pub(super) window_seconds: f64,
    /// Bytes of each write, or payload of each datagram.
    pub(super) write_bytes: u64,
    /// How our ends gave bytes to the kernel; iperf3 copies unless -Z.
    send: SendBy,
    /// How our ends received them; iperf3 copies.
    receive: ReceiveBy,
    /// Rate asked for each stream, bit/s; null for as much as possible.
    asked_bits_per_second: Option<u64>,
    /// Congestion control of the client's connections; null for UDP.
    pub(super) client_congestion: Option<String>,
    /// Congestion control of the server's connections, as the server reports it.
    pub(super) server_congestion: Option<String>,
    /// Each way that was asked for.
    pub(super) ways: Vec<StreamWay>,
    /// The client's end.
    client: StreamEnd,
    /// The server's end; for iperf3 its process, as it reports it. Its figures are null if it left
    /// before it reported them.
    server: StreamEnd,
    /// CPU time of both ends' workers per 10⁹ bytes received, s; null if nothing was received or
    /// the server's time is not known.
    pub(super) cpu_seconds_per_gb: Option<f64>,
    /// CPU time of all CPUs of this machine per 10⁹ bytes received, s; null where it is hidden, and
    /// where an end is elsewhere.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// Round trips of small datagrams before and beside the streams; null if not asked for.
    latency: Option<StreamLatency>,
    /// Each stream over the whole window.
    pub(super) streams: Vec<StreamTotal>,
    /// The client's readings, interval by interval; in the longest runs they stop before the end.
    pub(super) intervals: Vec<StreamInterval>,
    /// The server's readings, interval by interval; empty for iperf3.
    server_intervals: Vec<StreamInterval>,
    /// Whether it ended because credit and base rate were known; null if that was not asked for.
    ended_sure: Option<bool>,
    /// What ended the test early, in which case the figures are those until then; null if nothing
    /// did.
    pub(super) broken: Option<String>,
    /// CPU time of the client's workers and of the server as shares of the window, %: in all, in
    /// their own code, in the kernel; `None` where the server's is not known.
    #[serde(skip)]
    pub(super) cpu_percents: [Option<[f64; 3]>; 2],
    /// What makes the figures doubtful.
    doubts: Vec<WordedDoubt>,
}

/// All streams of one way together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StreamWay {
    /// From the client (up) or from the server (down).
    pub(super) way: Way,
    /// Rate received, Gbit/s.
    throughput_gbit_per_second: f64,
    /// Bytes that the senders gave to the kernel.
    pub(super) sent_bytes: u64,
    /// Bytes that the receivers received.
    pub(super) received_bytes: u64,
    /// Time over which they received them, by their own clock, s.
    pub(super) received_seconds: f64,
    /// Segments that were sent again, count; null for UDP.
    pub(super) retransmits: Option<u64>,
    /// Datagrams that were lost, as a share of those sent, 0 to 1; null for TCP, and where a server
    /// is gone.
    lost_share: Option<f64>,
    /// Datagrams received, a second; null where `lost_share` is.
    datagrams_per_second: Option<f64>,
    /// Datagrams received after one that was sent later, or received twice, count; null where
    /// `lost_share` is, and where a receiver does not report it.
    late: Option<u64>,
    /// Jitter of the time on the way, by RFC 1889, the mean of its streams, ms; null where
    /// `lost_share` is.
    jitter_ms: Option<f64>,
    /// How evenly its streams shared the rate, by Jain's index: 1 if all had the same.
    fairness: Option<f64>,
    /// Smoothed round-trip time at the end, the largest of its streams, µs; null where the sender
    /// does not report it.
    rtt_us: Option<u32>,
    /// Plateaus of the rate at the client's end, one after another: one if nothing changes, none
    /// for datagrams up.
    plateaus: Vec<Plateau>,
    /// Credit that was spent; null if no plateau gave way to a lower one that stayed.
    credit: Option<Credit>,
    /// Name of the limit.
    limit: &'static str,
    /// The limit in words.
    pub(super) limit_words: &'static str,
}

/// An end, and what its workers spent.
#[derive(Serialize, JsonSchema)]
struct StreamEnd {
    /// CPU time per 10⁹ bytes received, s; null if nothing was received or it is not known.
    cpu_seconds_per_gb: Option<f64>,
    /// Share of the window for which its busiest worker had a CPU, %; null where it is not known.
    busy_percent: Option<f64>,
    /// Share of the window for which that worker waited for a CPU that others used, %; null where
    /// it is not known.
    waiting_percent: Option<f64>,
    /// Share of the zero-copy sends that the kernel copied after all, 0 to 1; null if there were
    /// none.
    copied_share: Option<f64>,
}

/// Round trips of small datagrams.
#[derive(Serialize, JsonSchema)]
struct StreamLatency {
    /// Round trips before the streams.
    idle: RoundTrips,
    /// Round trips beside the streams.
    loaded: RoundTrips,
}

/// Round trips of datagrams that were sent about every 10 ms.
#[derive(Serialize, JsonSchema)]
struct RoundTrips {
    /// Datagrams sent, count.
    sent: u64,
    /// Datagrams that did not come back within a second after the last was sent, count.
    lost: u64,
    #[serde(flatten)]
    quantiles: Quantiles,
    /// Longest round trip, µs; null if none came back.
    most: Option<f64>,
}

/// Where the streams were, and what all CPUs did during the test.
pub(super) struct StreamPlace {
    pub(super) place: &'static str,
    pub(super) server: Address,
    pub(super) machine: Option<MachineCpu>,
    pub(super) doubts: Vec<Doubt>,
}

impl Streams {
    pub(super) fn of(
        plan: &StreamPlan,
        setting: StreamPlace,
        went: Streamed,
        rates: &WayRates,
    ) -> Self {
        let bytes: u64 = went
            .streams
            .iter()
            .map(|stream| stream.received_bytes)
            .sum();
        // ns per byte are s per GB.
        let per_gb = |ns: u64| (bytes > 0).then(|| ns as f64 / bytes as f64);
        let costs = [Some(went.client), went.server];
        let [client, server] = costs.map(|cost| StreamEnd {
            cpu_seconds_per_gb: cost.and_then(|cost| per_gb(cost.cpu_ns)),
            busy_percent: cost.map(|cost| cost.busy_share * 100.0),
            waiting_percent: cost.map(|cost| cost.waiting_share * 100.0),
            copied_share: cost.and_then(|cost| cost.copied_share),
        });
        let percent = |ns: u64| ns as f64 / went.window_ns.max(1) as f64 * 100.0;
        let cpu_percents = costs
            .map(|cost| cost.map(|cost| [cost.cpu_ns, cost.user_ns, cost.system_ns].map(percent)));
        let server_ns = went.server.map(|cost| cost.cpu_ns);
        let ways = plan.ways.iter();
        let ways: Vec<StreamWay> = ways
            .map(|way| StreamWay::of(*way, plan, &went, rates))
            .collect();
        let mut doubts = setting.doubts;
        doubts.extend(exceeded(plan, &ways));
        if setting.place != RigKind::Hosts.name() {
            doubts.extend(whole_machine::doubt());
        }
        let [client_congestion, server_congestion] = went.congestion.clone();
        Self {
            linerate_version: shape::VERSION,
            carrier: plan.carrier,
            place: setting.place,
            server_address: setting.server.to_string(),
            server_at: setting.server,
            server_program: went
                .is_ours
                .map(|is_ours| if is_ours { "linerate" } else { "iperf3" }),
            streams_each_way: plan.streams,
            window_seconds: went.window_ns.max(1) as f64 / 1e9,
            write_bytes: went.write_bytes,
            send: plan.send,
            receive: plan.receive,
            asked_bits_per_second: plan.asked_bits(),
            client_congestion,
            server_congestion,
            ways,
            client,
            server,
            cpu_seconds_per_gb: server_ns.and_then(|ns| per_gb(went.client.cpu_ns + ns)),
            machine_cpu_seconds_per_gb: MachinePerUnit::of(setting.machine, per_gb),
            latency: went.echoes.as_ref().map(StreamLatency::of),
            streams: went.streams,
            intervals: went.intervals,
            server_intervals: went.server_intervals,
            ended_sure: rates.ended_sure,
            broken: went.broken,
            cpu_percents,
            doubts: worded(&doubts),
        }
    }
}

impl StreamWay {
    fn of(way: Way, plan: &StreamPlan, went: &Streamed, rates: &WayRates) -> Self {
        let streams: Vec<&StreamTotal> = went.streams.iter().filter(|one| one.way == way).collect();
        let window_seconds = went.window_ns.max(1) as f64 / 1e9;
        let seconds = streams.iter().map(|one| one.received_seconds);
        let seconds = seconds.fold(1e-9, f64::max);
        let sum = |of: fn(&StreamTotal) -> u64| streams.iter().map(|one| of(one)).sum::<u64>();
        let received_bytes = sum(|one| one.received_bytes);
        let shares: Vec<f64> = streams
            .iter()
            .map(|one| one.received_bytes as f64)
            .collect();
        let datagrams = streams.iter().filter_map(|one| one.datagrams);
        let is_told = datagrams.clone().count() == streams.len();
        let [sent, lost] = datagrams.fold([0_u64, 0_u64], |[sent, lost], one| {
            [sent.saturating_add(one.sent), lost.saturating_add(one.lost)]
        });
        let is_udp = plan.carrier == Carrier::Udp;
        let again: Option<u64> = streams.iter().map(|one| one.retransmits).sum();
        let sending = sending(way, went, &streams);
        let bits = received_bytes as f64 * 8.0;
        let all_seconds = window_seconds * streams.len() as f64;
        let signs = sending.map(|sending| signs_of(&sending, all_seconds));
        let mut signs = signs.unwrap_or_default();
        let first = went.write_bytes as f64 * 8.0 * streams.len() as f64;
        signs.reached = plan.asked_bits().map(|asked| {
            let due = asked as f64 * seconds * streams.len() as f64;
            // The first write of each stream leaves whole and at once, whatever its rate.
            let most = if bits <= due + first {
                1.0
            } else {
                f64::INFINITY
            };
            (bits / due).min(most)
        });
        let of_end = |cost: EndCost| EndSigns {
            busy: cost.busy_share,
            waiting: cost.waiting_share,
        };
        let client = of_end(went.client);
        let server = went.server.map(of_end).unwrap_or_default();
        (signs.sender, signs.receiver) = match way {
            Way::Up => (client, server),
            Way::Down => (server, client),
        };
        if is_udp {
            signs.lost = lost as f64 / sent.max(1) as f64;
        }
        let limit = limit(&signs);
        let is_known = plan.carrier.is_known(way);
        let rates = rates.read(way).filter(|_| is_known).unwrap_or_default();
        Self {
            way,
            throughput_gbit_per_second: bits / 1e9 / seconds,
            sent_bytes: sum(|one| one.sent_bytes),
            received_bytes,
            received_seconds: seconds,
            retransmits: again.filter(|_| !is_udp),
            lost_share: is_told.then(|| lost as f64 / sent.max(1) as f64),
            datagrams_per_second: is_told.then(|| sent.saturating_sub(lost) as f64 / seconds),
            late: late(&streams),
            jitter_ms: is_told.then(|| jitter_ms(&streams)),
            fairness: fairness(&shares),
            rtt_us: sending.map(|sending| sending.rtt_us),
            plateaus: rates.plateaus,
            credit: rates.credit,
            limit: limit.name,
            limit_words: limit.words,
        }
    }
}

/// Counts the datagrams of all streams that came late; `None` unless each receiver reports them.
fn late(streams: &[&StreamTotal]) -> Option<u64> {
    let mut late = streams.iter().map(|one| one.datagrams?.late);
    late.try_fold(0_u64, |sum, one| Some(sum.saturating_add(one?)))
}

/// Returns the mean jitter of streams of datagrams.
fn jitter_ms(streams: &[&StreamTotal]) -> f64 {
    let jitters = streams.iter().filter_map(|one| one.datagrams);
    jitters.map(|one| one.jitter_ms).sum::<f64>() / streams.len().max(1) as f64
}

/// Returns a doubt if more was carried than was asked for, whatever let it through.
fn exceeded(plan: &StreamPlan, ways: &[StreamWay]) -> Option<Doubt> {
    let asked = plan.asked_bits()? as f64 * f64::from(plan.streams);
    let reached = ways.iter().map(|way| way.throughput_gbit_per_second * 1e9);
    let times = reached.fold(0.0, f64::max) / asked;
    (times > EXCEEDED_SHARE).then_some(Doubt::RateExceeded { times })
}

/// Returns what the sending end reports of all connections of a way together, over the whole
/// window; `None` from an iperf3, which does not report it.
fn sending(way: Way, went: &Streamed, streams: &[&StreamTotal]) -> Option<TcpReading> {
    let of_server = |number: u32| went.server_totals.iter().find(|(of, _)| *of == number);
    let readings = streams.iter().filter_map(|one| match way {
        Way::Up => one.tcp,
        Way::Down => of_server(one.number).map(|(_, tcp)| *tcp),
    });
    readings.reduce(|all, one| TcpReading {
        rtt_us: all.rtt_us.max(one.rtt_us),
        busy_seconds: all.busy_seconds + one.busy_seconds,
        rwnd_limited_seconds: all.rwnd_limited_seconds + one.rwnd_limited_seconds,
        sndbuf_limited_seconds: all.sndbuf_limited_seconds + one.sndbuf_limited_seconds,
        segments: all.segments.saturating_add(one.segments),
        retransmits: all.retransmits.saturating_add(one.retransmits),
        had_already: all.had_already.saturating_add(one.had_already),
        ..one
    })
}

/// Returns the signs of a limit in the time of all connections together.
fn signs_of(sending: &TcpReading, all_seconds: f64) -> StreamSigns {
    let of_busy = |seconds: f64| seconds / sending.busy_seconds.max(1e-9);
    let lost = sending.retransmits.saturating_sub(sending.had_already);
    StreamSigns {
        busy: Some(sending.busy_seconds / all_seconds),
        by_window: of_busy(sending.rwnd_limited_seconds),
        by_buffer: of_busy(sending.sndbuf_limited_seconds),
        lost: lost as f64 / sending.segments.max(1) as f64,
        ..StreamSigns::default()
    }
}

impl StreamLatency {
    fn of(echoes: &StreamEchoes) -> Self {
        let round_trips = |histogram: &model::Histogram, sent: u64| RoundTrips {
            sent,
            lost: sent.saturating_sub(histogram.total()),
            quantiles: histogram.into(),
            most: histogram.quantile(1.0).map(|ns| ns as f64 / 1e3),
        };
        Self {
            idle: round_trips(&echoes.idle, echoes.idle_sent),
            loaded: round_trips(&echoes.loaded, echoes.loaded_sent),
        }
    }
}
