//! How much of something may be had.

use model::inventory::{Limits, ProcessLimit};

use super::look::Look;

/// Lines of `/proc/PID/limits` that bear on serving and measuring, and the unit of each.
const TOLD: [(&str, &str); 4] = [
    ("Max open files", "files"),
    ("Max processes", "processes"),
    ("Max locked memory", "bytes"),
    ("Max realtime priority", "priority"),
];

pub(super) fn collect(look: &Look) -> Limits {
    let number = |file: &str| look.number(&format!("proc/sys/{file}"), "limits of the machine");
    let limits = look.text("proc/self/limits", "limits of this process");
    Limits {
        process: of_process(&limits.unwrap_or_default()),
        open_files: number("fs/file-max"),
        processes: number("kernel/pid_max"),
        threads: number("kernel/threads-max"),
        memory_maps: number("vm/max_map_count"),
    }
}

/// A line is a name, the soft and the hard limit, and mostly a unit.
fn of_process(text: &str) -> Vec<ProcessLimit> {
    let limit = |(name, unit): &(&str, &str)| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let mut limits = rest.split_whitespace().map(|limit| limit.parse().ok());
        Some(ProcessLimit {
            name: name.trim_start_matches("Max ").to_owned(),
            unit: (*unit).to_owned(),
            soft: limits.next()?,
            hard: limits.next()?,
        })
    };
    TOLD.iter().filter_map(limit).collect()
}
