//! The table of connection tracking is full: a client that opens a connection gets no answer, and
//! tries again after a second.

use super::{Case, Ruling, limiter, percent, ruled_out};

const WHAT: &str = "the table of connection tracking";
/// Share of its most entries from which on the table is full for some, whose part of it is full.
const FULL: f64 = 0.9;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let seen = case.seen;
    let Some((entries, most)) = filled(case) else {
        return Ruling::Silent;
    };
    let dropped = seen.rise("conntrack.drop");
    let by = format!(
        "it has {entries} of at most {most} entries; {dropped} packets were dropped for lack of one, and {} entries could not be inserted",
        seen.rise("conntrack.insert_failed")
    );
    let opened = seen.rise("Tcp.PassiveOpens");
    let refused = dropped as f64 / (dropped + opened).max(1) as f64;
    let (share, what) = match turned_away(case) {
        Some(share) => (
            share,
            format!(
                "connections of our load wait to try again for {} of the time",
                percent(share)
            ),
        ),
        None => (
            refused,
            format!(
                "{} of the attempts to open a connection are dropped, and tried again after 1 s",
                percent(refused)
            ),
        ),
    };
    let mut found = limiter(
        "conntrack-full",
        share,
        format!("The table of connection tracking is full: {what}."),
        vec![by.clone()],
        "keep connections open from one request to the next; otherwise a larger table (net.netfilter.nf_conntrack_max), entries that end sooner (nf_conntrack_tcp_timeout_time_wait), or no tracking of this port (a `notrack` rule)",
    );
    found.gain = "the connections that are dropped".to_owned();
    if !is_full(case) {
        return Ruling::Not(ruled_out(WHAT, by));
    }
    Ruling::by_share(found, || ruled_out(WHAT, by))
}

/// The number of entries of the table, and the most that it may have.
fn filled(case: &Case<'_>) -> Option<(u64, u64)> {
    let count = |name| case.seen.counter(name);
    Some((count("conntrack.entries")?, count("conntrack.max")?))
}

fn is_full(case: &Case<'_>) -> bool {
    filled(case).is_some_and(|(entries, most)| entries as f64 >= FULL * most as f64)
}

/// Share of the time of our load's connections in which they wait to try again, 1 s after each
/// dropped attempt (`TCP_TIMEOUT_INIT` of net/tcp.h).
pub(super) fn turned_away(case: &Case<'_>) -> Option<f64> {
    let load = case.seen.load.filter(|_| is_full(case))?;
    let again = case.rate(case.seen.rise("conntrack.drop"));
    Some((again / f64::from(load.connections.max(1))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, held, is_accused};
    use super::*;

    #[test]
    fn a_table_that_drops_many_is_told_with_its_size_and_one_that_is_full_and_drops_few_is_not() {
        let mut seen = busy();
        for (entries, dropped, expected) in [(200, 500, true), (200, 1, false), (100, 500, false)] {
            let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
            count("conntrack.entries", entries);
            count("conntrack.max", 200);
            count("conntrack.drop", dropped);
            assert_eq!(is_accused(rule, &seen), expected, "{entries} {dropped}");
        }
        seen.counters.insert("conntrack.entries".to_owned(), 200);
        seen.counters.insert("conntrack.drop".to_owned(), 500);
        assert!(held(rule, &seen).shown_by[0].contains("200 of at most 200 entries; 500 packets"));
    }

    #[test]
    fn where_nothing_is_tracked_there_is_nothing_to_say() {
        assert!(!is_accused(rule, &busy()));
    }
}
