//! Has `/sys` show the network devices of the network namespace that we are in: it goes on showing
//! those of the namespace in which it was mounted.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::{check, opened};

/// `class/net` has links only, of which those of virtual devices lead to the second.
const FOLDERS: [(&CStr, &CStr); 2] = [
    (c"devices/virtual/net", c"/sys/devices/virtual/net"),
    (c"class/net", c"/sys/class/net"),
];

/// `FSCONFIG_CMD_CREATE` of `enum fsconfig_command`.
const CREATE: libc::c_ulong = 6;
/// `OPEN_TREE_CLONE`, and `AT_RECURSIVE` is left out: what is mounted on top stays behind.
const CLONE: libc::c_ulong = 1;
/// `MOVE_MOUNT_F_EMPTY_PATH`: what is moved is the descriptor itself.
const DESCRIPTOR_ITSELF: libc::c_ulong = 4;

/// Moves this process into a mount namespace of its own, in which the two folders of `/sys` that
/// list network devices are those of its network namespace. The rest of `/sys` stays as it is, with
/// the control groups that are mounted there.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN` over the network namespace, `ENOSYS` before Linux 5.2; then
/// `/sys` is seen as before, at the most with one of the two laid over.
pub fn show() -> io::Result<()> {
    // SAFETY: no pointers; the flag only changes what this process belongs to.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    keep_mounts_to_ourselves()?;
    let fresh = fresh_sysfs()?;
    let folders = FOLDERS.map(|(from, to)| Ok((folder_of(&fresh, from)?, to)));
    // Both are there before either is laid over.
    let folders = folders.into_iter().collect::<io::Result<Vec<_>>>()?;
    folders
        .iter()
        .try_for_each(|(folder, to)| lay_over(folder, to))
}

/// A sysfs of the network namespace we are in, mounted nowhere.
fn fresh_sysfs() -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a zero byte and outlives the call.
    let context = unsafe { opened(libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), 0)) }?;
    let nothing = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes neither key nor value.
    check(unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            nothing,
            nothing,
            0,
        )
    })?;
    // SAFETY: numbers only.
    unsafe { opened(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 0, 0)) }
}

/// What is mounted from now on does not reach the namespace that we came from.
fn keep_mounts_to_ourselves() -> io::Result<()> {
    let nothing = std::ptr::null();
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: of the strings only the target is read for these flags, and it ends with a zero byte.
    check(unsafe { libc::mount(nothing, c"/".as_ptr(), nothing, flags, std::ptr::null()) })?;
    Ok(())
}

fn folder_of(fresh: &OwnedFd, path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the path ends with a zero byte and outlives the call.
    unsafe {
        let (from, path) = (fresh.as_raw_fd(), path.as_ptr());
        opened(libc::syscall(libc::SYS_open_tree, from, path, CLONE))
    }
}

fn lay_over(folder: &OwnedFd, to: &CStr) -> io::Result<()> {
    // SAFETY: both paths end with a zero byte and outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            folder.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            DESCRIPTOR_ITSELF,
        )
    })
    .map(drop)
}
