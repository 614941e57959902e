//! A request has arrived and the program still sleeps: waking it up takes a large part of the time.

use model::explanation::{AccountKind, Hindrance};

use super::ledger::Asker;
use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.threads.is_empty() || Asker::of(case.seen) == Asker::Nobody {
        return Ruling::Silent;
    }
    let share = case.ledger.share(AccountKind::Waking);
    let waits: u64 = case.seen.threads.iter().map(|it| it.waits).sum();
    let by = format!(
        "requests lie unread while all threads sleep for {} of the time; it went to sleep {:.0} times a second",
        percent(share),
        case.rate(waits)
    );
    let mut found = limiter(
        "wake-ups",
        share,
        format!(
            "It wakes up late: for {} of the time a request is there while the program sleeps.",
            percent(share)
        ),
        vec![by.clone()],
        "see whether it accepts and reads all that it could (a limit of connections, of files); with few connections the wake-up itself takes long: halt polling, idle states, busy polling",
    );
    // It may read only a limited number of connections at once; if not, it sleeps less under more
    // of them.
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), None);
    Ruling::by_share(found, || ruled_out("waking up", by))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn requests_that_wait_for_a_sleeper_are_told() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.threads[0].waits = 1_000_000;
        seen.moments
            .push(moment(Holder::Unread, idle("ep_poll"), 100.0));
        assert!((held(rule, &seen).share - 0.5).abs() < 1e-9);
    }
}
