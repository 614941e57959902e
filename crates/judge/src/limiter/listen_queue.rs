//! More connections arrive than the program accepts in time: they are turned away, and try again after a second.

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let seen = case.seen;
    let Some(overflows) = seen.counter("TcpExt.ListenOverflows") else {
        return Ruling::Silent;
    };
    let accepted = seen.rise("Tcp.PassiveOpens");
    let refused = overflows as f64 / (overflows + accepted).max(1) as f64;
    let share = turned_away(case).unwrap_or(refused);
    let by = format!(
        "{overflows} connections found the queue full (ListenOverflows), {accepted} were opened; at most {} of {} waited",
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
        "see why it accepts too slowly (more workers, a listener each), and give it a longer queue: its backlog, and net.core.somaxconn",
    );
    found.gain = "the connections that are turned away".to_owned();
    Ruling::by_share(found, || ruled_out("the listen queue", by))
}

/// Share of the time of our load's connections in which they wait to try again, 1 s after each that was turned away
/// (`TCP_TIMEOUT_INIT` of net/tcp.h).
pub(super) fn turned_away(case: &Case<'_>) -> Option<f64> {
    let load = case.seen.load?;
    let again = case.rate(case.seen.rise("TcpExt.ListenOverflows"));
    Some((again / f64::from(load.connections.max(1))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, is_accused};
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
}
