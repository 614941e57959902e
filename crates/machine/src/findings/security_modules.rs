//! Which security modules are asked for each access.

use model::finding::Finding;

use super::{Subject, fine, unknown};
use crate::errno::denied;

const NAME: &str = "security-modules";
const FILE: &str = "sys/kernel/security/lsm";
/// Those that the kernel has built in for its own, and that decide nothing per packet or call of a
/// server: they are always there, or rule over tracing, loading and one's own children.
const QUIET: [&str; 8] = [
    "capability",
    "integrity",
    "landlock",
    "lockdown",
    "loadpin",
    "safesetid",
    "yama",
    "ipe",
];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(match subject.tree.try_text(FILE) {
        Ok(list) => judge(list.trim()),
        Err(error) => unknown(
            NAME,
            "Which security modules are asked cannot be seen.",
            denied("/sys/kernel/security/lsm", &error),
        ),
    })
}

/// A module that protects is as it should be; its part of each call belongs to the machine that
/// is measured, so it is told.
fn judge(list: &str) -> Finding {
    let evidence = format!("/sys/kernel/security/lsm: {list}");
    let asked: Vec<_> = list
        .split(',')
        .filter(|name| !name.is_empty() && !QUIET.contains(name))
        .collect();
    if asked.is_empty() {
        return fine(NAME, "No security module is asked for each call.", evidence);
    }
    let names = asked.join(", ");
    fine(
        NAME,
        format!(
            "Security modules may be asked for each call: {names}; compare only machines alike."
        ),
        evidence,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_decide_per_call_are_named_and_the_quiet_ones_are_not() {
        let finding = judge("lockdown,capability,yama,apparmor,bpf");
        assert!(finding.what.contains("apparmor, bpf;"), "{}", finding.what);
        assert!(
            judge("capability,landlock")
                .what
                .starts_with("No security module")
        );
        assert!(judge("").what.starts_with("No security module"));
    }
}
