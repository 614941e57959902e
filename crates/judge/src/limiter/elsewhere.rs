//! The program has the request, and waits for something other than a client: another program, or a
//! timer.

use std::cmp::Ordering;

use model::explanation::{AccountKind, Hindrance, Limiter};
use model::observation::{Behind, Observation};

use super::ledger::Asker;
use super::{Case, Ruling, called_from, limiter, percent, ruled_out};

/// Name of this limiter.
pub(super) const NAME: &str = "elsewhere";
/// Fewest connections that wait for an answer, in the mean, for the program behind to count: one
/// connection for a tenth of the time.
const WAITED_FOR: f64 = 0.1;

/// The program that is waited for most.
pub(super) fn behind(seen: &Observation) -> Option<&Behind> {
    let behind = seen.behind.iter().max_by(|one, other| {
        let by = |it: &Behind| (it.waiting, it.open);
        by(one).partial_cmp(&by(other)).unwrap_or(Ordering::Equal)
    });
    behind.filter(|it| it.waiting >= WAITED_FOR)
}

/// The program behind, as it is named in a sentence.
fn words(behind: &Behind) -> String {
    let at = behind.address;
    match (behind.is_here, behind.pids.first()) {
        (true, Some(pid)) => format!(
            "the process behind it, {} (pid {pid}), at {at}",
            behind.name
        ),
        (true, None) => {
            format!("the process behind it, which we are not permitted to see, at {at}")
        }
        (false, _) => {
            format!("a program on another machine, or in another network namespace, at {at}")
        }
    }
}

/// Adds what shows that the program behind is waited for, and advises how to look at that program.
fn lead(found: &mut Limiter, behind: &Behind) {
    found.shown_by.push(format!(
        "of its {:.1} connections to {}, {:.1} wait for an answer on average",
        behind.open, behind.address, behind.waiting
    ));
    let port = behind.address.port();
    found.advice = vec![match behind.is_here {
        true => format!(
            "fix what holds that program back; `sudo linerate explain --port {port}` looks at it alone"
        ),
        false => format!("look there: `linerate explain --port {port} --on HOST`"),
    }];
}

/// The wait as a limiter, described by the program that is waited for; `otherwise` where that is
/// not known.
fn wait(case: &Case<'_>, otherwise: String, shown_by: Vec<String>) -> Limiter {
    let share = case.ledger.share(AccountKind::Elsewhere);
    let behind = behind(case.seen);
    let what = behind.map_or(otherwise, |behind| {
        format!(
            "It waits for {} for {} of the time.",
            words(behind),
            percent(share)
        )
    });
    let mut found = limiter(
        NAME,
        share,
        what,
        shown_by,
        "see what it is connected to (`ss -tnp`), and explain that program next; if there is none, it waits for a timer of its own",
    );
    if let Some(behind) = behind {
        lead(&mut found, behind);
    }
    found
}

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
        "it has requests that it has not answered, and all its threads wait for {} of the time",
        percent(share)
    );
    let otherwise = format!(
        "It has the request and waits for something else for {} of the time: a program behind it, a timer, or a limit or lock of its own on which no thread sleeps.",
        percent(share)
    );
    let mut shown_by = vec![
        by.clone(),
        format!("meanwhile its threads used {:.2} CPUs", case.cpus_used()),
    ];
    let mut accounts = case.ledger.accounts.iter();
    let most = accounts.find(|it| it.kind == AccountKind::Elsewhere);
    let at = most.and_then(|account| account.asleep_in.as_deref());
    shown_by.extend(at.and_then(|at| called_from(case.seen, at)));
    let mut found = wait(case, otherwise, shown_by);
    // The program behind it may be at its limit; a timer never is.
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), None);
    Ruling::by_share(found, || ruled_out("a program behind it", by))
}

/// Rules on a command, which was started to do its work, and waits.
fn of_a_command(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Elsewhere);
    let accounts = case.ledger.accounts.iter();
    let of_kind = accounts.filter(|account| account.kind == AccountKind::Elsewhere);
    let at: Vec<&str> = of_kind
        .filter_map(|account| account.asleep_in.as_deref())
        .take(3)
        .collect();
    let by = format!("all its threads wait for {} of the time", percent(share));
    let otherwise = format!(
        "It waits for something else for {} of the time: another program, or a timer.",
        percent(share)
    );
    let shown_by = vec![by.clone(), format!("they sleep in {}", at.join(", "))];
    let found = wait(case, otherwise, shown_by);
    Ruling::by_share(found, || ruled_out("another program", by))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, command, held, idle, is_accused, moment};
    use super::super::leads_to;
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
    fn who_is_waited_for_is_named_by_process_or_address_and_who_has_answered_is_not() {
        let at = |port, is_here, waiting| Behind {
            address: ([127, 0, 0, 1], port).into(),
            is_here,
            pids: if is_here { vec![12] } else { Vec::new() },
            name: "node".to_owned(),
            open: 9.0,
            waiting,
        };
        let mut seen = busy();
        seen.moments
            .push(moment(Holder::Program, idle("ep_poll"), 900.0));
        seen.behind = vec![at(3000, true, 0.0)];
        assert_eq!(leads_to(&seen), None);
        assert!(held(rule, &seen).what.contains("a timer"));
        seen.behind.push(at(3001, true, 8.0));
        assert_eq!(leads_to(&seen), Some(&seen.behind[1]));
        let what = held(rule, &seen).what;
        assert!(what.contains("node (pid 12), at 127.0.0.1:3001"), "{what}");
        seen.behind[1] = at(3002, false, 8.0);
        let advice = &held(rule, &seen).advice[0];
        assert!(advice.contains("--port 3002 --on HOST"), "{advice}");
        // Where something else holds it back, it leads nowhere.
        seen.moments.clear();
        assert_eq!(leads_to(&seen), None);
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
