//! The number of round trips that slow start needs for a page.

/// Returns the round trips from the request to the last byte of an answer of `page_bytes`, head
/// included, on a fresh connection without losses: the least `n` for which `window × (2ⁿ − 1)`
/// segments hold it.
///
/// The sender starts with the initial window and doubles it with each round trip, since every byte
/// that is acknowledged lets two leave (slow start, RFC 5681 §3.1, counted in bytes as in RFC 3465
/// and in Linux). The sum of the windows is the geometric one that Cardwell, Savage and Anderson,
/// “Modeling TCP Latency” (INFOCOM 2000), start from. It is an upper bound on the speed of a
/// window-driven sender, and says nothing about one that paces, such as BBR.
///
/// `None` where there is no window or no segment.
pub fn round_trips(page_bytes: u64, window_segments: u32, segment_bytes: u32) -> Option<u32> {
    let first = u128::from(window_segments) * u128::from(segment_bytes);
    let needed = u128::from(page_bytes.max(1)).div_ceil(Some(first).filter(|bytes| *bytes > 0)?);
    // The least n with 2ⁿ − 1 ≥ needed.
    Some(u128::BITS - needed.leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_ten_segments_are_at_ten_thirty_and_seventy_of_them() {
        let trips = |bytes| round_trips(bytes, 10, 1448).unwrap();
        for (bytes, expected) in [
            (1, 1),
            (14_480, 1),
            (14_481, 2),
            (43_440, 2),
            (43_441, 3),
            (101_360, 3),
            (101_361, 4),
        ] {
            assert_eq!(trips(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn a_larger_window_saves_round_trips_and_none_carries_nothing() {
        assert_eq!(round_trips(43_440, 30, 1448), Some(1));
        assert_eq!(round_trips(130_320, 30, 1448), Some(2));
        assert_eq!(round_trips(1, 0, 1448), None);
        assert_eq!(round_trips(1, 10, 0), None);
        assert_eq!(round_trips(u64::MAX, 1, 1), Some(64));
    }
}
