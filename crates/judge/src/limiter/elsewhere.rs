//! The program has the request, and waits for something that is no client: another program, or a timer.

use model::explanation::{AccountKind, Hindrance};

use super::ledger::Asker;
use super::{Case, Ruling, advice, gain, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    match Asker::of(case.seen) {
        Asker::Ours => of_requests(case),
        Asker::Others => Ruling::Silent,
        Asker::Nobody => of_a_command(case),
    }
}

fn of_requests(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Elsewhere);
    let by = format!(
        "it has read the request, has not answered, and all its threads wait for {} of the time",
        percent(share)
    );
    let mut found = limiter(
        "elsewhere",
        share,
        format!(
            "It has the request and waits for something else for {} of the time: a program behind it, or a timer.",
            percent(share)
        ),
        vec![
            by.clone(),
            format!("meanwhile its threads used {:.2} CPUs", case.cpus_used()),
        ],
    );
    found.gain = gain(share);
    found.advice = advice([
        "see what it is connected to (`ss -tnp`), and explain that program in its turn; if it is nothing, it waits for a timer of its own",
    ]);
    // What is behind it may be full, and a timer never is.
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), None);
    Ruling::by_share(found, || ruled_out("a program behind it", by))
}

/// It was started to do its work, and waits.
fn of_a_command(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Elsewhere);
    let accounts = case.ledger.accounts.iter();
    let of_kind = accounts.filter(|account| account.kind == AccountKind::Elsewhere);
    let at: Vec<&str> = of_kind
        .filter_map(|account| account.asleep_in.as_deref())
        .take(3)
        .collect();
    let by = format!("all its threads wait for {} of the time", percent(share));
    let mut found = limiter(
        "elsewhere",
        share,
        format!(
            "It waits for something else for {} of the time: another program, or a timer.",
            percent(share)
        ),
        vec![by.clone(), format!("they sleep in {}", at.join(", "))],
    );
    found.gain = gain(share);
    found.advice = advice([
        "see what it is connected to (`ss -tnp`), and explain that program in its turn; if it is nothing, it waits for a timer of its own",
    ]);
    Ruling::by_share(found, || ruled_out("another program", by))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, command, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn a_program_that_waits_with_a_request_in_hand_waits_for_another() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Program, idle("ep_poll"), 300.0));
        assert!(held(rule, &seen).share > 0.7);
    }

    #[test]
    fn a_command_that_waits_for_events_waits_for_another_and_one_that_runs_does_not() {
        let mut seen = command();
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Unknown, idle("do_poll"), 300.0));
        let found = held(rule, &seen);
        assert!(found.shown_by[1].contains("do_poll"), "{found:?}");
    }
}
