//! Namespaces of our own, and the way into those that a process of ours holds: a lab that the rest
//! of the machine cannot see.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::check;
use crate::socket;

/// The network namespace of the calling thread.
const CURRENT_NETWORK: &str = "/proc/thread-self/ns/net";
/// The user namespace of the calling process.
const CURRENT_USER: &str = "/proc/self/ns/user";

/// Moves the calling process into a new network namespace in which it is root, and brings its
/// loopback up. Root goes there as he is, so that his children can become another user; anybody
/// else goes by way of a user namespace, which needs no privilege where those are allowed. The
/// kernel takes the namespace down with its last process, and with it everything that was set
/// inside.
///
/// # Errors
/// `EPERM` or `ENOSPC` where namespaces are forbidden; `EINVAL` in a process with threads.
pub fn enter_private() -> io::Result<()> {
    become_able_to_make_networks()?;
    NetworkNamespace::make().map(drop)
}

/// Root may make network namespaces as he is; anybody else becomes root of a new user namespace
/// that maps him alone, and to the machine remains who he is.
///
/// # Errors
/// `EPERM` or `ENOSPC` where user namespaces are forbidden; `EINVAL` in a process with threads.
pub fn become_able_to_make_networks() -> io::Result<()> {
    // SAFETY: plain system calls without pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 {
        return Ok(());
    }
    // SAFETY: no pointers; the flag only changes what this process belongs to.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    // A process without privilege may map its own group only after giving up setgroups(2);
    // see user_namespaces(7).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// A network namespace that lives at least as long as this.
#[derive(Debug)]
pub struct NetworkNamespace(File);

impl NetworkNamespace {
    /// Makes one, moves the calling thread into it and brings its loopback up.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSPC` at the limit `user.max_net_namespaces`.
    pub fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the flag only changes what this thread belongs to.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        bring_loopback_up()?;
        Ok(Self(File::open(CURRENT_NETWORK)?))
    }

    /// That of a process.
    ///
    /// # Errors
    /// `EACCES` for the processes of other users, `ENOENT` for those that have ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/ns/net")).map(Self)
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN` over it.
    pub fn enter(&self) -> io::Result<()> {
        join(self.0.as_fd(), libc::CLONE_NEWNET)
    }

    /// Its inode: its identity for as long as it lives (namespaces(7)).
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }

    /// The descriptor under which this process holds it.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A network namespace that another process holds, with the user namespace it belongs to.
#[derive(Debug)]
pub struct Place {
    network: NetworkNamespace,
    /// `None` where it is our own.
    user: Option<File>,
}

impl Place {
    /// Opens the namespace that a process holds under a descriptor.
    ///
    /// # Errors
    /// `ENOENT` where there is no such process or descriptor, `EACCES` for those of other users.
    pub fn held_by(pid: u32, descriptor: i32) -> io::Result<Self> {
        let network = File::open(format!("/proc/{pid}/fd/{descriptor}"))?;
        let user = File::open(format!("/proc/{pid}/ns/user"))?;
        let is_ours = user.metadata()?.ino() == inode_at(CURRENT_USER)?;
        Ok(Self {
            network: NetworkNamespace(network),
            user: (!is_ours).then_some(user),
        })
    }

    /// The inode of the network namespace.
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        self.network.inode()
    }

    /// Moves the calling process there, as [`Place::put`] does with a child.
    ///
    /// # Errors
    /// `EINVAL` in a process with threads, `EPERM` where we have no right to it.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            join(user.as_fd(), libc::CLONE_NEWUSER)?;
        }
        self.network.enter()
    }

    /// Lets a command start there: as the user who starts it, and where the namespaces are an
    /// ordinary user's, as root over them. To be called before what else the child sets for itself.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn put(&self, command: &mut Command) -> io::Result<()> {
        let network = self.network.0.try_clone()?;
        let user = self.user.as_ref().map(File::try_clone).transpose()?;
        let enter = move || {
            if let Some(user) = &user {
                join(user.as_fd(), libc::CLONE_NEWUSER)?;
            }
            join(network.as_fd(), libc::CLONE_NEWNET)
        };
        // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }
}

/// The inode of the network namespace of the calling thread.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn current_network_inode() -> io::Result<u64> {
    inode_at(CURRENT_NETWORK)
}

/// The inode of a process's network namespace.
///
/// # Errors
/// `EACCES` for the processes of other users, `ENOENT` for those that have ended.
pub fn network_inode_of(pid: u32) -> io::Result<u64> {
    inode_at(format!("/proc/{pid}/ns/net"))
}

fn inode_at(namespace: impl AsRef<Path>) -> io::Result<u64> {
    Ok(fs::metadata(namespace)?.ino())
}

fn join(namespace: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers; the call only changes what the caller belongs to.
    check(unsafe { libc::setns(namespace.as_raw_fd(), kind) })?;
    Ok(())
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
