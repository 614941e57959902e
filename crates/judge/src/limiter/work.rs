//! The work itself: the program's own code, and what the kernel does for it.

use model::explanation::{AccountKind, Hindrance};

use super::{Case, Ruling, Stacks, gain, limiter, part, parts, percent, ruled_out};

/// At most this many functions or calls are named.
const NAMED: usize = 4;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.threads.is_empty() {
        return Ruling::Silent;
    }
    let [own, kernel] =
        [AccountKind::OwnCode, AccountKind::Kernel].map(|kind| case.ledger.share(kind));
    // A part of the work that has its own name is a limiter of its own.
    let share = case.at_work() * (1.0 - part::of(case).map_or(0.0, |part| part.of_cpu));
    let each = case.answered().map(|answered| {
        let used_us = case.cpus_used() * case.seen.window_ns as f64 / 1e3;
        format!(
            ", {:.1} µs of CPU for each answer",
            used_us / answered as f64
        )
    });
    let by = format!(
        "it used {:.2} CPUs{}",
        case.cpus_used(),
        each.unwrap_or_default()
    );
    let (mostly, what_to_do) = match own >= kernel {
        true => (
            "mostly in its own code",
            "look at the functions that take the time, and have more threads where CPUs are idle",
        ),
        false => (
            "mostly in the kernel on its behalf",
            "fewer and larger system calls and packets; `linerate doctor` names what makes each more expensive",
        ),
    };
    let mut found = limiter(
        "work",
        share,
        format!(
            "The work itself: it has a CPU for {} of the time, {mostly}.",
            percent(share)
        ),
        vec![
            by.clone(),
            format!(
                "its own code for {}, the kernel for {}",
                percent(own),
                percent(kernel)
            ),
        ],
        what_to_do,
    );
    found.gain = gain(own.max(kernel));
    found.shown_by.extend(calls(case));
    if let Some(stacks) = &case.seen.stacks {
        if let Some((function, of_cpu)) = parts::hot(stacks) {
            "hot-function".clone_into(&mut found.name);
            found.what = format!(
                "{} of its CPU time goes to its function {function}.",
                percent(of_cpu)
            );
            found.gain = gain(of_cpu * found.share);
            found.advice = vec![format!("make {function} cheaper, or call it less")];
        }
        found.shown_by.extend(functions(stacks));
    }
    found.hindrance = Some(Hindrance::ServerCpus);
    Ruling::by_share(found, || ruled_out("its own work", by))
}

/// Names the system calls that it makes most. Only shares are given: counting slows the program
/// down, so how many calls it makes otherwise is not known.
pub(super) fn calls(case: &Case<'_>) -> Option<String> {
    let counts = &case.seen.calls.as_ref()?.counts;
    let all: f64 = counts.values().map(|count| *count as f64).sum();
    let mut most: Vec<(&String, f64)> = counts
        .iter()
        .map(|(name, count)| (name, *count as f64))
        .collect();
    most.sort_by(|one, other| other.1.total_cmp(&one.1));
    let most = most.into_iter().take(NAMED);
    let named: Vec<String> = most
        .map(|(name, count)| format!("{name} {}", percent(count / all)))
        .collect();
    (all > 0.0).then(|| format!("system calls: {}", named.join(", ")))
}

/// Names the functions in which it spent most of its CPU time.
pub(super) fn functions(stacks: &Stacks) -> Option<String> {
    let busiest = parts::busiest(stacks, NAMED).into_iter();
    let named: Vec<String> = busiest
        .map(|(name, share)| format!("{name} {}", percent(share)))
        .collect();
    let sentence = format!(
        "busiest functions: {} ({} samples, {} of them cut)",
        named.join(", "),
        stacks.samples,
        stacks.cut
    );
    (!named.is_empty()).then_some(sentence)
}

#[cfg(test)]
mod tests {
    use model::observation::{Holder, SeenCalls};
    use model::stacks::StackFrame;

    use super::super::Rule;
    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn a_part_of_the_work_has_its_share_of_it_and_a_function_is_named_as_the_work() {
        let mut seen = busy();
        let stacks = |name: &str| {
            let rest = vec![
                StackFrame::of_program("main"),
                StackFrame::of_kernel("tcp_sendmsg"),
            ];
            let frames = vec![StackFrame::of_program("main"), StackFrame::of_program(name)];
            Some(Stacks {
                samples: 100,
                ..Stacks::of(100, [(frames, 40), (rest, 60)])
            })
        };
        let asked: [(&str, Rule, &str, f64); 2] = [
            ("SSL_do_handshake", part::rule, "handshakes", 0.4 * 0.9),
            ("parse", rule, "hot-function", 0.9),
        ];
        for (function, rule, expected, share) in asked {
            seen.stacks = stacks(function);
            let found = held(rule, &seen);
            assert_eq!((&found.name[..], found.share), (expected, share));
            assert!(found.what.contains("40 %"), "{}", found.what);
        }
        seen.stacks = stacks("SSL_do_handshake");
        assert!((held(rule, &seen).share - 0.6 * 0.9).abs() < 1e-9);
        seen.stacks = stacks("parse");
        assert!(!is_accused(part::rule, &seen));
    }

    #[test]
    fn the_system_calls_that_are_made_most_are_told() {
        let mut seen = busy();
        let counts = [
            ("recvfrom".to_owned(), 9_000),
            ("sendto".to_owned(), 11_000),
        ];
        seen.calls = Some(SeenCalls {
            window_ns: 100_000_000,
            acked_bytes: None,
            counts: counts.into(),
        });
        let found = held(rule, &seen);
        assert_eq!(
            found.shown_by[2],
            "system calls: sendto 55 %, recvfrom 45 %"
        );
    }

    #[test]
    fn a_busy_program_is_told_where_it_spends_its_time_and_an_idle_one_is_not_accused() {
        let mut seen = busy();
        let found = held(rule, &seen);
        assert!(
            found.what.contains("mostly in the kernel"),
            "{}",
            found.what
        );
        assert!(
            found.shown_by[0].contains("9.9 µs of CPU for each answer"),
            "{found:?}"
        );
        seen.moments = vec![moment(Holder::Client, idle("ep_poll"), 10.0)];
        assert!(!is_accused(rule, &seen));
    }
}
