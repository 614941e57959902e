//! Whether the kernel audits system calls.

use std::io;
use std::ops::ControlFlow;

use model::finding::{Finding, Severity};
use sys::netlink::{Family, Netlink, push_message};

use super::{Subject, errno, fine, unknown};

const NAME: &str = "audit";
/// `AUDIT_GET`: asks for, and names, `struct audit_status` (linux/audit.h).
const AUDIT_GET: u16 = 1000;
/// `NLM_F_REQUEST`. An acknowledgement is not asked for: it overtakes the answer, which a thread
/// of the kernel sends later.
const REQUEST: u16 = 1;
const SEQUENCE: u32 = 1;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let cmdline = subject.tree.text("proc/cmdline").unwrap_or_default();
    let word = cmdline
        .split_whitespace()
        .find(|word| word.starts_with("audit="));
    Some(judge(enabled(), word))
}

fn judge(enabled: io::Result<u32>, boot_word: Option<&str>) -> Finding {
    let boot = boot_word.map_or_else(
        || "no audit= at boot".to_owned(),
        |word| format!("{word} at boot"),
    );
    match enabled {
        _ if boot_word == Some("audit=0") => {
            fine(NAME, "System calls are not audited, for good.", boot)
        }
        Ok(0) => fine(
            NAME,
            "System calls are not audited.",
            format!(
                "AUDIT_GET says enabled = 0; {boot}. Had it been on before, processes started since \
                 would still cost +3.5 %, which the kernel does not show"
            ),
        ),
        Ok(enabled) => audited(enabled, &boot),
        // The kernel was built without it.
        Err(error) if error.raw_os_error() == Some(93) => fine(
            NAME,
            "This kernel cannot audit system calls.",
            errno(&error),
        ),
        Err(error) => unknown(
            NAME,
            "Whether system calls are audited cannot be seen.",
            format!("AUDIT_GET: {}; {boot}", errno(&error)),
        ),
    }
}

fn audited(enabled: u32, boot: &str) -> Finding {
    let locked = if enabled == 2 {
        ", locked until reboot"
    } else {
        ""
    };
    Finding {
        severity: Severity::Notice,
        cost: "+10.5 % server CPU per request without a rule, +13.1 % with ten that never match \
               (measured on a 2-vCPU VM, Linux 6.18); +11 % requests/s with audit and seccomp away \
               on a c5n.xlarge (talawah.io, 2021)"
            .to_owned(),
        advice: "ask who needs the log; `auditctl -a never,task` spares what is started \
                 afterwards, and turning audit off spares only that"
            .to_owned(),
        ..fine(
            NAME,
            format!("System calls are audited{locked}."),
            format!("AUDIT_GET says enabled = {enabled}; {boot}"),
        )
    }
}

/// Asks the kernel; only root in the first namespaces is answered.
fn enabled() -> io::Result<u32> {
    let mut request = Vec::new();
    push_message(&mut request, AUDIT_GET, REQUEST, SEQUENCE, |_| {});
    let mut found = None;
    Netlink::open(Family::Audit)?.ask(&request, SEQUENCE, |message| {
        if message.kind != AUDIT_GET {
            return ControlFlow::Continue(());
        }
        found = enabled_in(message.payload);
        ControlFlow::Break(())
    })?;
    found.ok_or_else(|| io::Error::other("the kernel answered without a status"))
}

/// The second word of `struct audit_status`.
fn enabled_in(status: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(status.get(4..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_costs_off_does_not_and_refused_is_unknown() {
        assert_eq!(judge(Ok(1), None).severity, Severity::Notice);
        assert!(judge(Ok(2), None).what.contains("locked"));
        assert_eq!(judge(Ok(0), None).severity, Severity::Fine);
        let refused = judge(Err(io::Error::from_raw_os_error(1)), Some("audit=1"));
        assert_eq!(refused.severity, Severity::Unknown);
        assert!(refused.evidence.contains("EPERM") && refused.evidence.contains("audit=1"));
    }

    #[test]
    fn audit_off_at_boot_needs_no_question() {
        let refused = Err(io::Error::from_raw_os_error(1));
        assert_eq!(judge(refused, Some("audit=0")).severity, Severity::Fine);
    }

    #[test]
    fn the_status_is_read_from_its_second_word() {
        assert_eq!(enabled_in(&[9, 0, 0, 0, 1, 0, 0, 0, 7]), Some(1));
        assert_eq!(enabled_in(&[9, 0, 0, 0, 1]), None);
    }
}
