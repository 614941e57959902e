//! Tracepoints of the kernel by their names, even on machines where nobody has mounted tracefs, the
//! folder that lists them.

use std::io;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags};

/// Longer than the text of any number, bytes.
const MOST_BYTES: usize = 32;

/// The number of a tracepoint, given for example as `("raw_syscalls", "sys_enter")`. A tracefs of
/// its own is opened for this question; it is mounted nowhere and vanishes afterwards.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `ENODEV` for a kernel without tracefs, `ENOENT` for one without
/// the tracepoint, `ENOSYS` before Linux 5.2.
pub fn number(group: &str, name: &str) -> io::Result<u64> {
    let context = mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    mount::fsconfig_create(&context)?;
    let folder = mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )?;
    let path = format!("events/{group}/{name}/id");
    let file = openat(
        folder,
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut bytes = [0; MOST_BYTES];
    let read = rustix::io::read(file, &mut bytes)?;
    let text = str::from_utf8(&bytes[..read]).map_err(io::Error::other)?;
    text.trim().parse().map_err(io::Error::other)
}
