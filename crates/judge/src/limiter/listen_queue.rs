//! More connections arrive than the program accepts in time: some are turned away, and try again
//! after a second.

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let seen = case.seen;
    let Some(overflows) = seen.counter("TcpExt.ListenOverflows") else {
        return Ruling::Silent;
    };
    let accepted = seen.rise("Tcp.PassiveOpens");
    let refused = overflows as f64 / (overflows + accepted).max(1) as f64;
    let (share, whose) = match overflows > 0 && had_room(case) {
        true => (
            0.0,
            "; its own queue had room whenever it was looked at: other programs listen in its network namespace",
        ),
        false => (turned_away(case).unwrap_or(refused), ""),
    };
    let by = format!(
        "{overflows} connections found the queue full (ListenOverflows), {accepted} were opened; at most {} of {} waited{whose}",
        seen.rise("listen.waiting_most"),
        seen.rise("listen.limit")
    );
    let mut found = limiter(
        "listen-queue",
        share,
        format!(
            "Connections are turned away: {} of them find the queue of the listener full, and try again after 1 s.",
            percent(refused)
        ),
        vec![by.clone()],
        "see why it accepts too slowly (more workers, each with a listener of its own), and give it a longer queue: its backlog, and net.core.somaxconn",
    );
    found.gain = "the connections that are turned away".to_owned();
    Ruling::by_share(found, || ruled_out("the listen queue", by))
}

/// Whether the program's own queue had room whenever it was looked at. The kernel counts overflows
/// for a whole network namespace, and a program without load of ours may have no client at all.
fn had_room(case: &Case<'_>) -> bool {
    let limit = case.seen.counter("listen.limit");
    let is_seen = limit.filter(|_| case.seen.load.is_none());
    is_seen.is_some_and(|limit| case.seen.rise("listen.waiting_most") < limit)
}

/// Share of the time of our load's connections in which they wait to try again, 1 s after each that
/// was turned away (`TCP_TIMEOUT_INIT` of net/tcp.h).
pub(super) fn turned_away(case: &Case<'_>) -> Option<f64> {
    let load = case.seen.load?;
    let again = case.rate(case.seen.rise("TcpExt.ListenOverflows"));
    Some((again / f64::from(load.connections.max(1))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{asked, busy, is_accused};
    use super::*;

    #[test]
    fn a_queue_that_turns_many_away_is_told_and_one_that_turns_few_is_not() {
        let mut seen = busy();
        for (overflows, expected) in [(500, true), (1, false)] {
            seen.counters
                .insert("TcpExt.ListenOverflows".to_owned(), overflows);
            seen.counters.insert("Tcp.PassiveOpens".to_owned(), 1000);
            assert_eq!(is_accused(rule, &seen), expected, "{overflows}");
        }
    }

    #[test]
    fn who_has_room_in_its_queue_turned_nobody_away_that_another_listener_did() {
        let mut seen = busy();
        let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
        count("TcpExt.ListenOverflows", 3_773);
        count("Tcp.PassiveOpens", 157);
        assert!(is_accused(rule, &seen), "our load was turned away");
        seen.load = None;
        assert!(is_accused(rule, &seen), "its queue is not seen");
        seen.counters.insert("listen.limit".to_owned(), 511);
        for (waiting, expected) in [(0, false), (511, true)] {
            let most = "listen.waiting_most".to_owned();
            seen.counters.insert(most, waiting);
            assert_eq!(is_accused(rule, &seen), expected, "{waiting}");
        }
        seen.counters.insert("listen.waiting_most".to_owned(), 0);
        let Ruling::Not(out) = asked(rule, &seen) else {
            panic!("it is not ruled out")
        };
        assert!(out.by.contains("other programs listen"), "{}", out.by);
    }
}
