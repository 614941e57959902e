//! `seccomp-arguments`: a system call filter that looks at arguments, as container profiles do.

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
/// Offset of the six arguments in `struct seccomp_data`, eight bytes each.
const ARGUMENTS_AT: u32 = 16;
const ARGUMENTS: u32 = 6;

/// The filter reads arguments, so the kernel cannot remember its answer per system call (the allow
/// bitmap of Linux 5.11) and runs it on every one.
pub(super) struct SeccompArguments;

impl Planted for SeccompArguments {
    fn name(&self) -> &'static str {
        "seccomp-arguments"
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn summary(&self) -> &'static str {
        "the server lives under a seccomp filter of 300 instructions that reads arguments, as a \
         container's does: about +4 % server CPU per request"
    }

    fn unavailable(&self, _: Wanted<'_>) -> Option<String> {
        let status = sys::kernel_file::text("/proc/self/status").unwrap_or_default();
        let has_filters = status.lines().any(|line| line.starts_with("Seccomp:"));
        (!has_filters).then(|| "this kernel has no seccomp filters (ENOSYS)".to_owned())
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        Ok(Setting::Child(ChildPart {
            seccomp: filter(),
            ..ChildPart::default()
        }))
    }
}

/// Compares one argument after the other with numbers, and allows whatever comes out: both ways
/// out of each comparison lead to the same permission, so no call can be refused by chance.
fn filter() -> Vec<FilterInstruction> {
    let mut instructions: Vec<_> = (0..COMPARISONS).flat_map(comparison).collect();
    instructions.push(instruction(RETURN, ALLOW));
    instructions
}

fn comparison(index: u32) -> [FilterInstruction; 3] {
    // Bits that no descriptor, length or flag of a server has.
    let unlikely = 0xfeed_0000 | index;
    [
        instruction(LOAD, ARGUMENTS_AT + 8 * (index % ARGUMENTS)),
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

    #[test]
    fn the_filter_reads_arguments_and_can_only_allow() {
        let filter = filter();
        assert_eq!(filter.len(), 301);
        let loads = filter.iter().filter(|step| step.code == LOAD);
        assert!(
            loads
                .clone()
                .all(|load| load.value >= ARGUMENTS_AT && load.value < 64)
        );
        assert_eq!(loads.count(), 100);
        let mut returns = filter.iter().filter(|step| step.code == RETURN);
        assert!(returns.all(|step| step.value == ALLOW));
    }

    #[test]
    fn a_child_lives_under_the_filter_and_works() {
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        let setup = sys::process::ChildSetup {
            seccomp: filter(),
            ..sys::process::ChildSetup::default()
        };
        sys::process::prepare_child(&mut command, setup);
        let output = command.output().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
    }
}
