//! A kernel that refuses a system call, as container runtimes have it do.

use std::process::Command;

use sys::classic_bpf::{ALLOW, FilterInstruction};
use sys::process::{ChildSetup, prepare_child};

/// Its number, which is one on every architecture: asm-generic/unistd.h.
pub(crate) const IO_URING_SETUP: u32 = 425;

/// Lets a command live under a filter by which one system call fails with an error of that number.
pub(crate) fn refuse(command: &mut Command, call: u32, error: u16) {
    const REFUSE: u32 = 0x0005_0000;
    let setup = ChildSetup {
        seccomp: vec![
            FilterInstruction::load(0),
            FilterInstruction::skip(call, 1, 0),
            FilterInstruction::returns(ALLOW),
            FilterInstruction::returns(REFUSE | u32::from(error)),
        ],
        ..ChildSetup::default()
    };
    prepare_child(command, setup);
}
