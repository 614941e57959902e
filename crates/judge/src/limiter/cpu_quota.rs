//! The control group of the program has used up its CPU time, and waits for the next period.

use model::explanation::Hindrance;

use super::{Case, Ruling, limiter, percent, ruled_out};

const WHAT: &str = "a CPU quota";

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let seen = case.seen;
    let (Some(quota), Some(periods)) = (
        seen.counter("group.quota_mcpu"),
        seen.counter("group.periods"),
    ) else {
        return match seen.threads.is_empty() {
            true => Ruling::Silent,
            false => Ruling::Not(ruled_out(WHAT, "its control group has none".to_owned())),
        };
    };
    let throttled = seen.rise("group.throttled_periods");
    let share = throttled_share(case);
    let cpus = quota as f64 / 1000.0;
    let mut found = limiter(
        "cpu-quota",
        share,
        format!(
            "Its control group may use {cpus:.2} CPUs and has used them up: for {} of the time it is stopped until the next period.",
            percent(share)
        ),
        vec![
            format!("throttled in {throttled} of {periods} periods (cpu.stat)"),
            format!("it had {:.2} CPUs, of {cpus:.2} allowed", case.cpus_used()),
        ],
        "raise the quota (cpu.max, `docker update --cpus`, the container's CPU limit), or run only as many workers as it allows CPUs",
    );
    (found.hindrance, found.follows) = (Some(Hindrance::Connections), Some(false));
    found.closer = Some(Hindrance::Quota);
    Ruling::by_share(found, || {
        ruled_out(
            WHAT,
            format!("{cpus:.2} CPUs allowed, throttled in {throttled} of {periods} periods"),
        )
    })
}

/// Share of the time that the program could have used in which its group was throttled.
pub(super) fn throttled_share(case: &Case<'_>) -> f64 {
    let throttled_ns = case.seen.rise("group.throttled_us") as f64 * 1e3;
    let running_ns = case.cpus_used() * case.seen.window_ns as f64;
    match throttled_ns > 0.0 {
        true => throttled_ns / (throttled_ns + running_ns),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, held, is_accused, thread};
    use super::*;

    #[test]
    fn a_group_that_is_throttled_in_most_periods_is_held_back_by_its_quota_and_one_in_few_is_not() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.threads = vec![thread(1, 300)];
        seen.counters.extend(
            [
                ("group.quota_mcpu", 300),
                ("group.periods", 10),
                ("group.throttled_periods", 10),
                ("group.throttled_us", 700_000),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let found = held(rule, &seen);
        assert!((found.share - 0.7).abs() < 1e-9, "{found:?}");
        seen.counters.insert("group.throttled_us".to_owned(), 1_000);
        assert!(!is_accused(rule, &seen));
    }
}
