//! The highest rate that loses nothing, or no more than is tolerated, by the search that `load --slo` has.

use std::time::Duration;

use anyhow::ensure;
use judge::capacity::{BLOCKS_AS_A_RULE, KEPT_UP_SHARE, Range, Search, Seen, TRUST};
use model::random::SplitMix64;
use model::workload::Arrivals;
use schemars::JsonSchema;
use serde::Serialize;
use traffic::packets::{Exchanged, PacketPace, PacketPlan, Until};

use crate::console::Console;

/// Long enough that a queue which grows is full.
const BLOCK: Duration = Duration::from_millis(200);
/// Rates that are tried, by the one at which the ends wait for each other.
const RANGE: [f64; 3] = [0.02, 0.25, 2.0];

/// What a search for the highest rate without loss found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HighestRate {
    /// Share of the packets that may be lost, 0 to 1.
    tolerated_share: f64,
    /// The highest rate that was confirmed to hold, packets/s; null where none was.
    holds_per_second: Option<f64>,
    /// The lowest that was confirmed not to, or could not be sent, packets/s; null where none was.
    fails_per_second: Option<f64>,
    /// Whether it is the sender that goes no faster, and nothing was lost before.
    is_sender_limit: bool,
    /// Between these lies nine tenths of what the search weighed, packets/s.
    likely_per_second: [f64; 2],
    /// Blocks of 0.2 s that were measured.
    blocks: u32,
}

/// Searches; with the last block that held.
pub(super) fn highest(
    plan: &PacketPlan,
    arrivals: (Arrivals, u32),
    tolerated_share: f64,
    console: &Console,
    mut exchange: impl FnMut(&PacketPlan) -> anyhow::Result<Exchanged>,
) -> anyhow::Result<(PacketPlan, Exchanged, HighestRate)> {
    let mut plan = plan.clone();
    plan.until = Until::Time(BLOCK);
    let together = exchange(&plan)?;
    let together = together.received.packets as f64 / together.window_ns.max(1) as f64 * 1e9;
    ensure!(
        together > 0.0,
        "nothing came; see `linerate packets` without --find"
    );
    console.note(&format!(
        "searching in about {BLOCKS_AS_A_RULE} blocks of {} ms",
        BLOCK.as_millis()
    ));
    let [lowest_rps, first_rps, highest_rps] = RANGE.map(|share| together * share);
    let range = Range {
        lowest_rps,
        first_rps,
        highest_rps,
    };
    let mut search = Search::new(range, SplitMix64::new(1));
    let (mut best, mut was_sender) = (None, false);
    while let Some(rate) = search.next_rps() {
        let (arrivals, burst) = arrivals;
        plan.pace = Some(PacketPace {
            rate,
            arrivals,
            burst,
        });
        let went = exchange(&plan)?;
        let seen = seen(&went, rate, tolerated_share);
        console.note(&format!(
            "  {}: {rate:.0} packets/s {}",
            search.purpose(),
            seen.name()
        ));
        search.saw(seen, TRUST);
        match seen {
            Seen::Holds => best = Some((plan.clone(), went)),
            Seen::Fails => was_sender = false,
            Seen::NotOffered => was_sender = true,
        }
    }
    let found = search.found();
    let Some((plan, went)) = best else {
        anyhow::bail!(
            "no rate from {lowest_rps:.0} packets/s on lost less than is tolerated; is the machine at work?"
        );
    };
    let highest = HighestRate {
        tolerated_share,
        holds_per_second: found.holds.map(|tally| tally.rate_rps),
        fails_per_second: found.fails.map(|tally| tally.rate_rps),
        is_sender_limit: was_sender,
        likely_per_second: found.likely_rps,
        blocks: found.blocks,
    };
    Ok((plan, went, highest))
}

fn seen(went: &Exchanged, rate: f64, tolerated_share: f64) -> Seen {
    let lost_share = went.lost() as f64 / went.sent.packets.max(1) as f64;
    if lost_share > tolerated_share {
        Seen::Fails
    } else if sent_per_second(went) < KEPT_UP_SHARE * rate {
        Seen::NotOffered
    } else {
        Seen::Holds
    }
}

/// From the first that was sent to the last.
pub(super) fn sent_per_second(went: &Exchanged) -> f64 {
    let sending_ns = went.sent.ended_ns.saturating_sub(went.sent.begun_ns);
    went.sent.packets as f64 / sending_ns.max(1) as f64 * 1e9
}
