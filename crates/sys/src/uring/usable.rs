//! Whether this process can have a ring with all that ours need, and if not, why and what to do.

use std::error::Error;
use std::fmt;
use std::io;

use io_uring::types::Fd;

use super::serving::{ServingRing, constants};
use super::setup;

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
    /// It does not tell whether a send was copied: the kernel is older than Linux 6.2.
    Mute,
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

/// Tries whether it can send without a copy, and tell what came of that.
///
/// # Errors
/// Those of [`try_out`]; [`Unusable::Mute`] before Linux 6.2.
pub fn try_out_zero_copy() -> Result<(), Unusable> {
    let mut ring = setup::builder(4).build(2).map_err(understand)?;
    // There is no such descriptor, of which a kernel tells that has understood all else.
    let send = constants::operation(Fd(-1), b"nothing").map_err(Unusable::Other)?;
    // SAFETY: the operation reads constant bytes.
    let pushed = unsafe { ring.submission().push(&send) };
    pushed.map_err(|full| Unusable::Other(io::Error::other(full)))?;
    ring.submit_and_wait(1).map_err(Unusable::Other)?;
    let told = ring.completion().next().map(|entry| -entry.result());
    match told.unwrap_or(libc::EIO) {
        libc::EBADF => Ok(()),
        libc::EINVAL => Err(Unusable::Mute),
        other => Err(Unusable::Other(io::Error::from_raw_os_error(other))),
    }
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
            Self::Mute => formatter.write_str(
                "this kernel's io_uring does not tell whether it copied what it sent \
                 (IORING_SEND_ZC_REPORT_USAGE); that takes Linux 6.2",
            ),
            Self::Other(error) => write!(formatter, "making a ring: {error}"),
        }
    }
}

impl Error for Unusable {}
