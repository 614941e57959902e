//! Whether a process runs under a system call filter.

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

pub(super) fn judge(status: &str, whose: &str) -> Finding {
    let number = |name: &str| behind(status, name).and_then(|rest| rest.parse::<usize>().ok());
    let Some(mode) = number("Seccomp:") else {
        return say!("seccomp.absent");
    };
    // Kernels before Linux 5.9 do not show the number of filters.
    let filters = number("Seccomp_filters:").unwrap_or_else(|| usize::from(mode == 2));
    let counted = counted(filters, "system call filter", "system call filters");
    match mode {
        2 => say!("seccomp.filtered", whose, counted, mode, filters),
        _ => say!("seccomp.none", whose, mode, filters),
    }
}
