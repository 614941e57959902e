//! Compares the clocks of two hosts by round trips to their agents.

use model::message::ClockTell;
use model::run::ClockComparison;
use model::{Ask, Tell};

use crate::clock::Clock;
use crate::transport::{Agent, AgentError};

/// The rates of two clocks differ by less than one part in this many, 100 ppm: crystals are within
/// 20 to 50 ppm of their rate, and corrections take effect slowly.
const DRIFT_DIVISOR: u64 = 10_000;

/// The reading of an agent's clock, compared with the study's own.
pub(super) struct Reading {
    /// The agent's clock minus the study's, ns.
    offset_ns: i64,
    uncertainty_ns: u64,
    pub(super) boot_id: String,
}

/// Asks an agent for its time `trips` times, and keeps the shortest round trip. The agent read its
/// clock somewhere within the trip, so the middle is wrong by at most half of it.
///
/// # Errors
/// Those of the connection to the agent.
pub(super) fn read(
    agent: &mut dyn Agent,
    clock: &dyn Clock,
    trips: u32,
) -> Result<Reading, AgentError> {
    let mut shortest = trip(agent, clock)?;
    for _ in 1..trips {
        let next = trip(agent, clock)?;
        if next.uncertainty_ns < shortest.uncertainty_ns {
            shortest = next;
        }
    }
    Ok(shortest)
}

fn trip(agent: &mut dyn Agent, clock: &dyn Clock) -> Result<Reading, AgentError> {
    let sent_ns = clock.now_ns();
    let tell = agent.ask(&Ask::Clock)?;
    let heard_ns = clock.now_ns();
    let Tell::Clock(ClockTell {
        monotonic_ns,
        boot_id,
    }) = tell
    else {
        return Err(AgentError::Garbled("no time for a clock".to_owned()));
    };
    let middle_ns = u64::midpoint(sent_ns, heard_ns);
    Ok(Reading {
        offset_ns: monotonic_ns.wrapping_sub(middle_ns).cast_signed(),
        uncertainty_ns: heard_ns.saturating_sub(sent_ns).div_ceil(2),
        boot_id,
    })
}

/// Returns the server's clock minus the client's.
pub(super) fn compared(server: &Reading, client: &Reading) -> ClockComparison {
    ClockComparison {
        offset_ns: server.offset_ns.wrapping_sub(client.offset_ns),
        uncertainty_ns: server.uncertainty_ns.saturating_add(client.uncertainty_ns),
    }
}

/// Returns a comparison `since_ns` later: it is less certain, because the clocks have drifted
/// apart.
pub(super) fn after(since_ns: u64, clocks: ClockComparison) -> ClockComparison {
    let parted_ns = since_ns.div_ceil(DRIFT_DIVISOR);
    ClockComparison {
        uncertainty_ns: clocks.uncertainty_ns.saturating_add(parted_ns),
        ..clocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_less_certain_by_a_tenth_of_a_millisecond_each_second() {
        let clocks = ClockComparison {
            offset_ns: -7,
            uncertainty_ns: 1_000,
        };
        assert_eq!(after(0, clocks), clocks);
        let later = after(3_000_000_000, clocks);
        assert_eq!((later.offset_ns, later.uncertainty_ns), (-7, 301_000));
        assert_eq!(after(1, clocks).uncertainty_ns, 1_001);
    }
}
