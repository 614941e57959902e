//! A planted cost that is a system call filter.

use model::Binds;
use sys::process::FilterInstruction;

use super::{ChildPart, Planted, PlantedError, Setting, Wanted, check_value};

/// Three instructions each: with the last one that makes 301, as long as a container's profile.
const COMPARISONS: u32 = 100;
/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_RET | BPF_K`.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// `SECCOMP_RET_ALLOW`.
const ALLOW: u32 = 0x7fff_0000;

/// A filter that allows everything.
pub(super) struct SeccompFilter {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    /// Where in `struct seccomp_data` a comparison reads, by its index.
    pub(super) reads_at: fn(u32) -> u32,
}

impl Planted for SeccompFilter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn unavailable(&self, _: Wanted<'_>) -> Option<String> {
        let status = sys::kernel_file::text("/proc/self/status").unwrap_or_default();
        let has_filters = status.lines().any(|line| line.starts_with("Seccomp:"));
        (!has_filters).then(|| "this kernel has no seccomp filters (ENOSYS)".to_owned())
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        Ok(Setting::Child(ChildPart {
            seccomp: self.filter(),
            ..ChildPart::default()
        }))
    }
}

impl SeccompFilter {
    /// Compares one value after the other, and allows whatever comes out: both ways out of each
    /// comparison lead to the same permission, so no call can be refused by chance.
    fn filter(&self) -> Vec<FilterInstruction> {
        let comparison = |index| comparison((self.reads_at)(index), index);
        let mut instructions: Vec<_> = (0..COMPARISONS).flat_map(comparison).collect();
        instructions.push(instruction(RETURN, ALLOW));
        instructions
    }
}

fn comparison(read_at: u32, index: u32) -> [FilterInstruction; 3] {
    // Bits that no call's number has, and no descriptor, length or flag of a server.
    let unlikely = 0xfeed_0000 | index;
    [
        instruction(LOAD, read_at),
        FilterInstruction {
            jump_false: 1,
            ..instruction(JUMP_IF_EQUAL, unlikely)
        },
        instruction(RETURN, ALLOW),
    ]
}

fn instruction(code: u16, value: u32) -> FilterInstruction {
    FilterInstruction {
        code,
        jump_true: 0,
        jump_false: 0,
        value,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::planted::{seccomp_arguments, seccomp_numbers};

    #[test]
    fn a_filter_reads_what_it_is_to_read_and_can_only_allow() {
        for (planted, may_read) in [
            (seccomp_arguments::FILTER, 16..64),
            (seccomp_numbers::FILTER, 0..1),
        ] {
            let filter = planted.filter();
            assert_eq!(filter.len(), 301);
            let loads = filter.iter().filter(|step| step.code == LOAD);
            assert!(loads.clone().all(|load| may_read.contains(&load.value)));
            assert_eq!(loads.count(), 100);
            let mut returns = filter.iter().filter(|step| step.code == RETURN);
            assert!(returns.all(|step| step.value == ALLOW));
        }
    }

    #[test]
    fn a_child_lives_under_a_filter_and_works() {
        for planted in [seccomp_arguments::FILTER, seccomp_numbers::FILTER] {
            let mut command = Command::new("cat");
            command.arg("/proc/self/status");
            let setup = sys::process::ChildSetup {
                seccomp: planted.filter(),
                ..sys::process::ChildSetup::default()
            };
            sys::process::prepare_child(&mut command, setup);
            let output = command.output().unwrap();
            let status = String::from_utf8(output.stdout).unwrap();
            assert!(status.contains("Seccomp:\t2"), "{status}");
        }
    }
}
