//! Whether a process lives under a system call filter.

use model::finding::Finding;

use super::{Subject, costly, counted, fine, unknown};
use crate::errno::denied;

const NAME: &str = "seccomp";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let (file, whose) = match subject.pid {
        Some(pid) => (format!("proc/{pid}/status"), format!("Process {pid}")),
        None => (
            "proc/self/status".to_owned(),
            "What is started from here".to_owned(),
        ),
    };
    Some(match subject.tree.try_text(&file) {
        Ok(status) => judge(&status, &whose),
        Err(error) => unknown(
            NAME,
            "System call filters cannot be seen.",
            denied(&format!("/{file}"), &error),
        ),
    })
}

fn judge(status: &str, whose: &str) -> Finding {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse::<usize>().ok())
    };
    let Some(mode) = number("Seccomp:") else {
        let what = "This kernel has no system call filters.";
        return fine(NAME, what, "/proc/PID/status has no line `Seccomp`");
    };
    // Before Linux 5.9 the number of filters is not shown.
    let filters = number("Seccomp_filters:").unwrap_or_else(|| usize::from(mode == 2));
    let evidence = format!("/proc/PID/status: Seccomp {mode}, Seccomp_filters {filters}");
    if mode != 2 {
        return fine(
            NAME,
            format!("{whose} lives under no system call filter."),
            evidence,
        );
    }
    costly(
        "system-call-filter",
        NAME,
        format!(
            "{whose} lives under {}.",
            counted(filters, "system call filter", "system call filters")
        ),
        evidence,
    )
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn the_filters_of_a_process_are_counted() {
        let finding = judge(
            "Name:\tnginx\nSeccomp:\t2\nSeccomp_filters:\t3\n",
            "Process 9",
        );
        assert_eq!(finding.severity, Severity::Notice);
        assert_eq!(finding.what, "Process 9 lives under 3 system call filters.");
        assert_eq!(
            judge("Seccomp:\t2\n", "It").what,
            "It lives under one system call filter."
        );
    }

    #[test]
    fn without_filters_all_is_fine() {
        assert_eq!(
            judge("Seccomp:\t0\nSeccomp_filters:\t0\n", "It").severity,
            Severity::Fine
        );
        assert_eq!(judge("Name:\tx\n", "It").severity, Severity::Fine);
    }
}
