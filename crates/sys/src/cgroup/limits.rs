//! Parses the files of a control group, in either version.

/// Numbers from here on mean "no limit". Version 1 writes that as the largest number of whole
/// pages, which is just below 2^63 (`PAGE_COUNTER_MAX` in linux/page_counter.h).
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// How often a group used up its quota, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    pub periods: u64,
    pub throttled_periods: u64,
    /// Sum over all CPUs, µs.
    pub throttled_us: u64,
}

/// CPUs' worth of time from quota and period in µs, as `cpu.max` has them. `None` for no quota,
/// which is `max`, or −1 in version 1.
pub(super) fn quota(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// A memory limit in bytes; `None` for `max` or a number beyond any memory.
pub(super) fn memory_bytes(text: &str) -> Option<u64> {
    let bytes = text.trim().parse().ok()?;
    (bytes < NO_LIMIT_BYTES).then_some(bytes)
}

/// Parses `cpu.stat`; missing counters are 0.
pub(super) fn throttling(text: &str) -> Throttling {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(key, _)| *key == name);
        found
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(0)
    };
    Throttling {
        periods: value("nr_periods"),
        throttled_periods: value("nr_throttled"),
        // Version 1 reports it in ns.
        throttled_us: value("throttled_usec").max(value("throttled_time") / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_quota_is_none_and_odd_texts_are_none() {
        assert_eq!(quota("50000 100000"), Some(0.5));
        for text in ["max 100000", "-1 100000", "", "100000", "a b", "1000 0"] {
            assert_eq!(quota(text), None, "{text}");
        }
    }

    #[test]
    fn a_memory_limit_beyond_any_memory_is_none() {
        assert_eq!(memory_bytes("1073741824\n"), Some(1 << 30));
        for text in ["max", "9223372036854771712", "", "-1"] {
            assert_eq!(memory_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn throttling_is_read_and_missing_counters_are_nought() {
        let text = "usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 123\n";
        let read = throttling(text);
        assert_eq!((read.periods, read.throttled_periods), (40, 7));
        assert_eq!(throttling("usage_usec 9"), Throttling::default());
    }
}
