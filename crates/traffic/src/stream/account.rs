//! The results of a test by the accounts of both ends. What a server reports is checked against
//! what this end counted, and impossible figures are refused.

use std::ops::RangeInclusive;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

use sys::socket;
use sys::tcp_info::TcpInfo;
use wire::iperf3::{BadMessage, COOKIE_BYTES, MOST_BLOCK_BYTES, Results, StreamResult};

use super::flow::{Flow, FlowSocket};
use super::outcome::OwnResult;
use super::reading::MOST_KEPT;
use super::session::Ran;
use super::{EndCost, IntervalOfStream, StreamDatagrams, StreamInterval, StreamTotal, TcpReading};

/// The results that a server reports.
pub(super) type ServerReport = Results<OwnResult>;

/// iperf3's error `IERECVRESULTS`.
const RECEIVING_RESULTS: u32 = 117;
/// Datagrams that a server may have sent without reporting them: those of one call, if it is
/// stopped within that call. With TCP it is one write.
const MOST_UNREPORTED_DATAGRAMS: u64 = 64;
/// The network may deliver a datagram twice.
const MOST_COPIES: u64 = 2;
/// Largest share by which the clocks of two ends differ, and longest delay until one end sees what
/// the other did, s.
const MOST_DRIFT: f64 = 0.01;
const MOST_DELAY_SECONDS: f64 = 0.25;
/// Datagrams sent within this time before the end may still be on their way.
const ON_THE_WAY_SECONDS: f64 = 0.5;

/// Checks that a server's report is possible, given what this end counted and the time that has
/// passed since the server was asked.
pub(super) fn check(
    report: &ServerReport,
    flows: &[Flow],
    ran: &Ran,
    passed_seconds: f64,
) -> Result<(), BadMessage> {
    let times_that_can_be = times(ran.seconds(), passed_seconds);
    let most_seconds = *times_that_can_be.end();
    let pairs = flows.iter().zip(of_flows(report, flows));
    let streams = pairs.filter_map(|(flow, report)| stream_fault(flow, report));
    let mut seconds = report.streams.iter().filter_map(StreamResult::seconds);
    let is_time = |seconds: f64| times_that_can_be.contains(&seconds);
    let own = report.linerate.as_ref();
    let what = streams
        .chain((!seconds.all(is_time)).then_some("an impossible time"))
        .chain(own.and_then(|own| own_fault(own, flows, most_seconds)))
        .next();
    let code = RECEIVING_RESULTS;
    what.map_or(Ok(()), |what| Err(BadMessage::Unfit { what, code }))
}

/// The times that a server can report, s. Its time begins before that of the client, which waits
/// for its word, and ends after it. A shorter time would make the server's rate too large.
fn times(ran_seconds: f64, passed_seconds: f64) -> RangeInclusive<f64> {
    let least = ran_seconds * (1.0 - MOST_DRIFT) - MOST_DELAY_SECONDS;
    least..=passed_seconds * (1.0 + MOST_DRIFT) + MOST_DELAY_SECONDS
}

/// The reported results of the flows, in the order of the flows.
fn of_flows<'a>(
    report: &'a ServerReport,
    flows: &[Flow],
) -> impl Iterator<Item = &'a StreamResult> {
    let ids: Vec<u64> = flows.iter().map(|flow| flow.id.into()).collect();
    ids.into_iter()
        .filter_map(|id| report.streams.iter().find(|one| one.id == id))
}

fn stream_fault(flow: &Flow, report: &StreamResult) -> Option<&'static str> {
    let (bytes, datagrams) = (
        flow.count.bytes(),
        flow.count.datagrams.load(Ordering::Relaxed),
    );
    let is_udp = matches!(flow.socket, FlowSocket::Udp(_));
    let (is_more, is_less) = match (is_udp, flow.sends) {
        (false, true) => (report.bytes > bytes, false),
        (false, false) => (false, report.bytes + u64::from(MOST_BLOCK_BYTES) < bytes),
        (true, true) => {
            let is_more = report.packets.max(report.lost()) > datagrams;
            (
                is_more || report.bytes > bytes.saturating_mul(MOST_COPIES),
                false,
            )
        }
        (true, false) => (
            false,
            report.packets + MOST_UNREPORTED_DATAGRAMS < datagrams,
        ),
    };
    match () {
        () if is_more => Some("it received more than was sent"),
        () if is_less => Some("it sent less than arrived"),
        () => None,
    }
}

