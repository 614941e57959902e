//! Whether a guest polls a little before it gives its CPU back to the host.

use model::finding::Finding;

use super::{Subject, costly, fine};

const NAME: &str = "halt-polling";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let driver = subject
        .tree
        .text("sys/devices/system/cpu/cpuidle/current_driver");
    let poll_ns = subject
        .tree
        .number("sys/module/haltpoll/parameters/guest_halt_poll_ns");
    Some(judge(driver.as_deref(), poll_ns))
}

fn judge(driver: Option<&str>, poll_ns: Option<u64>) -> Finding {
    let driver = driver.unwrap_or("none");
    let Some(poll_ns) = poll_ns.filter(|_| driver == "haltpoll") else {
        let what = "This machine does not idle by guest halt polling.";
        return fine(NAME, what, format!("idle driver: {driver}"));
    };
    let evidence = format!("idle driver haltpoll, guest_halt_poll_ns = {poll_ns}");
    if poll_ns > 0 {
        let what = format!(
            "An idle CPU of this guest polls for {} µs before it halts.",
            poll_ns / 1000
        );
        return fine(NAME, what, evidence);
    }
    costly(
        "guest-halt-poll",
        NAME,
        "An idle CPU of this guest halts at once, and waking it takes long.",
        evidence,
    )
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn only_a_guest_that_could_poll_and_does_not_is_told() {
        assert_eq!(judge(Some("haltpoll"), Some(0)).severity, Severity::Notice);
        assert_eq!(
            judge(Some("haltpoll"), Some(200_000)).severity,
            Severity::Fine
        );
        assert_eq!(judge(Some("intel_idle"), Some(0)).severity, Severity::Fine);
        assert_eq!(judge(None, None).severity, Severity::Fine);
    }
}
