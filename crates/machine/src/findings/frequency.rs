//! Whether the CPUs may slow down by themselves.

use std::collections::BTreeSet;

use model::finding::Finding;

use super::Subject;

const FOLDER: &str = "sys/devices/system/cpu/cpufreq";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let policies = subject.tree.names(FOLDER).into_iter();
    let governor = |policy| {
        subject
            .tree
            .text(&format!("{FOLDER}/{policy}/scaling_governor"))
    };
    Some(judge(&policies.filter_map(governor).collect()))
}

pub(super) fn judge(governors: &BTreeSet<String>) -> Finding {
    let names: Vec<_> = governors.iter().map(String::as_str).collect();
    let governors = names.join(", ");
    match names.as_slice() {
        [] => say!("cpu-frequency.not_ours"),
        ["performance"] => say!("cpu-frequency.highest", governors),
        _ => say!("cpu-frequency.changes", governors),
    }
}
