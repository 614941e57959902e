//! Whether this process can have a ring with all that ours need, and if not, why and what to do.

use std::error::Error;
use std::fmt;
use std::io;

use super::serving::ServingRing;

/// 0: for everybody; 1: for a group and for CAP_SYS_ADMIN; 2: for nobody. Since Linux 6.6.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
/// Why there is no ring to be had.
#[derive(Debug)]
pub enum Unusable {
    /// `kernel.io_uring_disabled` has this value.
    SwitchedOff {
        value: u32,
    },
    /// A filter of system calls forbids it, or a security module.
    Forbidden,
    /// The kernel was built without it, or a filter of system calls says so.
    Absent,
    /// The kernel is older than Linux 6.1.
    Old,
    Other(io::Error),
}

/// Tries it, with all that a server's takes.
///
/// # Errors
/// Why it cannot be had.
pub fn try_out() -> Result<(), Unusable> {
    ServingRing::new().map(drop).map_err(understand)
}

/// Tries it for a program that root starts as an ordinary user, for whom it may be switched off
/// though root may have it.
///
/// # Errors
/// Why it cannot be had.
pub fn try_out_for_descended() -> Result<(), Unusable> {
    match switched_off() {
        Some(off) if crate::user::ours() == 0 => Err(off),
        _ => try_out(),
    }
}

fn switched_off() -> Option<Unusable> {
    let value = crate::kernel_file::number(SWITCH)?;
    (value > 0).then_some(Unusable::SwitchedOff { value })
}

fn understand(error: io::Error) -> Unusable {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => switched_off().unwrap_or(Unusable::Forbidden),
        Some(libc::ENOSYS) => Unusable::Absent,
        Some(libc::EINVAL) => Unusable::Old,
        _ => Unusable::Other(error),
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchedOff { value } => write!(
                formatter,
                "kernel.io_uring_disabled is {value}; `sysctl kernel.io_uring_disabled=0` allows it \
                 to everybody"
            ),
            Self::Forbidden => formatter.write_str(
                "io_uring is not permitted (EPERM), as in containers whose seccomp profile \
                 leaves it out; it takes a profile that allows the io_uring calls",
            ),
            Self::Absent => formatter.write_str(
                "io_uring is not there (ENOSYS): the kernel was built without CONFIG_IO_URING, \
                 or a system call filter says so",
            ),
            Self::Old => formatter.write_str(
                "this kernel cannot put completions off until they are asked for \
                 (IORING_SETUP_DEFER_TASKRUN); that takes Linux 6.1",
            ),
            Self::Other(error) => write!(formatter, "making a ring: {error}"),
        }
    }
}

impl Error for Unusable {}
