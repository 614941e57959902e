//! What was seen at both ends of a link against what was asked of it.

use std::fmt;

use super::ends::SeenAtEnds;

/// A figure and its bar.
pub(super) struct Finding {
    words: String,
    holds: bool,
}

impl Finding {
    pub(super) fn holds(&self) -> bool {
        self.holds
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds { "kept  " } else { "MISSED" };
        write!(out, "{word} {}", self.words)
    }
}

/// The error of the delay, in either direction: its quantile against the bar.
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
    Finding {
        words: format!(
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
        ),
        holds: !errors_ns.is_empty() && at(quantile) <= bar_ns && seen.missed == 0,
    }
}

/// How long each packet that came was on its way, ns, by its number.
fn passages(seen: &SeenAtEnds) -> impl Iterator<Item = u64> {
    let most = seen
        .sent
        .iter()
        .map(|sighting| sighting.number)
        .max()
        .unwrap_or(0);
    let mut sent_ns = vec![None; usize::try_from(most).unwrap_or(0) + 1];
    for sighting in &seen.sent {
        sent_ns[usize::try_from(sighting.number).unwrap_or(0)] = Some(sighting.wall_ns);
    }
    seen.came.iter().filter_map(move |came| {
        let sent_ns = sent_ns.get(usize::try_from(came.number).ok()?).copied()??;
        Some(came.wall_ns.saturating_sub(sent_ns))
    })
}

pub(super) fn in_order(seen: &SeenAtEnds) -> Finding {
    let overtaken = seen
        .came
        .windows(2)
        .filter(|pair| pair[1].number < pair[0].number);
    let count = overtaken.count();
    Finding {
        words: format!(
            "no packet overtakes another: {count} of {} did",
            seen.came.len()
        ),
        holds: count == 0 && !seen.came.is_empty(),
    }
}

pub(super) fn none_missing(seen: &SeenAtEnds) -> Finding {
    let (sent, came) = (seen.sent.len(), seen.came.len());
    Finding {
        words: format!(
            "every packet arrives: {came} of {sent}; the captures missed {}",
            seen.missed
        ),
        holds: sent == came && seen.missed == 0,
    }
}

/// The bits of all packets but the first, from when the first was there to when the last was.
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
    Finding {
        words: format!(
            "rate within {:.0} %: {:.3} Mbit/s, {:+.3} %, over {seconds:.2} s; the captures missed {}",
            tolerance * 100.0,
            bits / seconds / 1e6,
            error * 100.0,
            seen.missed
        ),
        holds: error.abs() <= tolerance && seen.missed == 0,
    }
}

/// Within 99.9 % of the binomial distribution, by its normal approximation.
pub(super) fn loss(seen: &SeenAtEnds, share: f64) -> Finding {
    const Z: f64 = 3.29;
    let sent = seen.sent.len() as f64;
    let lost = sent - seen.came.len() as f64;
    let (middle, half) = (sent * share, Z * (sent * share * (1.0 - share)).sqrt());
    Finding {
        words: format!(
            "lost {lost:.0} of {sent:.0}, {:.3} %; 99.9 % of the binomial: {:.0} … {:.0}",
            lost / sent * 100.0,
            middle - half,
            middle + half
        ),
        holds: (lost - middle).abs() <= half && seen.missed == 0,
    }
}

/// Of sorted values.
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

    /// All ten, each so long on its way.
    fn after(passage_ns: u64) -> SeenAtEnds {
        let came: Vec<_> = (0..10)
            .map(|number| (number, number * 1000 + passage_ns))
            .collect();
        seen(&came)
    }

    #[test]
    fn a_delay_misses_its_bar_by_being_too_long_or_too_short() {
        let keeps = |seen: &SeenAtEnds| delay(seen, 5_000, 0.99, 100).holds();
        assert!(keeps(&after(5_100)));
        assert!(!keeps(&after(5_101)));
        assert!(!keeps(&after(4_899)));
        assert!(!keeps(&seen(&[])));
    }

    #[test]
    fn what_overtakes_or_is_missing_is_counted() {
        assert!(in_order(&after(5)).holds() && none_missing(&after(5)).holds());
        let swapped = seen(&[(0, 10), (2, 20), (1, 30)]);
        assert!(!in_order(&swapped).holds() && !none_missing(&swapped).holds());
    }

    #[test]
    fn a_rate_is_of_the_bits_behind_the_first_packet() {
        // 1000 bytes each microsecond are 8 Gbit/s.
        assert!(rate(&after(5), 8e9, 0.001).holds());
        assert!(!rate(&after(5), 8.1e9, 0.01).holds());
    }

    #[test]
    fn what_a_capture_missed_leaves_no_bar_kept() {
        let missed = SeenAtEnds {
            missed: 1,
            ..after(5)
        };
        assert!(!delay(&missed, 5, 0.99, 100).holds());
        assert!(!rate(&missed, 8e9, 0.001).holds());
        assert!(!none_missing(&missed).holds());
    }

    #[test]
    fn a_loss_outside_its_binomial_interval_is_missed() {
        assert!(!loss(&after(5), 0.99).holds());
        assert!(loss(&seen(&[(0, 10)]), 0.9).holds());
    }
}
