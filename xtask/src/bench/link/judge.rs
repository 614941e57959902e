//! Compares what was seen at both ends of a link with what was asked of it.

use std::collections::HashMap;

use super::ends::SeenAtEnds;

/// Largest relative deviation of the offered rate from the one asked for.
const OFFERED_TOLERANCE: f64 = 0.01;

/// Whether a bar is met, and its figures in words.
pub(super) type Finding = (bool, String);

/// Compares the rate in the capture at the sender's end with the one asked for. If another rate was
/// offered, the link has not been measured.
pub(super) fn offered(seen: &SeenAtEnds, asked_pps: u64) -> Finding {
    let pairs = seen.sent.windows(2);
    let gaps_ns = pairs.map(|pair| pair[1].wall_ns.saturating_sub(pair[0].wall_ns));
    let seconds = gaps_ns.clone().sum::<u64>() as f64 / 1e9;
    let pps = gaps_ns.clone().count() as f64 / seconds;
    let error = pps / asked_pps as f64 - 1.0;
    let first = match seen.own_words["goes_first"] == true {
        true => "go",
        false => "do NOT go",
    };
    let words = format!(
        "offered {pps:.0} of {asked_pps} packets/s, {:+.2} %, longest gap {:.3} ms; the link's threads \
         {first} first (SCHED_FIFO); {} ms of CPU were taken away by others on the host",
        error * 100.0,
        gaps_ns.max().unwrap_or(0) as f64 / 1e6,
        seen.stolen_ms,
    );
    (error.abs() <= OFFERED_TOLERANCE, words)
}

/// Compares a quantile of the delay's error, in either direction, with the bar.
pub(super) fn delay(seen: &SeenAtEnds, delay_ns: u64, quantile: f64, bar_ns: u64) -> Finding {
    let mut errors_ns: Vec<u64> = passages(seen)
        .map(|passage_ns| passage_ns.abs_diff(delay_ns))
        .collect();
    errors_ns.sort_unstable();
    let at = |quantile: f64| quantile_of(&errors_ns, quantile);
    let early = passages(seen)
        .filter(|passage_ns| *passage_ns < delay_ns)
        .count();
    let ms = |ns: u64| ns as f64 / 1e6;
    let own = &seen.own_words["up"]["late_us"];
    let words = format!(
        "delay error p{:.0} at most {} ms: p50 {:.3}, p99 {:.3}, p99.9 {:.3}, most {:.3} ms; \
         {early} of {} early, the captures missed {}; by its own clock late p50 {}, p99 {} µs",
        quantile * 100.0,
        ms(bar_ns),
        ms(at(0.5)),
        ms(at(0.99)),
        ms(at(0.999)),
        ms(at(1.0)),
        errors_ns.len(),
        seen.missed,
        own["p50"],
        own["p99"],
    );
    (
        !errors_ns.is_empty() && at(quantile) <= bar_ns && seen.missed == 0,
        words,
    )
}

/// Time that each packet that arrived was on its way, ns. Packets are matched by their numbers.
fn passages(seen: &SeenAtEnds) -> impl Iterator<Item = u64> {
    let sent = seen.sent.iter();
    let sent_ns: HashMap<u64, u64> = sent.map(|sent| (sent.number, sent.wall_ns)).collect();
    let came = seen.came.iter();
    came.filter_map(move |came| Some(came.wall_ns.saturating_sub(*sent_ns.get(&came.number)?)))
}

pub(super) fn in_order(seen: &SeenAtEnds) -> Finding {
    let overtaken = seen
        .came
        .windows(2)
        .filter(|pair| pair[1].number < pair[0].number);
    let count = overtaken.count();
    let words = format!(
        "no packet overtakes another: {count} of {} did",
        seen.came.len()
    );
    (count == 0 && !seen.came.is_empty(), words)
}

pub(super) fn none_missing(seen: &SeenAtEnds) -> Finding {
    let (sent, came) = (seen.sent.len(), seen.came.len());
    let words = format!(
        "every packet arrives: {came} of {sent}; the captures missed {}",
        seen.missed
    );
    (sent == came && seen.missed == 0, words)
}

/// Compares the rate with the one asked for: the bits of all packets but the first, over the time
/// from the arrival of the first packet to that of the last.
pub(super) fn rate(seen: &SeenAtEnds, asked: f64, tolerance: f64) -> Finding {
    let bits: f64 = seen
        .came
        .iter()
        .skip(1)
        .map(|came| f64::from(came.bytes) * 8.0)
        .sum();
    let edges = seen.came.first().zip(seen.came.last());
    let seconds = edges.map_or(f64::NAN, |(first, last)| {
        (last.wall_ns - first.wall_ns) as f64 / 1e9
    });
    let error = bits / seconds / asked - 1.0;
    let words = format!(
        "rate within {:.0} %: {:.3} Mbit/s, {:+.3} %, over {seconds:.2} s; the captures missed {}",
        tolerance * 100.0,
        bits / seconds / 1e6,
        error * 100.0,
        seen.missed
    );
    (error.abs() <= tolerance && seen.missed == 0, words)
}

