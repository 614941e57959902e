//! Programs wait for memory: pages are evicted and fetched again.

use super::{Case, Ruling, disk, limiter, part, percent, ruled_out};

/// The kernel counts pages of the smallest size.
const PAGE_BYTES: u64 = 4096;
/// Most CPU time that fetching a page again takes, with its neighbours that are read ahead, ns.
const FETCHED_NS: f64 = 10_000.0;
/// The part of the work that fetches pages.
const FAULTS: &str = "page-faults";

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let Some(waited_us) = case.seen.counter("pressure.memory_us") else {
        return Ruling::Silent;
    };
    let pressure = waited_us as f64 * 1e3 / case.seen.window_ns.max(1) as f64;
    let share = if is_read_again(case) {
        pressure.max(disk::share(case))
    } else {
        pressure
    };
    let at_work = fetching(case);
    let by = format!(
        "some task waited for memory for {} of the time (PSI); {:.0} pages a second were fetched again, {:.0} major faults",
        percent(pressure),
        case.rate(fetched(case)),
        case.rate(case.seen.rise("memory.pgmajfault"))
    );
    let mut found = limiter(
        "memory",
        (share + at_work).min(1.0),
        format!(
            "Memory is short: tasks wait for it for {} of the time.",
            percent((share + at_work).min(1.0))
        ),
        vec![by.clone()],
        "give its control group or the machine more memory, or have it keep less (caches, workers)",
    );
    if share > pressure {
        found.shown_by.push(format!(
            "it waits for a disk for {} of the time, and most of what it reads there had just been evicted from memory",
            percent(share)
        ));
    }
    if at_work > 0.0 {
        found.shown_by.push(format!(
            "it spends {} of the time fetching pages again",
            percent(at_work)
        ));
    }
    Ruling::by_share(found, || ruled_out("memory", by))
}

/// Pages fetched again that were in memory shortly before (mm/workingset.c).
fn fetched(case: &Case<'_>) -> u64 {
    let kinds = ["file", "anon"].map(|kind| format!("memory.workingset_refault_{kind}"));
    kinds.iter().map(|name| case.seen.rise(name)).sum()
}

/// Share of the time in which the program itself works to fetch pages again.
fn fetching(case: &Case<'_>) -> f64 {
    let faults = part::of(case).filter(|part| is_fetching(case, part));
    faults.map_or(0.0, |part| case.at_work() * part.of_cpu)
}

/// Whether a part of the work is fetching pages again, and not the first use of memory.
pub(super) fn is_fetching(case: &Case<'_>, part: &part::NamedPart) -> bool {
    let cpu_ns = part.of_cpu * case.cpus_used() * case.seen.window_ns as f64;
    part.name == FAULTS && fetched(case) as f64 * FETCHED_NS >= cpu_ns
}

/// Whether most of what the program reads was in memory shortly before, and had to leave
/// (mm/workingset.c). Pages are counted for the whole machine: a program that reads next to nothing
/// waits for none of them, and one that writes more than it reads waits for its writes.
pub(super) fn is_read_again(case: &Case<'_>) -> bool {
    let again = case
        .seen
        .rise("memory.workingset_refault_file")
        .saturating_mul(PAGE_BYTES);
    let read = case.seen.rise("program.disk_read_bytes");
    again > 0 && read > case.seen.rise("program.disk_write_bytes") && 2 * again > read
}

#[cfg(test)]
mod tests {
    use model::observation::{Doing, Holder};
    use model::stacks::{StackFrame, Stacks};

    use super::super::cases::{busy, held, is_accused, moment};
    use super::*;

    #[test]
    fn what_was_in_memory_just_before_is_read_again_for_want_of_it() {
        let mut seen = busy();
        let blocked = Doing::Blocked("folio_wait_bit_common".to_owned());
        seen.moments.push(moment(Holder::Unread, blocked, 100.0));
        let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
        count("pressure.memory_us", 0);
        count("program.disk_read_bytes", 4_096_000);
        assert!(!is_accused(rule, &seen) && is_accused(disk::rule, &seen));
        seen.counters
            .insert("memory.workingset_refault_file".to_owned(), 900);
        assert!(is_accused(rule, &seen) && !is_accused(disk::rule, &seen));
        // No more pressure is reported than the kernel reports.
        let shown_by = held(rule, &seen).shown_by;
        assert!(shown_by[0].contains("for 0 % of"), "{shown_by:?}");
        assert!(shown_by[1].contains("a disk for 50 %"), "{shown_by:?}");
    }

    #[test]
    fn who_waits_for_its_writes_waits_for_the_disk_whatever_others_fetch_again() {
        let mut seen = busy();
        let blocked = Doing::Blocked("folio_wait_bit".to_owned());
        seen.moments.push(moment(Holder::Program, blocked, 100.0));
        let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
        count("pressure.memory_us", 0);
        count("memory.workingset_refault_file", 2);
        for (read, written) in [(0, 0), (0, 4_096_000), (4_096, 4_096_000)] {
            let mut count = |name: &str, value| seen.counters.insert(name.to_owned(), value);
            count("program.disk_read_bytes", read);
            count("program.disk_write_bytes", written);
            let is_disk = is_accused(disk::rule, &seen) && !is_accused(rule, &seen);
            assert!(is_disk, "{read} {written}");
        }
    }

    #[test]
    fn pressure_of_a_fifth_is_told_and_of_a_hundredth_is_not() {
        let mut seen = busy();
        for (waited_us, expected) in [(200_000, true), (10_000, false)] {
            seen.counters
                .insert("pressure.memory_us".to_owned(), waited_us);
            assert_eq!(is_accused(rule, &seen), expected, "{waited_us}");
        }
    }

    #[test]
    fn page_faults_that_fetch_what_was_there_are_memory_and_those_of_new_memory_are_not() {
        let mut seen = busy();
        let faults = [
            StackFrame::of_program("app"),
            StackFrame::of_kernel("handle_mm_fault"),
        ];
        seen.stacks = Some(Stacks::of(100, [(faults.to_vec(), 100)]));
        seen.counters.insert("pressure.memory_us".to_owned(), 0);
        assert!(is_accused(part::rule, &seen) && !is_accused(rule, &seen));
        let again = "memory.workingset_refault_file".to_owned();
        seen.counters.insert(again, 200_000);
        assert!(!is_accused(part::rule, &seen) && is_accused(rule, &seen));
    }
}
