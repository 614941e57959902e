//! Whether this process can have a ring with all that ours need, and if not, why and what to do.

use std::error::Error;
use std::fmt;
use std::io;

use io_uring::{Probe, opcode};

use super::setup;

/// 0: for everybody; 1: for a group and for CAP_SYS_ADMIN; 2: for nobody. Since Linux 6.6.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
/// What rings of ours do, by name and number.
const OPERATIONS: [(&str, u8); 5] = [
    ("ACCEPT", opcode::AcceptMulti::CODE),
    ("RECV", opcode::RecvMulti::CODE),
    ("SEND", opcode::Send::CODE),
    ("POLL_ADD", opcode::PollAdd::CODE),
    ("ASYNC_CANCEL", opcode::AsyncCancel::CODE),
];

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
    /// It cannot do one of the operations.
    Lacks {
        operation: &'static str,
    },
    Other(io::Error),
}

/// Tries it.
///
/// # Errors
/// Why it cannot be had.
pub fn try_out() -> Result<(), Unusable> {
    let ring = setup::builder(4).build(2).map_err(understand)?;
    let mut probe = Probe::new();
    let probed = ring.submitter().register_probe(&mut probe);
    probed.map_err(Unusable::Other)?;
    let missing = OPERATIONS
        .iter()
        .find(|(_, code)| !probe.is_supported(*code));
    missing.map_or(Ok(()), |&(operation, _)| Err(Unusable::Lacks { operation }))
}

fn understand(error: io::Error) -> Unusable {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => match crate::kernel_file::number(SWITCH) {
            Some(value @ 1..) => Unusable::SwitchedOff { value },
            _ => Unusable::Forbidden,
        },
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
                "io_uring_setup(2) is not permitted (EPERM), as in containers whose seccomp profile \
                 leaves it out; it takes a profile that allows the io_uring calls",
            ),
            Self::Absent => formatter.write_str(
                "io_uring_setup(2) is not there (ENOSYS): the kernel was built without CONFIG_IO_URING, \
                 or a system call filter says so",
            ),
            Self::Old => formatter.write_str(
                "this kernel cannot put completions off until they are asked for \
                 (IORING_SETUP_DEFER_TASKRUN); that takes Linux 6.1",
            ),
            Self::Lacks { operation } => {
                write!(formatter, "this kernel's io_uring has no IORING_OP_{operation}")
            }
            Self::Other(error) => write!(formatter, "io_uring_setup(2): {error}"),
        }
    }
}

impl Error for Unusable {}
