//! The processes that a process has started, and those that came of them.

/// The processes below one, whole.
pub(crate) fn offspring(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.flat_map(|pid: u32| [vec![pid], offspring(pid)].concat())
        .collect()
}
