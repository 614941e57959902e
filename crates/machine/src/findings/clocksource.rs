//! Whether reading the clock takes a system call.

use model::finding::Finding;

use super::Subject;

const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
/// Clock sources that the vDSO can read without entering the kernel.
const FAST: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let text = |file: &str| subject.tree.text(&format!("{FOLDER}/{file}"));
    let available = text("available_clocksource").unwrap_or_default();
    let current = text("current_clocksource");
    Some(current.map_or_else(
        || say!("clocksource.hidden"),
        |current| judge(&current, &available),
    ))
}

pub(super) fn judge(current: &str, available: &str) -> Finding {
    match FAST.contains(&current) {
        true => say!("clocksource.fast", current, available),
        false => say!("clocksource.slow", current, available),
    }
}
