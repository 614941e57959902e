//! Has `/sys` show the network devices of the network namespace that we are in. By itself it goes
//! on showing those of the namespace in which it was mounted.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::CWD;
use rustix::mount::{
    self, FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags,
};
use rustix::thread::UnshareFlags;

use crate::namespace::leave;

/// Folders of a sysfs, and where each is laid over. `class/net` has only links; those of virtual
/// devices lead to the other folder.
const FOLDERS: [(&CStr, &CStr); 2] = [
    (c"devices/virtual/net", c"/sys/devices/virtual/net"),
    (c"class/net", c"/sys/class/net"),
];

/// Moves this process into a mount namespace of its own, in which the two folders of `/sys` that
/// list network devices are those of its network namespace. The rest of `/sys` stays as it is,
/// including the control groups that are mounted there.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN` over the network namespace, `ENOSYS` before Linux 5.2; then
/// `/sys` looks as before, with at most one of the two laid over.
pub fn show() -> io::Result<()> {
    leave(UnshareFlags::NEWNS)?;
    // What is mounted from now on does not reach the namespace that we came from.
    mount::mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )?;
    let fresh = fresh_sysfs()?;
    let folders = FOLDERS.map(|(from, to)| Ok((folder_of(&fresh, from)?, to)));
    // Both must be there before either is laid over.
    let folders = folders.into_iter().collect::<io::Result<Vec<_>>>()?;
    folders
        .iter()
        .try_for_each(|(folder, to)| lay_over(folder, to))
}

/// Makes a sysfs of the network namespace that we are in, mounted nowhere.
fn fresh_sysfs() -> io::Result<OwnedFd> {
    let context = mount::fsopen("sysfs", FsOpenFlags::empty())?;
    mount::fsconfig_create(&context)?;
    let (flags, attributes) = (FsMountFlags::empty(), MountAttrFlags::empty());
    Ok(mount::fsmount(&context, flags, attributes)?)
}

/// Returns a folder as a mount of its own, without what is mounted on top of it.
fn folder_of(fresh: &OwnedFd, path: &CStr) -> io::Result<OwnedFd> {
    Ok(mount::open_tree(
        fresh,
        path,
        OpenTreeFlags::OPEN_TREE_CLONE,
    )?)
}

fn lay_over(folder: &OwnedFd, to: &CStr) -> io::Result<()> {
    let itself = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(mount::move_mount(folder, c"", CWD, to, itself)?)
}
