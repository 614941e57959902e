//! Connections to one address have used up the ports that are available for them.

use super::{Case, Ruling, limiter, percent, ruled_out};

const WHAT: &str = "ports for connections to a program behind it";
/// Share of the available ports from which on they are used up: others hold some of the last ones.
const ALL_BUT_FEW: f64 = 0.9;

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let (Some(used), Some(all)) = (
        case.seen.counter("ports.most_used"),
        case.seen.counter("ports.to_choose_from"),
    ) else {
        return Ruling::Silent;
    };
    let by = format!("connections to one address occupy {used} of {all} ports");
    if (used as f64) < ALL_BUT_FEW * all as f64 {
        return Ruling::Not(ruled_out(WHAT, by));
    }
    let failed = case.seen.load.map_or(0, |load| load.errors.failed());
    let asked = case.answered().unwrap_or(0) + failed;
    let share = match case.seen.load {
        Some(_) => failed as f64 / asked.max(1) as f64,
        None => 1.0,
    };
    let mut found = limiter(
        "ports",
        share,
        "No port is left for further connections to the program behind it.".to_owned(),
        vec![
            by.clone(),
            format!("{} of the requests failed", percent(share)),
        ],
        "keep the connections to the program behind it open (upstream keepalive); otherwise more ports (net.ipv4.ip_local_port_range), more addresses there, or tcp_tw_reuse",
    );
    found.gain = "the requests that fail".to_owned();
    found.follows = None;
    Ruling::by_share(found, || ruled_out(WHAT, by))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, is_accused};
    use super::*;

    #[test]
    fn ports_that_are_used_up_are_told_where_requests_fail_for_it() {
        let mut seen = busy();
        for (used, failed, expected) in [
            (28_000, 90_000, true),
            (28_000, 0, false),
            (64, 90_000, false),
        ] {
            let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
            count("ports.most_used", used);
            count("ports.to_choose_from", 28_232);
            seen.load.as_mut().unwrap().errors.status = failed;
            assert_eq!(is_accused(rule, &seen), expected, "{used} {failed}");
        }
    }
}
