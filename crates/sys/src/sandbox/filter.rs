//! A filter that lets a running server make the system calls that it needs, and no others.
//!
//! For all calls but `ioctl` it looks only at the number: since Linux 5.11 the kernel keeps a
//! bitmap of the calls that such a filter always allows, and does not run the filter for them
//! (`seccomp_cache_check_allow`).

use std::io;

use crate::classic_bpf::{self, ALLOW, FilterInstruction};

/// Offsets in `struct seccomp_data` (linux/seccomp.h).
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// Offset of the lower half of an argument, the only part that `ioctl` uses as its command
/// (fs/ioctl.c).
const SECOND_ARGUMENT_AT: u32 = if cfg!(target_endian = "little") {
    24
} else {
    28
};
/// From asm-generic/ioctls.h.
const FIONBIO: u32 = 0x5421;
/// From linux/seccomp.h.
const FAIL: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

/// `AUDIT_ARCH_…` of linux/audit.h: on another architecture, the same numbers are other calls.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// The calls of a running server, the most frequent first, for kernels that do run the filter for
/// them. None of them opens a socket, opens a file other than below a folder, starts or signals a
/// process, looks into one, or changes who this one is.
const CALLS: [libc::c_long; 44] = [
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_pwait,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendfile,
    libc::SYS_openat2,
    libc::SYS_statx,
    libc::SYS_fstat,
    libc::SYS_close,
    libc::SYS_accept4,
    libc::SYS_epoll_ctl,
    libc::SYS_shutdown,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_fcntl,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_timerfd_settime,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit_group,
];
/// Calls of older interfaces, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const MORE_CALLS: [libc::c_long; 3] = [libc::SYS_epoll_wait, libc::SYS_poll, libc::SYS_newfstatat];
#[cfg(not(target_arch = "x86_64"))]
const MORE_CALLS: [libc::c_long; 1] = [libc::SYS_exit];

/// Whether the kernel has such filters, and this architecture is known here.
pub(super) fn is_available() -> bool {
    let fail = FAIL;
    // SAFETY: the action is readable for the length of the call, which checks whether it is known.
    let known = unsafe {
        let action = &raw const fail;
        let no_flags: libc::c_long = 0;
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            no_flags,
            action,
        )
    };
    ARCHITECTURE.is_some() && known == 0
}

/// Puts this thread, and all that it starts, under the filter from now on. The filter is no reason
/// for the kernel to slow speculation down: this process runs nobody else's code
/// (`SECCOMP_FILTER_FLAG_SPEC_ALLOW`, Linux 4.17).
pub(super) fn set() -> io::Result<()> {
    classic_bpf::live_under(&instructions(), libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW)
}

/// Allows the calls of the lists and, of `ioctl`, the one that sets whether a socket waits; all
/// others fail with `EPERM`.
fn instructions() -> Vec<FilterInstruction> {
    let fail = FAIL | libc::EPERM.unsigned_abs();
    let mut all = vec![
        FilterInstruction::load(ARCHITECTURE_AT),
        FilterInstruction::skip(ARCHITECTURE.unwrap_or_default(), 1, 0),
        FilterInstruction::returns(KILL_PROCESS),
        FilterInstruction::load(NUMBER_AT),
    ];
    for call in CALLS.iter().chain(&MORE_CALLS) {
        all.push(FilterInstruction::skip(word(*call), 0, 1));
        all.push(FilterInstruction::returns(ALLOW));
    }
    all.extend([
        FilterInstruction::skip(word(libc::SYS_ioctl), 0, 3),
        FilterInstruction::load(SECOND_ARGUMENT_AT),
        FilterInstruction::skip(FIONBIO, 0, 1),
        FilterInstruction::returns(ALLOW),
        FilterInstruction::returns(fail),
    ]);
    all
}

/// Converts the number of a call, which is small and positive where this architecture has the call.
fn word(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}
