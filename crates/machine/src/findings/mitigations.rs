//! What the kernel does against speculative execution attacks, in short.

use std::collections::BTreeMap;

use model::finding::Finding;

use super::Subject;
use crate::facts;

/// Words in the states of those mitigations that cost time at each entry into the kernel.
const COSTLY: [&str; 6] = [
    "Retpolines",
    "PTI",
    "Clear CPU buffers",
    "IBRS",
    "untrained return thunk",
    "Safe RET",
];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(&facts::mitigations(&subject.tree)))
}

pub(super) fn judge(states: &BTreeMap<String, String>) -> Finding {
    let of = |is_meant: &dyn Fn(&str) -> bool| {
        let names = states.iter().filter(|(_, state)| is_meant(state));
        names.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let mitigated = or_none(&of(&|state| state.starts_with("Mitigation")));
    let vulnerable = or_none(&of(&|state| state.starts_with("Vulnerable")));
    let spared = of(&|state| state.starts_with("Not affected")).len();
    let dear = of(&|state| COSTLY.iter().any(|word| state.contains(word)));
    let (count, dear) = (dear.len(), dear.join(", "));
    match count {
        _ if states.is_empty() => say!("mitigations.hidden"),
        0 => say!("mitigations.none", mitigated, vulnerable, spared),
        1 => say!("mitigations.one", dear, mitigated, vulnerable, spared),
        _ => say!(
            "mitigations.several",
            count,
            dear,
            mitigated,
            vulnerable,
            spared
        ),
    }
}

fn or_none(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
