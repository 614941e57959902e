//! A network namespace of our own: a lab that the rest of the machine cannot see.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;

use crate::check;
use crate::socket;

/// Moves the calling process into a new network namespace in which it is root, and brings its
/// loopback up. Root goes there as he is, so that his children can become another user; anybody
/// else goes by way of a user namespace, which needs no privilege where those are allowed. The
/// kernel takes the namespace down with its last process, and with it everything that was set
/// inside.
///
/// # Errors
/// `EPERM` or `ENOSPC` where namespaces are forbidden; `EINVAL` in a process with threads.
pub fn enter_private() -> io::Result<()> {
    // SAFETY: plain system calls without pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 {
        // SAFETY: no pointers; the flag only changes what this process belongs to.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        return bring_loopback_up();
    }
    // SAFETY: as above.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })?;
    // A process without privilege may map its own group only after giving up setgroups(2);
    // see user_namespaces(7).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    bring_loopback_up()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "ASCII and the kernel's constants fit the fields that they are for"
)]
fn bring_loopback_up() -> io::Result<()> {
    let socket = socket::control()?;
    // SAFETY: an all-zero ifreq is valid: an empty name and no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })?;
    Ok(())
}
