//! A planted cost that is a system call filter.

use serde::Deserialize;
use sys::classic_bpf::{ALLOW, FilterInstruction};

/// Comparisons of a filter, of three instructions each. With the last instruction that makes 301,
/// as many as in a container's profile.
const COMPARISONS: u32 = 100;

/// Offset of the call's number in `struct seccomp_data`, and of its arguments, which have eight
/// bytes each.
const NUMBER_AT: u32 = 0;
const ARGUMENTS_AT: u32 = 16;
const ARGUMENTS: u32 = 6;

/// The data that a filter reads.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reads {
    /// The call's arguments. The kernel cannot remember the answer per system call (the allow
    /// bitmap of Linux 5.11), so it runs the filter on every call.
    Arguments,
    /// The call's number. The kernel can remember the answer, however long the filter is.
    Numbers,
}

/// The reason why this kernel can have no filter, if it cannot.
pub(super) fn unavailable() -> Option<String> {
    let status = sys::kernel_file::text("/proc/self/status").unwrap_or_default();
    let has_filters = status.lines().any(|line| line.starts_with("Seccomp:"));
    (!has_filters).then(|| "this kernel has no seccomp filters (ENOSYS)".to_owned())
}

/// Builds a filter that compares one value after the other and allows every call. Both outcomes of
/// each comparison lead to the same permission, so no call can be refused by chance.
pub(super) fn filter(reads: Reads) -> Vec<FilterInstruction> {
    let read_at = |index| match reads {
        Reads::Arguments => ARGUMENTS_AT + 8 * (index % ARGUMENTS),
        Reads::Numbers => NUMBER_AT,
    };
    let comparison = |index| comparison(read_at(index), index);
    let mut instructions: Vec<_> = (0..COMPARISONS).flat_map(comparison).collect();
    instructions.push(FilterInstruction::returns(ALLOW));
    instructions
}

fn comparison(read_at: u32, index: u32) -> [FilterInstruction; 3] {
    // A value that no call's number has, and no descriptor, length or flag of a server.
    let unlikely = 0xfeed_0000 | index;
    [
        FilterInstruction::load(read_at),
        FilterInstruction::skip(unlikely, 0, 1),
        FilterInstruction::returns(ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_filter_reads_what_it_is_to_read_and_can_only_allow() {
        for (reads, may_read) in [(Reads::Arguments, 16..64), (Reads::Numbers, 0..1)] {
            let filter = filter(reads);
            let (load, end) = (FilterInstruction::load(0), FilterInstruction::returns(0));
            assert_eq!(filter.len(), 301);
            let loads = filter.iter().filter(|step| step.code == load.code);
            assert!(loads.clone().all(|load| may_read.contains(&load.value)));
            assert_eq!(loads.count(), 100);
            let mut returns = filter.iter().filter(|step| step.code == end.code);
            assert!(returns.all(|step| step.value == ALLOW));
        }
    }

    #[test]
    fn a_child_lives_under_a_filter_and_works() {
        for reads in [Reads::Arguments, Reads::Numbers] {
            let mut command = Command::new("cat");
            command.arg("/proc/self/status");
            let setup = sys::process::ChildSetup {
                seccomp: filter(reads),
                ..sys::process::ChildSetup::default()
            };
            sys::process::prepare_child(&mut command, setup);
            let output = command.output().unwrap();
            let status = String::from_utf8(output.stdout).unwrap();
            assert!(status.contains("Seccomp:\t2"), "{status}");
        }
    }
}
