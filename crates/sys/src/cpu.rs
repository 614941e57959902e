//! Which CPUs may be used, and running on chosen ones.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread may run on, in ascending order: its inherited affinity mask,
/// not the number of CPUs installed.
///
/// # Errors
/// The kernel's error, on a machine with more than 1,024 CPUs.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    let all = 0..CpuSet::MAX_CPU;
    Ok(all.filter(|cpu| set.is_set(*cpu)).collect())
}

/// Checks that the calling thread may run on each of these CPUs.
///
/// # Errors
/// Names the first CPU that does not exist or that the inherited affinity mask leaves out; else as
/// [`allowed`].
pub fn all_allowed(cpus: &[usize]) -> io::Result<()> {
    let allowed = allowed()?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(io::Error::other(format!(
            "CPU {cpu} may not be used here; these may: {}",
            format_list(&allowed)
        ))),
        None => Ok(()),
    }
}

/// Lets the calling thread, and the children it forks later, run on these CPUs only.
///
/// # Errors
/// `EINVAL` when none of them exists or is allowed.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let known = cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU);
    known.for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// Parses a kernel CPU list such as `0-3,8`.
///
/// # Errors
/// A text that says which part is no CPU or range.
pub fn parse_list(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let bounds = part.split_once('-').unwrap_or((part, part));
        match (bounds.0.parse::<usize>(), bounds.1.parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < 4096 => cpus.extend(first..=last),
            _ => {
                return Err(format!(
                    "`{part}` is no CPU or range of CPUs, such as 2 or 0-3"
                ));
            }
        }
    }
    Ok(cpus)
}

/// Writes CPUs as the kernel does: `0-3,8`. They must be in ascending order.
pub fn format_list(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|left, right| left + 1 == *right);
    let texts = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(parse_list("0-2,5\n").unwrap(), [0, 1, 2, 5]);
        assert_eq!(format_list(&[0, 1, 2, 5]), "0-2,5");
        for wrong in ["", "a", "3-1", "1-", "99999"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_only() {
        let first = allowed().unwrap()[0];
        std::thread::spawn(move || {
            pin(&[first]).unwrap();
            assert_eq!(allowed().unwrap(), [first]);
        })
        .join()
        .unwrap();
    }
}
