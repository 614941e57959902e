//! The program has as many files open as it may, and can accept no connection.

use model::observation::Holder;

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let (Some(open), Some(limit)) = (
        case.seen.counter("files.open"),
        case.seen.counter("files.limit"),
    ) else {
        return Ruling::Silent;
    };
    let by = format!("{open} of {limit} files are open");
    // At the limit, one or two files may be opened and closed again.
    if open + 2 < limit {
        return Ruling::Not(ruled_out("the limit of open files", by));
    }
    let unread: f64 = case
        .seen
        .moments
        .iter()
        .filter(|it| it.holder == Holder::Unread)
        .map(|it| it.count)
        .sum();
    let all: f64 = case.seen.moments.iter().map(|it| it.count).sum();
    let share = if all > 0.0 { unread / all } else { 0.0 };
    let mut found = limiter(
        "descriptors",
        share,
        "It has as many files open as it may: no further connection is accepted.".to_owned(),
        vec![
            by.clone(),
            format!("requests wait unread for {} of the time", percent(share)),
        ],
        "raise the limit (LimitNOFILE= of its unit, `ulimit -n`, worker_rlimit_nofile), and close idle connections sooner",
    );
    found.gain = "all connections above the limit".to_owned();
    Ruling::by_share(found, || ruled_out("the limit of open files", by))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, is_accused};
    use super::*;

    #[test]
    fn a_program_at_its_limit_with_requests_unread_is_held_back_by_it_and_one_below_is_not() {
        let mut seen = busy();
        for (open, expected) in [(1023, true), (1024, true), (500, false)] {
            seen.counters.insert("files.open".to_owned(), open);
            seen.counters.insert("files.limit".to_owned(), 1024);
            assert_eq!(is_accused(rule, &seen), expected, "{open}");
        }
    }
}
