//! Threads wait for one another: they sleep in futex calls in the midst of work.

use model::explanation::AccountKind;

use super::{Case, Ruling, advice, gain, limiter, percent, ruled_out};

/// All functions in which a futex call sleeps begin so (kernel/futex/).
pub(super) const FUTEX: &str = "futex_";

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.threads.len() < 2 {
        return match case.seen.threads.is_empty() {
            true => Ruling::Silent,
            false => Ruling::Not(ruled_out("locks", "one thread alone has run".to_owned())),
        };
    }
    let is_lock = |at: &Option<String>| at.as_deref().is_some_and(|at| at.starts_with(FUTEX));
    let accounts = case.ledger.accounts.iter();
    let share = accounts
        .filter(|it| it.kind == AccountKind::Asleep && is_lock(&it.asleep_in))
        .map(|it| it.share)
        .sum();
    let waits: u64 = case.seen.threads.iter().map(|it| it.waits).sum();
    let by = format!(
        "threads that have work sleep in futex calls for {} of the time",
        percent(share)
    );
    let mut found = limiter(
        "lock",
        share,
        format!(
            "Its threads wait for one another's locks for {} of the time.",
            percent(share)
        ),
        vec![
            by.clone(),
            format!(
                "they gave their CPU up {:.0} times a second, of {:.2} CPUs used",
                case.rate(waits),
                case.cpus_used()
            ),
        ],
    );
    found.gain = gain(share);
    found.advice =
        advice(["find the lock by the stacks that sleep there, and hold it for less, or split it"]);
    Ruling::by_share(found, || ruled_out("locks", by))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{asleep, busy, held, is_accused, moment, thread};
    use super::*;

    #[test]
    fn threads_that_sleep_in_futex_calls_half_of_the_time_wait_for_a_lock() {
        let mut seen = busy();
        seen.threads.push(thread(2, 500));
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Unread, asleep("futex_do_wait"), 100.0));
        assert_eq!(held(rule, &seen).name, "lock");
    }

    #[test]
    fn a_program_of_one_thread_has_no_lock_to_wait_for() {
        assert!(!is_accused(rule, &busy()));
    }
}
