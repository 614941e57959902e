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

fn judge(governors: &BTreeSet<String>) -> Finding {
    let names: Vec<_> = governors.iter().map(String::as_str).collect();
    let governors = names.join(", ");
    match names.as_slice() {
        [] => say!("cpu-frequency.not_ours"),
        ["performance"] => say!("cpu-frequency.highest", governors),
        _ => say!("cpu-frequency.changes", governors),
    }
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    fn judged(governors: &[&str]) -> Severity {
        judge(&governors.iter().map(|name| (*name).to_owned()).collect()).severity
    }

    #[test]
    fn only_performance_on_all_cpus_or_no_governor_is_fine() {
        assert_eq!(judged(&[]), Severity::Fine);
        assert_eq!(judged(&["performance"]), Severity::Fine);
        assert_eq!(judged(&["performance", "powersave"]), Severity::Notice);
        assert_eq!(judged(&["schedutil"]), Severity::Notice);
    }
}
