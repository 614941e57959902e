//! Whether this process can have a ring with all the features we need, and if not, why and what to
//! do.

use std::io;

use super::serving::ServingRing;

/// Who may use io_uring. 0: everybody; 1: a group and CAP_SYS_ADMIN; 2: nobody. Since Linux 6.6.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";

/// Tries to make a ring with all the features that a server needs.
///
/// # Errors
/// The reason why there can be no ring.
pub fn try_out() -> io::Result<()> {
    let tried = ServingRing::new().map(drop);
    tried.map_err(|error| io::Error::other(reason_of(&error)))
}

/// Tries to make a ring for a program that root starts as an ordinary user. For that user io_uring
/// may be switched off although root may use it.
///
/// # Errors
/// The reason why there can be no ring.
pub fn try_out_for_descended() -> io::Result<()> {
    match switched_off() {
        Some(reason) if crate::user::ours() == 0 => Err(io::Error::other(reason)),
        _ => try_out(),
    }
}

fn switched_off() -> Option<String> {
    let value: u32 = crate::kernel_file::number(SWITCH)?;
    (value > 0).then(|| {
        format!(
            "kernel.io_uring_disabled is {value}; `sysctl kernel.io_uring_disabled=0` allows it \
             to everybody"
        )
    })
}

fn reason_of(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => switched_off().unwrap_or_else(|| {
            "io_uring is not permitted (EPERM), as in containers whose seccomp profile \
             leaves it out; it takes a profile that allows the io_uring calls"
                .to_owned()
        }),
        Some(libc::ENOSYS) => {
            "io_uring is not there (ENOSYS): the kernel was built without CONFIG_IO_URING, \
             or a system call filter says so"
                .to_owned()
        }
        Some(libc::EINVAL) => "this kernel cannot put completions off until they are asked for \
             (IORING_SETUP_DEFER_TASKRUN); that takes Linux 6.1"
            .to_owned(),
        _ => format!("making a ring: {error}"),
    }
}
