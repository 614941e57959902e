//! The program answers with errors.

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let Some(load) = case.seen.load else {
        return Ruling::Silent;
    };
    let asked = case.answered().unwrap_or(0) + load.errors.failed();
    let share = load.errors.status as f64 / asked.max(1) as f64;
    let by = format!(
        "{} of the requests were answered with a status of 400 or above",
        percent(share)
    );
    let mut found = limiter(
        "errors",
        share,
        format!(
            "It answers {} of the requests with an error.",
            percent(share)
        ),
        vec![by.clone()],
        "see its log: it may be an intended limit of requests or connections (limit_req, limit_conn); if a program behind it refuses or is full, look at that program next",
    );
    found.gain = "the requests that are refused".to_owned();
    Ruling::by_share(found, || ruled_out("errors", by))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, held, is_accused};
    use super::*;

    #[test]
    fn requests_that_are_refused_are_told_and_those_that_are_cut_off_are_not() {
        let mut seen = busy();
        let load = seen.load.as_mut().unwrap();
        load.errors.unfinished = load.answered;
        assert!(!is_accused(rule, &seen));
        let load = seen.load.as_mut().unwrap();
        load.errors.status = load.answered;
        assert_eq!(held(rule, &seen).share, 0.5);
    }
}
