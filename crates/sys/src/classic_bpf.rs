//! Programs of classic BPF, which the kernel runs on the packets of a socket or on system calls.

use std::io;
use std::os::fd::BorrowedFd;

use crate::check;
use crate::socket::set_option;

/// `SECCOMP_RET_ALLOW` of linux/seccomp.h.
pub const ALLOW: u32 = 0x7fff_0000;

/// One instruction: `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FilterInstruction {
    pub code: u16,
    pub jump_true: u8,
    pub jump_false: u8,
    pub value: u32,
}

// The codes are those of linux/bpf_common.h.
impl FilterInstruction {
    /// Loads the word at an offset.
    pub const fn load(at: u32) -> Self {
        Self::plain(0x20, at)
    }

    /// Skips `jump_true` instructions where the loaded word equals `value`, else `jump_false`.
    pub const fn skip(value: u32, jump_true: u8, jump_false: u8) -> Self {
        Self {
            jump_true,
            jump_false,
            ..Self::plain(0x15, value)
        }
    }

    /// Ends with a value.
    pub const fn returns(value: u32) -> Self {
        Self::plain(0x06, value)
    }

    /// Ends with the word that was loaded.
    pub(crate) const fn returns_loaded() -> Self {
        Self::plain(0x16, 0)
    }

    const fn plain(code: u16, value: u32) -> Self {
        Self {
            code,
            jump_true: 0,
            jump_false: 0,
            value,
        }
    }
}

/// Attaches a program to a socket, by the option of `SOL_SOCKET` that takes one.
pub(crate) fn attach(
    socket: BorrowedFd<'_>,
    option: libc::c_int,
    instructions: &[FilterInstruction],
) -> io::Result<()> {
    // The instructions that it points at outlive the call, which copies them.
    set_option(socket, libc::SOL_SOCKET, option, &program(instructions)?)
}

/// Puts this thread, and all that it starts, under a filter of system calls from now on. That needs
/// no rights after `PR_SET_NO_NEW_PRIVS`, and allocates nothing.
pub(crate) fn live_under(
    instructions: &[FilterInstruction],
    flags: libc::c_ulong,
) -> io::Result<()> {
    let program = program(instructions)?;
    // SAFETY: `program` points at the instructions, which outlive the call; the kernel copies them.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    })?;
    Ok(())
}

/// The program as the kernel takes it; valid for as long as the instructions are.
fn program(instructions: &[FilterInstruction]) -> io::Result<libc::sock_fprog> {
    let len = u16::try_from(instructions.len());
    Ok(libc::sock_fprog {
        len: len.map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?,
        // FilterInstruction has the layout of sock_filter, and the kernel only reads.
        filter: instructions.as_ptr().cast_mut().cast(),
    })
}
