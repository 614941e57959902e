//! One block seen from two hosts: the client's window, and the server's window within it.
//!
//! The client counts answers from the opening to the closing of its window, by its own clock. The
//! server's host reads its counters at intervals during that time, by its own clock. Two of those
//! readings are used. They are near the ends of the client's window and within it, whatever the
//! clocks' uncertainty. So the server's window lies wholly within steady load, and is a little
//! shorter. CPU time per request is then
//!
//! ```text
//! (CPU ns ÷ ns of the server's window) ÷ (answers ÷ ns of the client's window)
//! ```
//!
//! The error: at either end the client's window covers time that the server's does not, namely the
//! uncertainty of the clocks and up to four intervals between readings. If the load's pace in that
//! part, a share `s` of the window, differs from the pace of the rest by a share `d`, the quotient
//! is off by `s × d` at most. With sixty readings per window and clocks known to some ms, `s` is
//! below a sixth for windows of half a second. A block in which it is more is measured again
//! ([`is_near`]), and the record says how often. Settled load varies by a few per cent, so an error
//! of some tenths of a per cent remains, of either sign. A request in flight at an edge has part of
//! its CPU time counted but not its answer, or the reverse. Their number is the same at both edges,
//! as where one agent does both.

use model::Reading;
use model::message::Loaded;
use model::reading::{Counts, CpuReading};
use model::run::ClockComparison;

/// Readings of the counters per scored window.
const READINGS: u32 = 60;
/// Largest share of the client's window that the server's may lack.
const MOST_MISSING: f64 = 1.0 / 6.0;
/// A reader may be kept from its CPU for this long at any time, ns. Windows of which this is more
/// than that share are too short for verdicts; they only show whether everything works.
const MISSING_NS: u64 = 25_000_000;
/// Interval between readings, ms. Readings cost tens of µs each, so they are not made more often.
const INTERVAL_MS: std::ops::RangeInclusive<u32> = 1..=20;

/// Interval at which the server's counters are read in a block that is scored for `score_ms`, ms.
pub(super) fn interval_ms(score_ms: u32) -> u32 {
    (score_ms / READINGS).clamp(*INTERVAL_MS.start(), *INTERVAL_MS.end())
}

/// Returns, by the server's clock, the time that certainly lies within the client's window. It is
/// empty (its end no later than its beginning) if the clocks are not known well enough.
pub(super) fn certain(loaded: &Loaded, clocks: ClockComparison) -> (u64, u64) {
    let there = |client_ns: u64| client_ns.wrapping_add_signed(clocks.offset_ns);
    let from_ns = there(loaded.opened_ns).saturating_add(clocks.uncertainty_ns);
    let to_ns = there(loaded.closed_ns).saturating_sub(clocks.uncertainty_ns);
    (from_ns, to_ns)
}

/// Whether the server's window is close enough to the client's in length, both in ns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length that fits"
)]
pub(super) fn is_near(server_ns: u64, client_ns: u64) -> bool {
    let most_ns = (client_ns as f64 * MOST_MISSING) as u64;
    server_ns > 0 && client_ns.saturating_sub(server_ns) <= most_ns.max(MISSING_NS)
}

/// Returns the client's reading, with the counts of the server's host scaled to the client's
/// window. If both hosts are one machine, they share its CPUs, so the client does not count as
/// foreign work there.
pub(super) fn put_together(loaded: Loaded, counts: &Counts, same_machine: bool) -> Reading {
    let mut reading = loaded.reading;
    let at_pace = counts.over(reading.window_ns);
    let client_there_ns = if same_machine {
        reading.cpu.client_ns
    } else {
        0
    };
    reading.cpu = CpuReading {
        server_ns: at_pace.server_ns,
        ksoftirqd_ns: at_pace.ksoftirqd_ns,
        foreign_ns: at_pace.foreign_ns(client_there_ns),
        machine: at_pace.machine,
        psi_some_share: at_pace.psi_some_share,
        server_window_ns: Some(counts.window_ns),
        ..reading.cpu
    };
    reading
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::MachineCpu;

    fn loaded() -> Loaded {
        let cpu = CpuReading {
            client_ns: 300,
            ..CpuReading::default()
        };
        Loaded {
            opened_ns: 5_000,
            closed_ns: 6_000,
            reading: Reading {
                window_ns: 1_000,
                answered: 10,
                cpu,
                ..Reading::default()
            },
        }
    }

    fn counts() -> Counts {
        Counts {
            window_ns: 800,
            server_ns: Some(400),
            ksoftirqd_ns: 0,
            machine: Some(MachineCpu {
                user_ns: 500,
                softirq_ns: 220,
                ..MachineCpu::default()
            }),
            psi_some_share: Some(0.0),
        }
    }

    #[test]
    fn the_certain_part_of_a_window_is_moved_by_the_offset_and_narrowed_by_its_uncertainty() {
        let clocks = |offset_ns| ClockComparison {
            offset_ns,
            uncertainty_ns: 100,
        };
        assert_eq!(certain(&loaded(), clocks(40)), (5_140, 5_940));
        assert_eq!(certain(&loaded(), clocks(-1_000)), (4_100, 4_900));
        let vague = ClockComparison {
            offset_ns: 0,
            uncertainty_ns: 600,
        };
        let (from_ns, to_ns) = certain(&loaded(), vague);
        assert!(to_ns < from_ns, "{from_ns} to {to_ns}");
    }

    #[test]
    fn cpu_per_request_is_the_pace_of_the_one_window_over_that_of_the_other() {
        let reading = put_together(loaded(), &counts(), false);
        // Half a CPU, and ten answers in 1,000 ns: 50 ns each.
        assert_eq!(reading.server_cpu_us_per_request(), Some(0.05));
        assert_eq!(reading.cpu.server_window_ns, Some(800));
        assert_eq!(reading.cpu.client_ns, 300);
        assert_eq!(reading.cpu.machine.unwrap().busy_ns(), 900);
    }

    #[test]
    fn the_client_is_no_foreign_work_where_both_hosts_are_one_machine() {
        // 900 ns busy in 1,000, of which the server had 500 and the client 300.
        let foreign = |same| put_together(loaded(), &counts(), same).cpu.foreign_ns;
        assert_eq!((foreign(true), foreign(false)), (Some(100), Some(400)));
    }

    #[test]
    fn counters_are_read_sixty_times_a_window_within_bounds() {
        let intervals = [10, 60, 500, 1_000, 60_000].map(interval_ms);
        assert_eq!(intervals, [1, 1, 8, 16, 20]);
    }

    #[test]
    fn a_server_s_window_may_lack_a_sixth_or_what_a_reader_is_kept_from_its_cpu() {
        let ms = |count: u64| count * 1_000_000;
        assert!(is_near(ms(417), ms(500)) && !is_near(ms(416), ms(500)));
        assert!(is_near(ms(35), ms(60)) && !is_near(ms(34), ms(60)));
        assert!(!is_near(0, ms(20)));
    }
}
