//! Finds the highest rate that loses nothing, or no more than is tolerated, by the search of
//! `load --slo`.

use std::time::Duration;

use anyhow::ensure;
use judge::capacity::{BLOCKS_AS_A_RULE, Range, Search, Seen, TRUST};
use model::random::SplitMix64;
use model::rig::RigKind;
use model::workload::Arrivals;
use schemars::JsonSchema;
use serde::Serialize;
use traffic::packets::{Exchanged, PacketPace, PacketPlan, Until};

use crate::console::Console;

/// Length of a block: long enough that a growing queue is full, that of a socket on this machine or
/// that of a network between two.
fn block(place: RigKind) -> Duration {
    Duration::from_millis(if place == RigKind::Hosts { 500 } else { 200 })
}

/// How long a search usually takes.
pub(super) fn searching_time(place: RigKind) -> Duration {
    block(place) * BLOCKS_AS_A_RULE
}

/// A sender that takes longer for a block than this many times its length has not kept up. The time
/// is compared and not the rate, which varies by chance with random gaps.
const KEPT_UP_IN: f64 = 1.02;
/// Lowest, first and highest rate to try, relative to the rate at which the ends wait for each
/// other, or between two machines to what arrives of a flood.
const RANGE: [f64; 3] = [0.02, 0.25, 2.0];

/// What a search for the highest rate without loss found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HighestRate {
    /// Share of the packets that may be lost, 0 to 1.
    tolerated_share: f64,
    /// The highest rate that was confirmed to hold, packets/s; null where none was.
    holds_per_second: Option<f64>,
    /// The lowest rate that was confirmed not to hold, or could not be sent, packets/s; null where
    /// none was.
    fails_per_second: Option<f64>,
    /// Whether at fails_per_second the sender was the limit.
    is_sender_limit: bool,
    /// Range in which nine tenths of the weight lie that the search gave to rates, packets/s.
    likely_per_second: [f64; 2],
    /// Measured blocks, of 0.2 s each, between two machines of 0.5 s, count.
    blocks: u32,
}

/// Searches until done, or until we are asked to stop. Returns the last block that held, with its
/// plan, and what was found.
pub(super) fn highest(
    place: RigKind,
    plan: &PacketPlan,
    arrivals: (Arrivals, u32),
    tolerated_share: f64,
    console: &Console,
    mut exchange: impl FnMut(&PacketPlan) -> anyhow::Result<Exchanged>,
) -> anyhow::Result<(PacketPlan, Exchanged, HighestRate)> {
    let mut plan = plan.clone();
    let block = block(place);
    plan.until = Until::Time(block);
    let first = exchange(&plan)?;
    let reference_rps = first.received.packets as f64 / first.window_ns.max(1) as f64 * 1e9;
    ensure!(
        reference_rps > 0.0,
        "nothing arrived; see `linerate packets` without --find"
    );
    console.note(&format!(
        "searching in about {BLOCKS_AS_A_RULE} blocks of {} ms",
        block.as_millis()
    ));
    let [lowest_rps, first_rps, highest_rps] = RANGE.map(|share| reference_rps * share);
    let range = Range {
        lowest_rps,
        first_rps,
        highest_rps,
    };
    let mut search = Search::new(range, SplitMix64::new(1));
    let mut best = None;
    while let Some(rate) = search.next_rps() {
        let (arrivals, burst) = arrivals;
        plan.pace = Some(PacketPace {
            rate,
            arrivals,
            burst,
        });
        let went = exchange(&plan);
        // A block that was cut short says nothing about the rate.
        if sys::stop::heard().is_some() {
            break;
        }
        let went = went?;
        let seen = seen(&went, tolerated_share, place);
        console.note(&format!(
            "  {}: {rate:.0} packets/s {}",
            search.purpose(),
            seen.name()
        ));
        search.saw(seen, TRUST);
        if seen == Seen::Holds {
            best = Some((plan.clone(), went));
        }
    }
    let found = search.found();
    let Some((plan, went)) = best else {
        anyhow::bail!("no rate from {lowest_rps:.0} packets/s on held; is the machine at work?");
    };
    let highest = HighestRate {
        tolerated_share,
        holds_per_second: found.holds.map(|tally| tally.rate_rps),
        fails_per_second: found.fails.map(|tally| tally.rate_rps),
        is_sender_limit: found
            .fails
            .is_some_and(|tally| tally.agreed() == Some(Seen::NotOffered)),
        likely_per_second: found.likely_rps,
        blocks: found.blocks,
    };
    Ok((plan, went, highest))
}

fn seen(went: &Exchanged, tolerated_share: f64, place: RigKind) -> Seen {
    let lost_share = went.lost() as f64 / went.sent.packets.max(1) as f64;
    let longest_ns = KEPT_UP_IN * block(place).as_nanos() as f64;
    let is_late = |taken_ns: u64| taken_ns as f64 > longest_ns;
    let coming_ns = went.received.last_ns.saturating_sub(went.received.first_ns);
    if lost_share > tolerated_share {
        Seen::Fails
    } else if is_late(sending_ns(went)) {
        Seen::NotOffered
    } else if place == RigKind::Hosts && is_late(coming_ns) {
        // A queue in the network grew without being full yet.
        Seen::Fails
    } else {
        Seen::Holds
    }
}

/// Time from when the first packet was due until the last was sent, ns.
pub(super) fn sending_ns(went: &Exchanged) -> u64 {
    went.sent.ended_ns.saturating_sub(went.sent.begun_ns).max(1)
}

#[cfg(test)]
mod tests {
    use traffic::packets::{Received, Sent, SocketSettings};

    use super::*;

    const IN_TIME: u64 = 500_000_000;
    const LATE: u64 = 511_000_000;

    #[test]
    fn a_rate_holds_where_all_came_and_the_sender_took_no_longer_than_the_block() {
        let went = |came: u64, [sending_ns, coming_ns]: [u64; 2]| Exchanged {
            sent: Sent {
                packets: 1000,
                ended_ns: sending_ns,
                ..Sent::default()
            },
            received: Received {
                packets: came,
                first_ns: 1_000_000,
                last_ns: 1_000_000 + coming_ns,
                ..Received::default()
            },
            window_ns: sending_ns,
            held: SocketSettings::default(),
            outstanding_most: 0,
            sent_at_once: 1,
        };
        for (came, taken_ns, tolerated_share, expected) in [
            (1000, [IN_TIME, IN_TIME], 0.0, Seen::Holds),
            (999, [IN_TIME, IN_TIME], 0.0, Seen::Fails),
            (999, [IN_TIME, IN_TIME], 0.001, Seen::Holds),
            (1000, [LATE, LATE], 0.0, Seen::NotOffered),
            (990, [LATE, LATE], 0.001, Seen::Fails),
            (1000, [IN_TIME, LATE], 0.0, Seen::Fails),
        ] {
            let found = seen(&went(came, taken_ns), tolerated_share, RigKind::Hosts);
            assert_eq!(found, expected, "{came} in {taken_ns:?} ns");
        }
    }
}
