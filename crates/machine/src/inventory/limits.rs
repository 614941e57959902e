//! Limits of this process and of the machine.

use model::inventory::{Limits, ProcessLimit};

use super::look::Look;
use super::tables::TABLES;

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

/// Parses `/proc/self/limits`: a line is a name, the soft and the hard limit, and mostly a unit.
fn of_process(text: &str) -> Vec<ProcessLimit> {
    let limit = |(name, unit): &(String, String)| {
        let rest = text.lines().find_map(|line| line.strip_prefix(&**name))?;
        let mut limits = rest.split_whitespace().map(|limit| limit.parse().ok());
        Some(ProcessLimit {
            name: name.trim_start_matches("Max ").to_owned(),
            unit: unit.clone(),
            soft: limits.next()?,
            hard: limits.next()?,
        })
    };
    TABLES.limits.iter().filter_map(limit).collect()
}
