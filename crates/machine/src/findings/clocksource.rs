//! Whether looking at the clock takes a system call.

use model::finding::Finding;

use super::{Subject, costly, fine, unknown};

const NAME: &str = "clocksource";
const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
/// Those that the vDSO can read without entering the kernel.
const FAST: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let current = subject.tree.text(&format!("{FOLDER}/current_clocksource"));
    let available = subject
        .tree
        .text(&format!("{FOLDER}/available_clocksource"));
    Some(match current {
        Some(current) => judge(&current, &available.unwrap_or_default()),
        None => {
            let evidence = "/sys/devices/system/clocksource is not there";
            unknown(NAME, "The clock source cannot be seen.", evidence)
        }
    })
}

fn judge(current: &str, available: &str) -> Finding {
    let evidence = format!("current_clocksource = {current}, available: {available}");
    if FAST.contains(&current) {
        let what = format!("The clock ({current}) is read without a system call.");
        return fine(NAME, what, evidence);
    }
    costly(
        "clocksource",
        NAME,
        format!("Each look at the clock ({current}) is a system call."),
        evidence,
    )
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn clocks_that_need_the_kernel_are_told() {
        assert_eq!(judge("tsc", "tsc kvm-clock").severity, Severity::Fine);
        assert_eq!(judge("hpet", "hpet acpi_pm").severity, Severity::Notice);
        assert_eq!(judge("xen", "xen tsc").severity, Severity::Notice);
    }
}
