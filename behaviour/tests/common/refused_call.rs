//! A kernel that refuses a system call, as container runtimes have it do.

use std::process::Command;

use sys::process::{ChildSetup, FilterInstruction, prepare_child};

/// Its number, which is one on every architecture: asm-generic/unistd.h.
pub(crate) const IO_URING_SETUP: u32 = 425;

/// Lets a command live under a filter by which one system call fails with an error of that number.
pub(crate) fn refuse(command: &mut Command, call: u32, error: u16) {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const REFUSE: u32 = 0x0005_0000;
    let step = |code, jump_true, value| FilterInstruction {
        code,
        jump_true,
        jump_false: 0,
        value,
    };
    let setup = ChildSetup {
        seccomp: vec![
            step(LOAD, 0, 0),
            step(JUMP_IF_EQUAL, 1, call),
            step(RETURN, 0, ALLOW),
            step(RETURN, 0, REFUSE | u32::from(error)),
        ],
        ..ChildSetup::default()
    };
    prepare_child(command, setup);
}
