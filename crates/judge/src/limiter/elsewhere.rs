//! The program has the request, and waits for something that is no client: another program, or a timer.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, advice, gain, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.load.is_none() {
        return Ruling::Silent;
    }
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

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn a_program_that_waits_with_a_request_in_hand_waits_for_another() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Program, idle("ep_poll"), 300.0));
        assert!(held(rule, &seen).share > 0.7);
    }
}
