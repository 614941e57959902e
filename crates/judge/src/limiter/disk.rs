//! The program sleeps until a disk has finished something.

use model::explanation::{AccountKind, Hindrance};
use model::observation::Doing;

use super::lock::is_lock;
use super::{Case, Ruling, limiter, memory, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if case.seen.threads.is_empty() {
        return Ruling::Silent;
    }
    let share = if memory::is_read_again(case) {
        0.0
    } else {
        share(case)
    };
    let functions: Vec<&str> = case
        .ledger
        .accounts
        .iter()
        .filter(|it| it.kind == AccountKind::Blocked)
        .filter_map(|it| it.asleep_in.as_deref())
        .filter(|at| !is_lock(at))
        .take(3)
        .collect();
    let read = case.rate(case.seen.rise("program.disk_read_bytes")) / 1e6;
    let written = case.rate(case.seen.rise("program.disk_write_bytes")) / 1e6;
    let by = format!(
        "blocked (state D) for {} of the time; {read:.1} MB/s read, {written:.1} MB/s written",
        percent(share)
    );
    let mut found = limiter(
        "disk",
        share,
        format!("It waits for a disk for {} of the time.", percent(share)),
        vec![
            by.clone(),
            format!("threads sleep in {}", functions.join(", ")),
            format!(
                "some task waited for a disk for {} of the time (PSI)",
                percent(
                    case.seen.rise("pressure.io_us") as f64 * 1e3
                        / case.seen.window_ns.max(1) as f64
                )
            ),
        ],
        "more memory for the page cache, a faster disk, or reads in threads of their own (aio threads, io_uring)",
    );
    found.hindrance = Some(Hindrance::Connections);
    // All requests in hand may wait for a disk at once, until the disk can take no more.
    let is_queue = case.is_queue(|doing| matches!(doing, Doing::Blocked(_)));
    found.follows = is_queue.then_some(false);
    Ruling::by_share(found, || ruled_out("a disk", by))
}

/// Share of the time in which the program is blocked, but not by a lock.
pub(super) fn share(case: &Case<'_>) -> f64 {
    case.sleeping(|kind, at| kind == AccountKind::Blocked && !is_lock(at))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, is_accused, moment};
    use super::*;

    #[test]
    fn a_program_that_is_blocked_half_of_the_time_waits_for_a_disk() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.moments.push(moment(
            Holder::Program,
            Doing::Blocked("folio_wait_bit_common".to_owned()),
            100.0,
        ));
        let found = held(rule, &seen);
        assert!(
            found.shown_by[1].contains("folio_wait_bit_common"),
            "{found:?}"
        );
    }
}