/// What is impossible in the report of a server of ours; `None` if nothing is.
fn own_fault(own: &OwnResult, flows: &[Flow], most_seconds: f64) -> Option<&'static str> {
    let of = |number: u32| flows.iter().find(|flow| flow.id == number);
    let is_time = |seconds: f64| (0.0..=most_seconds).contains(&seconds);
    let is_once = |mut numbers: Vec<u32>| {
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len() == count && numbers.iter().all(|number| of(*number).is_some())
    };
    let is_of = |one: &IntervalOfStream| {
        of(one.number).is_some_and(|flow| flow.way == one.way)
            && one.tcp.is_none_or(|tcp| is_reading(&tcp, most_seconds))
    };
    let is_interval = |interval: &StreamInterval| {
        is_time(interval.start_seconds)
            && is_time(interval.seconds)
            && interval.streams.iter().all(is_of)
    };
    let readings: usize = own.intervals.iter().map(|one| one.streams.len()).sum();
    let mut totals = own.totals.iter();
    match () {
        () if !is_cost(&own.cost, flows.len(), most_seconds) => Some("an impossible CPU time"),
        () if readings.max(own.intervals.len()) > MOST_KEPT
            || !own.intervals.iter().all(is_interval) =>
        {
            Some("impossible intervals")
        }
        () if !is_once(own.totals.iter().map(|(id, _)| *id).collect())
            || !totals.all(|(_, tcp)| is_reading(tcp, most_seconds)) =>
        {
            Some("impossible totals")
        }
        () if !is_once(own.late.iter().map(|(id, _)| *id).collect()) => {
            Some("datagrams of streams that do not exist")
        }
        () => None,
    }
}

/// Whether a CPU cost is possible. Each stream has one thread.
fn is_cost(cost: &EndCost, threads: usize, most_seconds: f64) -> bool {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    let most_ns = most_seconds * 1e9 * threads as f64;
    let times = [cost.cpu_ns, cost.user_ns, cost.system_ns];
    times.into_iter().all(|ns| ns as f64 <= most_ns)
        && is_share(cost.busy_share)
        && is_share(cost.waiting_share)
        && cost.copied_share.is_none_or(is_share)
}

fn is_reading(tcp: &TcpReading, most_seconds: f64) -> bool {
    let times = [
        tcp.busy_seconds,
        tcp.rwnd_limited_seconds,
        tcp.sndbuf_limited_seconds,
    ];
    let is_time = |seconds: f64| (0.0..=most_seconds).contains(&seconds);
    let counts = [tcp.retransmits, tcp.had_already, tcp.segments];
    times.into_iter().all(is_time) && counts.iter().all(|count| u32::try_from(*count).is_ok())
}

/// The totals of each flow over the whole window; without a server's report, as far as this end
/// knows them.
pub(super) fn totals(flows: &[Flow], ran: &Ran, report: Option<&ServerReport>) -> Vec<StreamTotal> {
    let of = |(place, flow): (usize, &Flow)| {
        let of_flow = report.and_then(|report| {
            let mut streams = report.streams.iter();
            streams.find(|one| one.id == u64::from(flow.id))
        });
        let own = report.and_then(|report| report.linerate.as_ref());
        let late = own.and_then(|own| own.late.iter().find(|(id, _)| *id == flow.id));
        total(flow, ran, place, of_flow, late.map(|(_, late)| *late))
    };
    flows.iter().enumerate().map(of).collect()
}

