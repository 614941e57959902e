//! Programs wait for memory: pages are given back and fetched again.

use super::{Case, Ruling, advice, gain, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let Some(waited_us) = case.seen.counter("pressure.memory_us") else {
        return Ruling::Silent;
    };
    let share = waited_us as f64 * 1e3 / case.seen.window_ns.max(1) as f64;
    let by = format!(
        "some task waited for memory for {} of the time (PSI); {:.0} pages a second were fetched again, {:.0} major faults",
        percent(share),
        case.rate(
            case.seen.rise("memory.workingset_refault_file")
                + case.seen.rise("memory.workingset_refault_anon")
        ),
        case.rate(case.seen.rise("memory.pgmajfault"))
    );
    let mut found = limiter(
        "memory",
        share.min(1.0),
        format!(
            "Memory is short: tasks wait for it for {} of the time.",
            percent(share)
        ),
        vec![by.clone()],
    );
    found.gain = gain(found.share);
    found.advice = advice([
        "give its control group or the machine more memory, or have it keep less (caches, workers)",
    ]);
    Ruling::by_share(found, || ruled_out("memory", by))
}

#[cfg(test)]
mod tests {
    use super::super::cases::{busy, is_accused};
    use super::*;

    #[test]
    fn pressure_of_a_fifth_is_told_and_of_a_hundredth_is_not() {
        let mut seen = busy();
        for (waited_us, expected) in [(200_000, true), (10_000, false)] {
            seen.counters
                .insert("pressure.memory_us".to_owned(), waited_us);
            assert_eq!(is_accused(rule, &seen), expected, "{waited_us}");
        }
    }
}
