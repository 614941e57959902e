//! The client is the limit: the answers have arrived, and are not read.

use model::explanation::Hindrance;

use super::{Case, Ruling, limiter, part, percent, ruled_out};

const WHAT: &str = "the client";
/// Part of the time that answers lie unread, above which the client's own wait for a CPU is why.
const BUSY: f64 = 0.5;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let (waits, shares_cpus) = (case.client_waits(), case.shares_cpus_with_client());
    let share = case.client_works();
    // A part of its work that could be less is a limiter with a name of its own.
    let share = share * (1.0 - part::of(case).map_or(0.0, |part| part.of_client));
    if share == 0.0 && case.seen.load.is_none() {
        return Ruling::Silent;
    }
    let by = format!(
        "answers lie unread at the client's end for {} of the time",
        percent(share)
    );
    let Some(load) = case.seen.load else {
        let what = format!("Its clients read too slowly: {by}.");
        let found = limiter(
            "slow-receiver",
            share,
            what,
            vec![by.clone()],
            "look at the clients: their CPUs, and the sizes of their receive buffers",
        );
        return Ruling::by_share(found, || ruled_out("clients that read slowly", by));
    };
    let busy = percent(load.client_busy_share);
    let why = match !shares_cpus && waits > BUSY * share {
        true => "it is ready to run, but others have its CPU",
        false => "the server could do more",
    };
    let mut found = limiter(
        "client",
        share,
        format!(
            "The client is the limit: an answer waits {} of its time until our load reads it; {why}.",
            percent(share)
        ),
        vec![
            by.clone(),
            format!("its busiest thread had a CPU for {busy} of the time"),
        ],
        "give the client more threads (`-t`) and CPUs of its own, or another machine: what was measured is the client",
    );
    found.hindrance = Some(Hindrance::ClientCpus);
    Ruling::by_share(found, || {
        ruled_out(
            WHAT,
            format!("{by}; its busiest thread was busy for {busy} of the time"),
        )
    })
}

#[cfg(test)]
mod tests {
    use model::observation::{Doing, Holder};

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn answers_that_lie_unread_accuse_the_client() {
        let mut seen = busy();
        seen.moments = vec![
            moment(Holder::Unread, Doing::Running, 20.0),
            moment(Holder::Client, idle("ep_poll"), 80.0),
        ];
        assert_eq!(held(rule, &seen).name, "client");
        seen.load = None;
        assert_eq!(held(rule, &seen).name, "slow-receiver");
    }

    #[test]
    fn a_client_that_reads_at_once_is_ruled_out() {
        let mut seen = busy();
        seen.moments = vec![moment(Holder::Unread, Doing::Running, 100.0)];
        assert!(!is_accused(rule, &seen));
    }
}
