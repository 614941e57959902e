//! A kernel that refuses a system call, as under the filters of container runtimes.

use std::process::Command;

use sys::classic_bpf::{ALLOW, FilterInstruction};
use sys::process::{ChildSetup, prepare_child};

/// The number of the system call, the same on every architecture: asm-generic/unistd.h.
pub(crate) const IO_URING_SETUP: u32 = 425;

/// Runs a command under a filter by which one system call fails with the error number `error`.
pub(crate) fn refuse(command: &mut Command, call: u32, error: u16) {
    refuse_where(command, &[(0, call)], error);
}

/// Makes socket diagnostics fail as if the kernel lacked them. The filter knows their requests by
/// the length of 72 bytes, which nothing else that is sent has.
pub(crate) fn refuse_socket_diagnostics(command: &mut Command) {
    const ENOENT: u16 = 2;
    #[cfg(target_arch = "x86_64")]
    const SENDTO: u32 = 44;
    #[cfg(not(target_arch = "x86_64"))]
    const SENDTO: u32 = 206;
    /// Offset in `struct seccomp_data`, bytes.
    const THIRD_ARGUMENT: u32 = 32;
    refuse_where(command, &[(0, SENDTO), (THIRD_ARGUMENT, 72)], ENOENT);
}

/// Refuses calls of which all these words, at an offset in `struct seccomp_data`, have the given
/// value.
fn refuse_where(command: &mut Command, words: &[(u32, u32)], error: u16) {
    const REFUSE: u32 = 0x0005_0000;
    let is_so = words.iter().flat_map(|(at, value)| {
        [
            FilterInstruction::load(*at),
            FilterInstruction::skip(*value, 1, 0),
            FilterInstruction::returns(ALLOW),
        ]
    });
    let refused = FilterInstruction::returns(REFUSE | u32::from(error));
    let setup = ChildSetup {
        seccomp: is_so.chain([refused]).collect(),
        ..ChildSetup::default()
    };
    prepare_child(command, setup);
}
