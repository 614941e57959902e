//! Names of system calls by their numbers, which differ from one architecture to another.

/// Makes a table of calls. We list those that servers make; any other number is reported as it is.
macro_rules! named {
    ($($constant:ident)*) => {
        &[$((libc::$constant, stringify!($constant))),*]
    };
}

/// Calls that every architecture has.
const CALLS: &[(libc::c_long, &str)] = named! {
    SYS_accept SYS_accept4 SYS_bind SYS_brk SYS_clock_gettime SYS_clock_nanosleep SYS_clone SYS_clone3 SYS_close SYS_connect
    SYS_copy_file_range SYS_dup SYS_dup3 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2
    SYS_execve SYS_exit SYS_exit_group SYS_faccessat SYS_faccessat2 SYS_fadvise64 SYS_fallocate SYS_fcntl SYS_fdatasync
    SYS_flock SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate SYS_futex SYS_futex_waitv SYS_getcpu SYS_getcwd SYS_getdents64
    SYS_geteuid SYS_getpeername SYS_getpid SYS_getppid SYS_getrandom SYS_getrusage SYS_getsockname SYS_getsockopt SYS_gettid
    SYS_gettimeofday SYS_getuid SYS_io_getevents SYS_io_submit SYS_io_uring_enter SYS_io_uring_register SYS_ioctl SYS_kill
    SYS_listen SYS_lseek SYS_madvise SYS_membarrier SYS_memfd_create SYS_mincore SYS_mkdirat SYS_mlock SYS_mmap SYS_mprotect
    SYS_mremap SYS_msync SYS_munmap SYS_nanosleep SYS_newfstatat SYS_openat SYS_openat2 SYS_pipe2 SYS_ppoll SYS_prctl
    SYS_pread64 SYS_preadv SYS_preadv2 SYS_prlimit64 SYS_pselect6 SYS_pwrite64 SYS_pwritev SYS_pwritev2 SYS_read
    SYS_readahead SYS_readlinkat SYS_readv SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_renameat2 SYS_restart_syscall SYS_rseq
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigtimedwait SYS_sched_getaffinity SYS_sched_setaffinity
    SYS_sched_yield SYS_semop SYS_semtimedop SYS_sendfile SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setitimer SYS_setsockopt
    SYS_shutdown SYS_sigaltstack SYS_signalfd4 SYS_socket SYS_socketpair SYS_splice SYS_statfs SYS_statx SYS_sync_file_range
    SYS_syncfs SYS_tee SYS_tgkill SYS_timer_settime SYS_timerfd_create SYS_timerfd_gettime SYS_timerfd_settime SYS_times
    SYS_truncate SYS_uname SYS_unlinkat SYS_utimensat SYS_vmsplice SYS_wait4 SYS_waitid SYS_write SYS_writev
};

/// Older calls, which newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLDER_CALLS: &[(libc::c_long, &str)] = named! {
    SYS_access SYS_alarm SYS_arch_prctl SYS_dup2 SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_fork SYS_getdents SYS_lstat
    SYS_mkdir SYS_open SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_rmdir SYS_select SYS_stat SYS_time SYS_unlink
    SYS_utime SYS_vfork
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[(libc::c_long, &str)] = &[];

/// The name of a call, as in its manual page.
pub fn name(number: u64) -> Option<&'static str> {
    let number = libc::c_long::try_from(number).ok()?;
    let mut calls = CALLS.iter().chain(OLDER_CALLS);
    let (_, name) = calls.find(|(known, _)| *known == number)?;
    name.strip_prefix("SYS_")
}

/// The number of the call of that name.
pub fn number(name: &str) -> Option<u64> {
    let mut calls = CALLS.iter().chain(OLDER_CALLS);
    let is_it = |(_, known): &&(_, &str)| known.strip_prefix("SYS_") == Some(name);
    calls
        .find(is_it)
        .and_then(|(number, _)| u64::try_from(*number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_number_and_what_is_no_call_is_not() {
        let number = |call: libc::c_long| u64::try_from(call).unwrap();
        assert_eq!(name(number(libc::SYS_sendmsg)), Some("sendmsg"));
        assert_eq!(name(u64::MAX), None);
        assert_eq!(super::number("sendmsg"), Some(number(libc::SYS_sendmsg)));
        assert_eq!(super::number("[lost]"), None);
    }
}