/// Checks that the loss is within the central 99.9 % of the binomial distribution, by its normal
/// approximation.
pub(super) fn loss(seen: &SeenAtEnds, share: f64) -> Finding {
    const Z: f64 = 3.29;
    let sent = seen.sent.len() as f64;
    let lost = sent - seen.came.len() as f64;
    let (middle, half) = (sent * share, Z * (sent * share * (1.0 - share)).sqrt());
    let words = format!(
        "lost {lost:.0} of {sent:.0}, {:.3} %; 99.9 % of the binomial: {:.0} … {:.0}",
        lost / sent * 100.0,
        middle - half,
        middle + half
    );
    ((lost - middle).abs() <= half && seen.missed == 0, words)
}

/// A quantile of sorted values; 0 if there are none.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a rank is at most the number of values"
)]
fn quantile_of(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (sorted.len() as f64 * quantile).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::link::ends::Sighting;

    fn seen(came: &[(u64, u64)]) -> SeenAtEnds {
        let sighting = |(number, wall_ns)| Sighting {
            number,
            wall_ns,
            bytes: 1000,
        };
        SeenAtEnds {
            sent: (0..10)
                .map(|number| sighting((number, number * 1000)))
                .collect(),
            came: came.iter().copied().map(sighting).collect(),
            missed: 0,
            stolen_ms: 0,
            own_words: serde_json::Value::Null,
        }
    }

    /// All ten packets arrive, each after `passage_ns`.
    fn after(passage_ns: u64) -> SeenAtEnds {
        let came: Vec<_> = (0..10)
            .map(|number| (number, number * 1000 + passage_ns))
            .collect();
        seen(&came)
    }

    #[test]
    fn a_delay_misses_its_bar_by_being_too_long_or_too_short() {
        let keeps = |seen: &SeenAtEnds| delay(seen, 5_000, 0.99, 100).0;
        assert!(keeps(&after(5_100)));
        assert!(!keeps(&after(5_101)));
        assert!(!keeps(&after(4_899)));
        assert!(!keeps(&seen(&[])));
    }

    #[test]
    fn what_overtakes_or_is_missing_is_counted() {
        assert!(in_order(&after(5)).0 && none_missing(&after(5)).0);
        let swapped = seen(&[(0, 10), (2, 20), (1, 30)]);
        assert!(!in_order(&swapped).0 && !none_missing(&swapped).0);
    }

    #[test]
    fn a_rate_is_of_the_bits_behind_the_first_packet() {
        // 1000 bytes each microsecond are 8 Gbit/s.
        assert!(rate(&after(5), 8e9, 0.001).0);
        assert!(!rate(&after(5), 8.1e9, 0.01).0);
    }

    #[test]
    fn what_a_capture_missed_leaves_no_bar_kept() {
        let missed = SeenAtEnds {
            missed: 1,
            ..after(5)
        };
        assert!(!delay(&missed, 5, 0.99, 100).0);
        assert!(!rate(&missed, 8e9, 0.001).0);
        assert!(!none_missing(&missed).0);
    }

    #[test]
    fn a_loss_outside_its_binomial_interval_is_missed() {
        assert!(!loss(&after(5), 0.99).0);
        assert!(loss(&seen(&[(0, 10)]), 0.9).0);
    }

    /// Packets sent at these times, µs.
    fn sent_at(times_us: impl IntoIterator<Item = u64>) -> SeenAtEnds {
        let sighting = |(number, us): (u64, u64)| Sighting {
            number,
            wall_ns: us * 1000,
            bytes: 100,
        };
        SeenAtEnds {
            sent: (0..).zip(times_us).map(sighting).collect(),
            own_words: serde_json::json!({ "goes_first": true }),
            ..seen(&[])
        }
    }

    #[test]
    fn a_stream_is_as_asked_within_one_per_cent_of_its_rate() {
        let is_as_asked = |seen: &SeenAtEnds| offered(seen, 20_000).0;
        let every = |us: usize| sent_at((0..200_000).step_by(us));
        assert!(is_as_asked(&every(50)));
        assert!(!is_as_asked(&every(51)) && !is_as_asked(&every(49)));
        assert!(!is_as_asked(&sent_at([])));
    }

    #[test]
    fn the_longest_gap_is_told_and_whether_the_threads_go_first() {
        let (_, words) = offered(&sent_at([0, 50, 350, 400]), 20_000);
        assert!(words.contains("longest gap 0.300 ms"), "{words}");
        assert!(words.contains("threads go first"), "{words}");
    }
}
