//! Whether the CPUs may slow down by themselves.

use std::collections::BTreeSet;

use model::finding::Finding;

use super::{Subject, costly, fine};

const NAME: &str = "cpu-frequency";
const FOLDER: &str = "sys/devices/system/cpu/cpufreq";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let policies = subject.tree.names(FOLDER);
    let governors: BTreeSet<_> = policies
        .iter()
        .filter_map(|policy| {
            subject
                .tree
                .text(&format!("{FOLDER}/{policy}/scaling_governor"))
        })
        .collect();
    Some(judge(&governors))
}

fn judge(governors: &BTreeSet<String>) -> Finding {
    if governors.is_empty() {
        let what = "The frequency of the CPUs is not governed from here.";
        return fine(
            NAME,
            what,
            "no governor under /sys/devices/system/cpu/cpufreq",
        );
    }
    let names: Vec<_> = governors.iter().map(String::as_str).collect();
    let evidence = format!("scaling_governor: {}", names.join(", "));
    if names == ["performance"] {
        return fine(NAME, "The CPUs run as fast as they can.", evidence);
    }
    costly(
        "frequency-governor",
        NAME,
        "The CPUs change their frequency with the load.",
        evidence,
    )
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
