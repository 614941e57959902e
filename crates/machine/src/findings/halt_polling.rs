//! Whether a guest polls a little before it gives its CPU back to the host.

use model::finding::Finding;

use super::Subject;

const DRIVER: &str = "sys/devices/system/cpu/cpuidle/current_driver";
const POLL_NS: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let driver = subject.tree.text(DRIVER);
    Some(judge(driver.as_deref(), subject.tree.number(POLL_NS)))
}

pub(super) fn judge(driver: Option<&str>, poll_ns: Option<u64>) -> Finding {
    let driver = driver.unwrap_or("none");
    let Some(poll_ns) = poll_ns.filter(|_| driver == "haltpoll") else {
        return say!("halt-polling.other", driver);
    };
    let length_us = poll_ns / 1000;
    match poll_ns {
        0 => say!("halt-polling.halts", poll_ns),
        _ => say!("halt-polling.polls", length_us, poll_ns),
    }
}
