//! What was offered to a link, by the capture at the sender's end: a link that was given something
//! else than what was asked has not been measured.

use std::fmt;

use super::ends::SeenAtEnds;

/// How far the offered rate may be from the one asked for, as a share.
const TOLERANCE: f64 = 0.01;

/// A stream as it was, beside what it was to be.
pub(super) struct Offered {
    asked_pps: f64,
    /// From the first packet to the last.
    pps: f64,
    longest_gap_ns: u64,
    goes_first: bool,
    stolen_ms: u64,
}

impl Offered {
    pub(super) fn of(seen: &SeenAtEnds, asked_pps: u64) -> Self {
        let gaps = seen
            .sent
            .windows(2)
            .map(|pair| pair[1].wall_ns.saturating_sub(pair[0].wall_ns));
        let seconds = gaps.clone().sum::<u64>() as f64 / 1e9;
        Self {
            asked_pps: asked_pps as f64,
            pps: gaps.clone().count() as f64 / seconds,
            longest_gap_ns: gaps.max().unwrap_or(0),
            goes_first: seen.own_words["goes_first"] == true,
            stolen_ms: seen.stolen_ms,
        }
    }

    pub(super) fn is_as_asked(&self) -> bool {
        (self.pps / self.asked_pps - 1.0).abs() <= TOLERANCE
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = if self.goes_first { "go" } else { "do NOT go" };
        write!(
            out,
            "offered {:.0} of {:.0} packets/s, {:+.2} %, longest gap {:.3} ms; the link's threads \
             {first} first (SCHED_FIFO); {} ms of CPU were taken away by others on the host",
            self.pps,
            self.asked_pps,
            (self.pps / self.asked_pps - 1.0) * 100.0,
            self.longest_gap_ns as f64 / 1e6,
            self.stolen_ms,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::link::ends::Sighting;

    /// Packets at these times, µs.
    fn sent_at(times_us: impl IntoIterator<Item = u64>) -> SeenAtEnds {
        let sighting = |(number, us): (u64, u64)| Sighting {
            number,
            wall_ns: us * 1000,
            bytes: 100,
        };
        SeenAtEnds {
            sent: (0..).zip(times_us).map(sighting).collect(),
            came: Vec::new(),
            missed: 0,
            stolen_ms: 0,
            own_words: serde_json::json!({ "goes_first": true }),
        }
    }

    #[test]
    fn a_stream_is_as_asked_within_one_per_cent_of_its_rate() {
        let every = |us: usize| sent_at((0..200_000).step_by(us));
        assert!(Offered::of(&every(50), 20_000).is_as_asked());
        assert!(!Offered::of(&every(51), 20_000).is_as_asked());
        assert!(!Offered::of(&every(49), 20_000).is_as_asked());
        assert!(!Offered::of(&sent_at([]), 20_000).is_as_asked());
    }

    #[test]
    fn the_longest_gap_is_told_and_whether_the_threads_go_first() {
        let words = Offered::of(&sent_at([0, 50, 350, 400]), 20_000).to_string();
        assert!(words.contains("longest gap 0.300 ms"), "{words}");
        assert!(words.contains("threads go first"), "{words}");
    }
}
