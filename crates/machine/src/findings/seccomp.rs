//! Whether a process lives under a system call filter.

use model::finding::Finding;

use super::{Subject, counted};
use crate::errno::denied;
use crate::tree::behind;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let (process, whose) = match subject.pid {
        Some(pid) => (pid.to_string(), format!("Process {pid}")),
        None => ("self".to_owned(), "What is started from here".to_owned()),
    };
    let file = format!("proc/{process}/status");
    Some(match subject.tree.try_text(&file) {
        Ok(status) => judge(&status, &whose),
        Err(error) => {
            let refused = denied(&format!("/{file}"), &error);
            say!("seccomp.hidden", refused)
        }
    })
}

fn judge(status: &str, whose: &str) -> Finding {
    let number = |name: &str| behind(status, name).and_then(|rest| rest.parse::<usize>().ok());
    let Some(mode) = number("Seccomp:") else {
        return say!("seccomp.absent");
    };
    // Before Linux 5.9 the number of filters is not shown.
    let filters = number("Seccomp_filters:").unwrap_or_else(|| usize::from(mode == 2));
    let counted = counted(filters, "system call filter", "system call filters");
    match mode {
        2 => say!("seccomp.filtered", whose, counted, mode, filters),
        _ => say!("seccomp.none", whose, mode, filters),
    }
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
