//! Whether the kernel audits system calls, or has done so since boot.

mod kernel;

use std::io;

use model::finding::Finding;

use super::Subject;
use crate::errno::errno;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let cmdline = subject.tree.text("proc/cmdline").unwrap_or_default();
    let word = cmdline
        .split_whitespace()
        .find(|word| word.starts_with("audit="));
    Some(judge(&AuditState {
        enabled: kernel::enabled(),
        spares_new: kernel::spares_new().unwrap_or(false),
        log: sys::kernel_log::text(),
        boot_word: word,
    }))
}

struct AuditState<'s> {
    /// What the kernel reports: 0, 1, or 2 for locked.
    enabled: io::Result<u32>,
    /// Whether no process that is started from now on gets an audit context.
    spares_new: bool,
    log: io::Result<String>,
    boot_word: Option<&'s str>,
}

impl AuditState<'_> {
    fn at_boot(&self) -> String {
        self.boot_word.map_or_else(
            || "no audit= at boot".to_owned(),
            |word| format!("{word} at boot"),
        )
    }
}

fn judge(seen: &AuditState<'_>) -> Finding {
    let boot = seen.at_boot();
    match &seen.enabled {
        _ if seen.boot_word == Some("audit=0") => say!("audit.off_for_good", boot),
        Ok(enabled) if seen.spares_new => say!("audit.spared", enabled, boot),
        Ok(0) => off(&seen.log, &boot),
        Ok(enabled) => {
            let locked = if *enabled == 2 {
                ", locked until reboot"
            } else {
                ""
            };
            say!("audit.on", locked, enabled, boot)
        }
        Err(error) => {
            let refused = errno(error);
            // The kernel was built without audit.
            match error.raw_os_error() {
                Some(93) => say!("audit.absent", refused),
                _ => say!("audit.hidden", refused, boot),
            }
        }
    }
}

/// Being off says little. Once audit was on, a latch of the kernel (`audit_ever_enabled` of
/// kernel/audit.c) stays set until the next boot, and only the kernel's log shows that.
fn off(log: &io::Result<String>, boot: &str) -> Finding {
    let told = match log {
        Ok(log) => match was_on(log) {
            Some(words) => return say!("audit.was_on", boot, words),
            None => {
                "the kernel's log, as far back as it goes, does not say that it was on".to_owned()
            }
        },
        Err(error) => format!(
            "the kernel's log, which would say so, cannot be read: {}",
            errno(error)
        ),
    };
    say!("audit.off", boot, told)
}

/// Messages in the kernel's log that show that audit was on since boot: on at boot, or switched off
/// later. Switching it on in between is not logged, and switching it off is missing here where a
/// daemon takes the records. Who switched it off stands behind these words, and is nobody's
/// business here.
const ON_WORDS: [&str; 2] = [
    "audit: initializing netlink subsys (enabled)",
    "op=set audit_enabled=0 old=1",
];

fn was_on(log: &str) -> Option<&'static str> {
    let mut lines = log.lines().filter(|line| line.contains("audit: "));
    lines.find_map(|line| ON_WORDS.into_iter().find(|words| line.contains(words)))
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    fn seen(enabled: io::Result<u32>, log: &str) -> AuditState<'static> {
        AuditState {
            enabled,
            spares_new: false,
            log: Ok(log.to_owned()),
            boot_word: None,
        }
    }

    fn refused<T>() -> io::Result<T> {
        Err(io::Error::from_raw_os_error(1))
    }

    #[test]
    fn on_costs_off_does_not_and_refused_is_unknown() {
        assert_eq!(judge(&seen(Ok(1), "")).severity, Severity::Notice);
        assert!(judge(&seen(Ok(2), "")).what.contains("locked"));
        assert_eq!(judge(&seen(Ok(0), "")).severity, Severity::Fine);
        let unseen = judge(&AuditState {
            boot_word: Some("audit=1"),
            ..seen(refused(), "")
        });
        assert_eq!(unseen.severity, Severity::Unknown);
        assert!(unseen.evidence.contains("EPERM") && unseen.evidence.contains("audit=1"));
    }

    const NEVER_ON: &str = "<6>[ 0.1] audit: initializing netlink subsys (disabled)\n\
        <5>[ 1.0] audit: type=1400 apparmor\n<5>[ 2.0] audit: op=set audit_enabled=0 old=0 res=1\n";

    #[test]
    fn what_was_on_since_boot_is_told_after_it_is_off_again() {
        assert_eq!(was_on(NEVER_ON), None);
        let ended = "<5>[ 3.0] audit: type=1305 audit(1:2): op=set audit_enabled=0 old=1 auid=4";
        let latched = judge(&seen(Ok(0), &format!("{NEVER_ON}{ended}\n")));
        assert_eq!(latched.severity, Severity::Notice);
        assert!(latched.what.contains("were since boot"), "{latched:?}");
        let evidence = latched.evidence;
        assert!(
            evidence.ends_with("has `op=set audit_enabled=0 old=1`"),
            "{evidence}"
        );
        let from_boot = "[ 0.1] audit: initializing netlink subsys (enabled)";
        assert!(was_on(from_boot).is_some());
        let still_on = judge(&seen(Ok(1), from_boot));
        assert_eq!(still_on.what, "System calls are audited.");
    }

    #[test]
    fn a_log_that_is_refused_is_told_beside_what_it_would_say() {
        let never = judge(&seen(Ok(0), NEVER_ON)).evidence;
        assert!(never.ends_with("does not say that it was on"), "{never}");
        let unseen = judge(&AuditState {
            log: refused(),
            ..seen(Ok(0), "")
        });
        assert!(unseen.evidence.ends_with("(EPERM)"), "{unseen:?}");
    }

    #[test]
    fn who_spares_all_new_processes_has_followed_the_advice() {
        for enabled in [0, 1] {
            let spared = judge(&AuditState {
                spares_new: true,
                ..seen(Ok(enabled), "audit: op=set audit_enabled=0 old=1")
            });
            assert_eq!(spared.severity, Severity::Fine);
            assert!(spared.evidence.contains("never,task"), "{spared:?}");
        }
    }

    #[test]
    fn audit_off_at_boot_needs_no_question() {
        let off_for_good = judge(&AuditState {
            boot_word: Some("audit=0"),
            ..seen(refused(), "")
        });
        assert_eq!(off_for_good.severity, Severity::Fine);
    }
}
