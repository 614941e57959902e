//! Requests wait for connections to open, since each request uses a connection of its own.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, conntrack, gain, handshakes, limiter, listen_queue, parts, percent};

/// Connections opened per answer; from this on, each answer has its own connection.
const EACH: f64 = 0.5;
/// Counts packets that open a connection and are sent again, and no other packets
/// (`tcp_retransmit_skb`).
const SENT_AGAIN: &str = "TcpExt.TCPSynRetrans";

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Opening);
    let opened = case.seen.rise("Tcp.PassiveOpens");
    let each = opened as f64 / case.answered().unwrap_or(u64::MAX) as f64;
    // Some of them wait because they were turned away before.
    let turned_away = [
        listen_queue::turned_away(case),
        conntrack::turned_away(case),
    ];
    let turned_away: f64 = turned_away.into_iter().flatten().sum();
    let share = share - turned_away;
    if share < super::ENOUGH || each < EACH || handshakes::are_most(case, share) {
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
        parts::advice("connections"),
    );
    found.hindrance = Some(Hindrance::ClientCpus);
    found.follows = None;
    let lost = lost(case).map(|lost| lost - turned_away);
    if let Some(lost) = lost.filter(|lost| *lost >= share / 2.0) {
        found.shown_by.push(format!(
            "{:.1} packets that open a connection are sent again each second, each after a wait of 1 s (TCPSynRetrans)",
            case.rate(case.seen.rise(SENT_AGAIN))
        ));
        "loss".clone_into(&mut found.name);
        found.what = format!(
            "Packets that open connections are lost, and sent again after 1 s: {} of the time is spent waiting for that.",
            percent(lost.min(share))
        );
        found.advice = vec![
            "find where they are lost: a firewall's limit (`nft list ruleset`, iptables hashlimit), a full queue on the way; or keep connections open, so that few such packets are needed".to_owned(),
        ];
        (found.hindrance, found.gain) = (None, gain(lost.min(share)));
    }
    Ruling::Holds(found)
}

/// Share of the time of our load's connections in which lost packets wait to be sent again: 1 s for
/// each (`TCP_TIMEOUT_INIT` of net/tcp.h).
fn lost(case: &Case<'_>) -> Option<f64> {
    let load = case.seen.load?;
    Some(case.rate(case.seen.rise(SENT_AGAIN)) / f64::from(load.connections.max(1)))
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
        seen.counters.insert(SENT_AGAIN.to_owned(), 8);
        assert_eq!(held(rule, &seen).name, "loss");
        seen.counters
            .insert("TcpExt.ListenOverflows".to_owned(), 16);
        assert!(!is_accused(rule, &seen));
    }
}
