//! What the kernel does against speculative execution, in short.

use model::finding::Finding;

use super::{Subject, costly, counted, fine, unknown};

const NAME: &str = "mitigations";
const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
/// Words of those that cost something at each entry into the kernel.
const COSTLY: [&str; 6] = [
    "Retpolines",
    "PTI",
    "Clear CPU buffers",
    "IBRS",
    "untrained return thunk",
    "Safe RET",
];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let names = subject.tree.names(FOLDER);
    let states: Vec<_> = names
        .into_iter()
        .filter_map(|name| Some((subject.tree.text(&format!("{FOLDER}/{name}"))?, name)))
        .map(|(state, name)| (name, state))
        .collect();
    Some(judge(&states))
}

fn judge(states: &[(String, String)]) -> Finding {
    if states.is_empty() {
        let evidence = "/sys/devices/system/cpu/vulnerabilities is not there";
        return unknown(NAME, "The kernel does not say what it mitigates.", evidence);
    }
    let of = |prefix: &str| {
        let names = states.iter().filter(|(_, state)| state.starts_with(prefix));
        names.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let dear: Vec<_> = states
        .iter()
        .filter(|(_, state)| COSTLY.iter().any(|word| state.contains(word)))
        .map(|(name, _)| name.as_str())
        .collect();
    let evidence = format!(
        "mitigated: {}; vulnerable: {}; not affected: {}",
        or_none(&of("Mitigation")),
        or_none(&of("Vulnerable")),
        of("Not affected").len()
    );
    if dear.is_empty() {
        return fine(
            NAME,
            "No mitigation is on that makes entering the kernel dear.",
            evidence,
        );
    }
    let count = counted(dear.len(), "mitigation makes", "mitigations make");
    costly(
        "mitigations",
        NAME,
        format!(
            "{}{} entering the kernel dearer: {}.",
            &count[..1].to_uppercase(),
            &count[1..],
            dear.join(", ")
        ),
        evidence,
    )
}

fn or_none(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    fn states(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()))
            .collect()
    }

    #[test]
    fn dear_mitigations_are_named() {
        let finding = judge(&states(&[
            ("meltdown", "Mitigation: PTI"),
            ("spectre_v1", "Mitigation: usercopy/swapgs barriers"),
            ("mds", "Not affected"),
            ("retbleed", "Vulnerable"),
        ]));
        assert_eq!(
            finding.what,
            "One mitigation makes entering the kernel dearer: meltdown."
        );
        assert!(
            finding
                .evidence
                .contains("vulnerable: retbleed; not affected: 1")
        );
    }

    #[test]
    fn a_cpu_that_is_not_affected_is_fine_and_a_silent_kernel_unknown() {
        assert_eq!(
            judge(&states(&[("mds", "Not affected")])).severity,
            Severity::Fine
        );
        assert_eq!(judge(&[]).severity, Severity::Unknown);
    }
}
