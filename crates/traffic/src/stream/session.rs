//! Runs a test at one end: the workers work, the connections are read at each interval, and the
//! control line to the other end is watched.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sys::clock;
use wire::iperf3::Results;

use super::carrying::{Carrying, Worked};
use super::flow::Flow;
use super::outcome::OwnResult;
use super::reading::Readings;
use super::{EndCost, StreamError, StreamInterval};

/// Longest wait for the control line at one go: the end of the test is seen at most this late.
const TURN: Duration = Duration::from_millis(20);

/// The result of a test at this end.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) window_ns: u64,
    pub(super) readings: Readings,
    pub(super) cost: EndCost,
    /// What ended the test early.
    pub(super) broken: Option<StreamError>,
}

/// Runs the flows until `look` says that the test is over, and when it was, or that it cannot go
/// on. `look` is called over and over, with the time that it may wait and the time that has passed.
/// `on_interval` is called with each interval, and may end the test.
pub(super) fn run(
    flows: &[Flow],
    carrying: &Carrying<'_>,
    interval: Duration,
    mut look: impl FnMut(Duration, Duration) -> Result<ControlFlow<u64>, StreamError>,
    on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
) -> Result<Ran, StreamError> {
    let begun_ns = carrying.begun_ns;
    let interval_ns = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    let mut readings = Readings::begin(flows, begun_ns);
    let watch = || {
        let mut due_ns = begun_ns + interval_ns;
        loop {
            let now_ns = clock::monotonic_ns();
            let turn = TURN.min(Duration::from_nanos(due_ns.saturating_sub(now_ns)));
            let looked = look(turn, Duration::from_nanos(now_ns - begun_ns));
            let now_ns = clock::monotonic_ns();
            let mut over = match looked {
                Ok(ControlFlow::Continue(())) => None,
                Ok(ControlFlow::Break(end_ns)) => Some((end_ns.min(now_ns), None)),
                Err(error) => Some((now_ns, Some(error))),
            };
            if over.is_some() || now_ns >= due_ns {
                let enough = on_interval(&readings.read(flows, now_ns)).is_break();
                if enough && over.is_none() {
                    over = Some((now_ns, None));
                }
                due_ns = next_due_ns(due_ns, now_ns, interval_ns);
            }
            if let Some((end_ns, broken)) = over {
                return Ok((end_ns.saturating_sub(begun_ns), broken));
            }
        }
    };
    let ((window_ns, broken), worked) = carrying.carry(flows, watch)?;
    flows.iter().for_each(Flow::finish);
    let cost = cost(flows, &worked, window_ns);
    Ok(Ran {
        window_ns,
        readings,
        cost,
        broken,
    })
}

/// When the interval after one that was due ends. Intervals that a pause has missed become one, and
/// none after it is shorter than half of what was asked for: what comes at once after a pause is no
/// rate of the path.
const fn next_due_ns(due_ns: u64, now_ns: u64, interval_ns: u64) -> u64 {
    let late_ns = now_ns.saturating_sub(due_ns);
    let missed = (late_ns + interval_ns / 2) / interval_ns;
    due_ns + (missed + 1) * interval_ns
}

fn cost(flows: &[Flow], worked: &[Worked], window_ns: u64) -> EndCost {
    let share = |ns: u64| (ns as f64 / window_ns.max(1) as f64).min(1.0);
    let busiest = worked.iter().max_by_key(|one| one.cpu_ns + one.waited_ns);
    let busiest = busiest.copied().unwrap_or_default();
    let [copied, in_place] = flows.iter().fold([0, 0], |[copied, all], flow| {
        let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        [
            copied + of(&flow.count.copied),
            all + of(&flow.count.in_place),
        ]
    });
    EndCost {
        cpu_ns: worked.iter().map(|one| one.cpu_ns).sum(),
        user_ns: worked.iter().map(|one| one.user_ns).sum(),
        system_ns: worked.iter().map(|one| one.system_ns).sum(),
        busy_share: share(busiest.cpu_ns),
        waiting_share: share(busiest.waited_ns),
        copied_share: (in_place > 0).then(|| copied as f64 / in_place as f64),
    }
}

impl Ran {
    pub(super) fn seconds(&self) -> f64 {
        self.window_ns.max(1) as f64 / 1e9
    }

    /// The results as they are sent to the other end; what iperf3 does not know goes only to an end
    /// of ours.
    pub(super) fn results(
        &self,
        flows: &[Flow],
        congestion: Option<String>,
        to_ours: bool,
    ) -> Results<OwnResult> {
        let seconds = self.seconds();
        let percent = |ns: u64| ns as f64 / 1e9 / seconds * 100.0;
        let total = |place: usize| self.readings.total(place);
        let streams = flows.iter().enumerate().map(|(place, flow)| {
            let tcp = total(place).filter(|_| flow.sends);
            let again = tcp.map(|tcp| u32::try_from(tcp.retransmits).unwrap_or(u32::MAX));
            flow.result(seconds, again)
        });
        let late = flows.iter().filter(|flow| !flow.sends);
        let sending = flows.iter().enumerate().filter(|(_, flow)| flow.sends);
        let own = to_ours.then(|| OwnResult {
            cost: self.cost,
            intervals: self.readings.intervals.clone(),
            totals: sending
                .filter_map(|(place, flow)| Some((flow.id, total(place)?)))
                .collect(),
            late: late
                .map(|flow| (flow.id, flow.count.late.load(Ordering::Relaxed)))
                .collect(),
        });
        Results {
            cpu_util_total: percent(self.cost.cpu_ns),
            cpu_util_user: percent(self.cost.user_ns),
            cpu_util_system: percent(self.cost.system_ns),
            sender_has_retransmits: if flows.iter().any(|flow| flow.sends) {
                1.0
            } else {
                -1.0
            },
            congestion_used: congestion,
            streams: streams.collect(),
            linerate: own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_a_pause_has_missed_are_one_and_none_after_it_is_short() {
        let next = |now_ns| next_due_ns(100, now_ns, 10);
        assert_eq!([90, 100, 104].map(next), [110; 3]);
        assert_eq!([170, 173, 179].map(next), [180, 180, 190]);
    }
}
