//! The program sleeps during work, and no other rule names the reason. The kernel's function in
//! which it sleeps says most about it.

use model::explanation::{AccountKind, Hindrance};
use model::observation::Doing;

use super::lock::is_lock;
use super::{Case, Ruling, called_from, later_calls, limiter, parts, percent};

/// Function in which a thread sleeps that only asked to sleep for some time.
pub(super) const TIMER: &str = "hrtimer_nanosleep";
/// Beginnings of names of kernel functions, and why a thread sleeps in them.
const REASONS: [(&str, &str); 8] = [
    (
        TIMER,
        "it sleeps for a time that it chose itself (nanosleep)",
    ),
    ("pipe_", "it waits for the other end of a pipe"),
    ("anon_pipe_", "it waits for the other end of a pipe"),
    ("unix_", "it waits for another program on a Unix socket"),
    ("do_wait", "it waits for a child process to end"),
    ("wait_woken", "it waits in a blocking call on a socket"),
    ("sk_wait", "it waits in a blocking call on a socket"),
    (
        "sk_stream_wait_memory",
        "it waits in a blocking send, since the socket's buffer is full",
    ),
];

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let accounts = case
        .ledger
        .accounts
        .iter()
        .filter(|it| it.kind == AccountKind::Asleep);
    let named = accounts.filter_map(|it| Some((it.asleep_in.as_deref()?, it.share)));
    let mut others = named.filter(|(at, _)| !is_lock(at));
    // Accounts are sorted by share, the largest first.
    let Some((at, share)) = others.next() else {
        return Ruling::Silent;
    };
    let reason = REASONS.iter().find(|(name, _)| at.starts_with(name));
    let reason = reason.map_or("the stacks that sleep there show why", |(_, words)| words);
    let part = parts::of_sleep(at);
    let mut found = limiter(
        part.map_or("sleep", |part| part.name),
        share,
        format!(
            "It sleeps in {at} for {} of the time: {reason}.",
            percent(share)
        ),
        vec![format!(
            "threads that have work sleep in {at} at {} of the moments (wchan)",
            percent(share)
        )],
        part.map_or(
            "look at what calls it: the stacks that sleep there are in the report",
            |part| part.advice,
        ),
    );
    found.shown_by.extend(called_from(case.seen, at));
    found.hindrance = Some(Hindrance::Connections);
    found.follows = follows(case, at);
    // Calls are delayed only for a timer: anything else that it waits for may go on with the next
    // request during the delay.
    if found.follows == Some(false) && at.starts_with(TIMER) {
        found.closer = later_calls::asleep_in(case.seen, at, share);
    }
    match share >= super::ENOUGH {
        true => Ruling::Holds(found),
        false => Ruling::Silent,
    }
}

/// Whether more connections bring more answers. They do where each request has its own thread,
/// since more of them then sleep at once. Requests that queue one behind another wait no less.
fn follows(case: &Case<'_>, at: &str) -> Option<bool> {
    let is_queue = case.is_queue(|doing| matches!(doing, Doing::Asleep(there) if there == at));
    match is_queue {
        true => Some(false),
        // Another program that it waits for may be at its limit, so either result is possible.
        false => at.starts_with(TIMER).then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{asleep, busy, held, is_accused, moment};
    use super::*;

    #[test]
    fn a_sleep_is_told_by_its_function_and_a_short_one_is_not() {
        let mut seen = busy();
        seen.moments
            .push(moment(Holder::Unread, asleep("hrtimer_nanosleep"), 100.0));
        assert!(held(rule, &seen).what.contains("(nanosleep)"));
        seen.moments[2].count = 1.0;
        assert!(!is_accused(rule, &seen));
    }

    #[test]
    fn who_waits_for_child_processes_starts_too_many() {
        let mut seen = busy();
        seen.moments = vec![moment(Holder::Program, asleep("do_wait"), 100.0)];
        assert_eq!(held(rule, &seen).name, "processes");
    }

    #[test]
    fn more_connections_bring_more_answers_where_each_has_its_own_sleep_in_hand() {
        let mut seen = busy();
        for (holder, at, expected) in [
            (Holder::Unread, TIMER, Some(false)),
            (Holder::Program, TIMER, Some(true)),
            (Holder::Program, "pipe_read", None),
        ] {
            seen.moments.push(moment(holder, asleep(at), 100.0));
            assert_eq!(held(rule, &seen).follows, expected, "{at}");
            seen.moments.pop();
        }
    }
}