fn total(
    flow: &Flow,
    ran: &Ran,
    place: usize,
    report: Option<&StreamResult>,
    late: Option<u64>,
) -> StreamTotal {
    let bytes = flow.count.bytes();
    let tcp = ran.readings.total(place);
    let (sent_bytes, received_bytes) = match (flow.sends, report) {
        (true, Some(report)) => (bytes, report.bytes),
        (true, None) => (bytes, acknowledged(flow).unwrap_or(0).min(bytes)),
        (false, report) => (
            report.map_or(bytes, |report| report.bytes.max(bytes)),
            bytes,
        ),
    };
    let again = match flow.sends {
        true => tcp.map(|tcp| tcp.retransmits),
        false => report.and_then(StreamResult::sent_again),
    };
    let reported_seconds = report
        .filter(|_| flow.sends)
        .and_then(StreamResult::seconds);
    StreamTotal {
        number: flow.id,
        way: flow.way,
        sent_bytes,
        received_bytes,
        received_seconds: reported_seconds.unwrap_or_else(|| ran.seconds()),
        retransmits: again.filter(|_| tcp.is_some()),
        datagrams: match flow.socket {
            FlowSocket::Tcp(_) => None,
            FlowSocket::Udp(_) => datagrams(flow, ran.seconds(), report, late),
        },
        tcp,
        addresses: flow.addresses,
    }
}

/// Payload that the other end's kernel has acknowledged, bytes; `None` if our kernel does not know.
pub(super) fn acknowledged(flow: &Flow) -> Option<u64> {
    let FlowSocket::Tcp(socket) = &flow.socket else {
        return None;
    };
    let info = TcpInfo::of(socket.as_fd()).ok()?;
    // The cookie was sent first and is not payload.
    Some(info.acked_bytes.saturating_sub(COOKIE_BYTES as u64))
}

fn datagrams(
    flow: &Flow,
    seconds: f64,
    report: Option<&StreamResult>,
    late: Option<u64>,
) -> Option<StreamDatagrams> {
    let count = &flow.count;
    let own = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let datagrams = own(&count.datagrams);
    if !flow.sends {
        let sent = report.map_or(datagrams, |report| report.packets.max(datagrams));
        return Some(StreamDatagrams {
            sent,
            lost: lost(sent, datagrams, own(&count.lost), seconds),
            late: Some(own(&count.late)),
            jitter_ms: own(&count.jitter_ns) as f64 / 1e6,
        });
    }
    report.map(|report| StreamDatagrams {
        sent: datagrams,
        lost: lost(datagrams, report.packets, report.lost(), seconds),
        late,
        jitter_ms: report.jitter * 1e3,
    })
}

/// Datagrams that were sent and did not arrive: the gaps that the receiver saw up to the highest
/// number that arrived, and what was sent after that, unless it may still have been on its way.
fn lost(sent: u64, highest: u64, gaps: u64, seconds: f64) -> u64 {
    let rest = sent.saturating_sub(highest);
    let on_the_way = sent as f64 * (ON_THE_WAY_SECONDS / seconds.max(1e-9)).min(1.0);
    match highest == 0 || rest as f64 > on_the_way {
        true => gaps.saturating_add(rest).min(sent),
        false => gaps.min(sent),
    }
}

/// The congestion control of the connections, read from the first of them.
pub(super) fn congestion(flows: &[Flow]) -> Option<String> {
    let first = flows.iter().find_map(|flow| match &flow.socket {
        FlowSocket::Tcp(socket) => Some(socket),
        FlowSocket::Udp(_) => None,
    });
    socket::congestion_control(first?.as_fd()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_had_the_time_of_its_client_and_no_more_than_passed() {
        let can_be = |seconds: f64| times(10.0, 12.0).contains(&seconds);
        assert!([9.7, 10.0, 12.3].into_iter().all(can_be));
        assert!(![5.0, 9.6, 12.4].into_iter().any(can_be));
    }

    #[test]
    fn of_datagrams_of_which_none_came_all_are_lost() {
        assert_eq!(lost(900, 0, 0, 1.0), 900);
        assert_eq!(lost(3, 0, 0, 0.1), 3);
        assert_eq!(
            (lost(0, 0, 0, 1.0), lost(u64::MAX, 1, u64::MAX, 9.0)),
            (0, u64::MAX)
        );
    }

    #[test]
    fn what_came_to_an_end_in_the_midst_is_lost_and_what_may_be_on_its_way_is_not() {
        assert_eq!(lost(1000, 500, 7, 10.0), 507);
        assert_eq!(lost(1000, 990, 7, 10.0), 7);
    }
}
