//! Requests wait for a connection, of which each has one of its own.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, advice, gain, limiter, listen_queue, percent};

/// Opened connections for each answer: more are one for each.
const EACH: f64 = 0.5;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Opening);
    let opened = case.seen.rise("Tcp.PassiveOpens");
    let each = opened as f64 / case.answered().unwrap_or(u64::MAX) as f64;
    // Some of them wait since they were turned away.
    let share = share - listen_queue::turned_away(case).unwrap_or(0.0);
    if share < super::ENOUGH || each < EACH {
        return Ruling::Silent;
    }
    let mut found = limiter(
        "connections",
        share,
        format!(
            "Requests wait for {} of the time for a connection of their own: one is opened and closed for each.",
            percent(share)
        ),
        vec![format!(
            "{each:.2} connections were opened for each answer, {:.0} a second",
            case.rate(opened)
        )],
    );
    found.gain = gain(share);
    found.advice = advice([
        "keep connections open from one request to the next, at both ends (keepalive, upstream keepalive)",
    ]);
    found.hindrance = Some(Hindrance::ClientCpus);
    found.follows = None;
    Ruling::Holds(found)
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn connections_for_each_request_are_told_and_those_that_stay_or_are_refused_are_not() {
        let mut seen = busy();
        let opening = moment(Holder::Opening, idle("ep_poll"), 100.0);
        seen.moments.push(opening);
        assert!(!is_accused(rule, &seen));
        let mut counted = |name: &str, count| seen.counters.insert(name.to_owned(), count);
        counted("Tcp.PassiveOpens", 100_000);
        assert!(held(rule, &seen).shown_by[0].contains("1.00 connections"));
        seen.counters
            .insert("TcpExt.ListenOverflows".to_owned(), 16);
        assert!(!is_accused(rule, &seen));
    }
}
