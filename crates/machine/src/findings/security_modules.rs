//! Which security modules the kernel asks at each access.

use model::finding::Finding;

use super::Subject;
use crate::errno::denied;

const FILE: &str = "sys/kernel/security/lsm";
/// Modules that decide nothing per packet or call of a server: they are always built in, or govern
/// tracing, loading and a process's own children.
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
        Err(error) => {
            let refused = denied("/sys/kernel/security/lsm", &error);
            say!("security-modules.hidden", refused)
        }
    })
}

pub(super) fn judge(list: &str) -> Finding {
    let is_asked = |name: &&str| !name.is_empty() && !QUIET.contains(name);
    let names: Vec<_> = list.split(',').filter(is_asked).collect();
    let names = names.join(", ");
    match names.is_empty() {
        true => say!("security-modules.none", list),
        false => say!("security-modules.asked", names, list),
    }
}
