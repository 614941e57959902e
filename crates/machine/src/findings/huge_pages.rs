//! Whether the kernel uses huge pages without being asked.

use model::finding::Finding;

use super::Subject;

const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.tree.text(FILE).as_deref()))
}

pub(super) fn judge(enabled: Option<&str>) -> Finding {
    match enabled {
        None => say!("huge-pages.absent"),
        Some(enabled) if enabled.contains("[always]") => say!("huge-pages.unasked", enabled),
        Some(enabled) => say!("huge-pages.asked_for", enabled),
    }
}
