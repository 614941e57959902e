//! The hypervisor gives the machine's CPUs to others.

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let (Some(stolen), Some(all)) = (
        case.seen.counter("cpus.stolen_ns"),
        case.seen.counter("cpus.all_ns"),
    ) else {
        return Ruling::Silent;
    };
    let share = stolen as f64 / all.max(1) as f64;
    let by = format!("{} of all CPU time was stolen (/proc/stat)", percent(share));
    let found = limiter(
        "stolen-time",
        share,
        format!(
            "The hypervisor runs others on our CPUs for {} of the time.",
            percent(share)
        ),
        vec![by.clone()],
        "use another machine, a larger one, or one with dedicated CPUs; spent burst credit looks the same",
    );
    // Not all hypervisors report stolen time.
    Ruling::by_share(found, || {
        ruled_out("stolen time, as far as the hypervisor reports it", by)
    })
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, is_accused};
    use super::*;

    #[test]
    fn a_fifth_that_is_stolen_is_told_and_a_hundredth_is_not() {
        let mut seen = busy();
        for (stolen, expected) in [(20, true), (1, false)] {
            seen.counters.insert("cpus.stolen_ns".to_owned(), stolen);
            seen.counters.insert("cpus.all_ns".to_owned(), 100);
            assert_eq!(is_accused(rule, &seen), expected);
        }
    }
}
