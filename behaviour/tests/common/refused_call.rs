//! A kernel that refuses a system call, as container runtimes have it do.

use std::process::Command;

use sys::classic_bpf::{ALLOW, FilterInstruction};
use sys::process::{ChildSetup, prepare_child};

/// Its number, which is one on every architecture: asm-generic/unistd.h.
pub(crate) const IO_URING_SETUP: u32 = 425;

/// Lets a command live under a filter by which one system call fails with an error of that number.
pub(crate) fn refuse(command: &mut Command, call: u32, error: u16) {
    refuse_where(command, &[(0, call)], error);
}

/// Has the kernel lack socket diagnostics: nothing else that is sent is as long as what is asked of them.
pub(crate) fn refuse_socket_diagnostics(command: &mut Command) {
    const ENOENT: u16 = 2;
    #[cfg(target_arch = "x86_64")]
    const SENDTO: u32 = 44;
    #[cfg(not(target_arch = "x86_64"))]
    const SENDTO: u32 = 206;
    /// Of `struct seccomp_data`.
    const THIRD_ARGUMENT: u32 = 32;
    refuse_where(command, &[(0, SENDTO), (THIRD_ARGUMENT, 72)], ENOENT);
}

/// Where all of these words of a call are so.
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
