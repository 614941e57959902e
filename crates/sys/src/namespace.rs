//! Namespaces of our own, and the way into those that another process of ours holds: a lab that the
//! rest of the machine cannot see.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::{getegid, geteuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::socket;
use crate::{check, opened};

/// The network namespace of the calling thread.
const CURRENT_NETWORK: &str = "/proc/thread-self/ns/net";
/// The user namespace of the calling process.
const CURRENT_USER: &str = "/proc/self/ns/user";

/// Moves the calling process into a new network namespace in which it is root, and brings its
/// loopback up. Root enters it directly, so that its children can become another user; anybody else
/// first enters a user namespace, which needs no privilege where those are allowed. The kernel
/// removes the namespace with its last process, and with it everything that was set inside.
///
/// # Errors
/// `EPERM` or `ENOSPC` where namespaces are forbidden; `EINVAL` in a process with threads.
pub fn enter_private() -> io::Result<()> {
    become_able_to_make_networks()?;
    NetworkNamespace::make().map(drop)
}

/// Makes this process able to make network namespaces. Root already is; anybody else becomes root
/// of a new user namespace that maps only that user, and to the machine stays the same user.
///
/// # Errors
/// `EPERM` or `ENOSPC` where user namespaces are forbidden; `EINVAL` in a process with threads.
pub fn become_able_to_make_networks() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if user == 0 {
        return Ok(());
    }
    leave(UnshareFlags::NEWUSER)?;
    // A process without privilege may map its own group only after giving up setgroups(2);
    // see user_namespaces(7).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// A UTS namespace that lives at least as long as this, so that no other gets its inode.
#[derive(Debug)]
pub struct UtsNamespace(File);

impl UtsNamespace {
    /// Makes one with the host name of the old one, and moves the calling process into it. What the
    /// process starts is in it too, whatever becomes of its environment, its user or its session.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSPC` at the limit `user.max_uts_namespaces`.
    pub fn make() -> io::Result<Self> {
        leave(UnshareFlags::NEWUTS)?;
        Self::of(std::process::id())
    }

    /// Opens the UTS namespace of a process.
    ///
    /// # Errors
    /// `EACCES` for the processes of other users, `ENOENT` for those that have ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/ns/uts")).map(Self)
    }

    /// The namespace's inode: its identity for as long as it lives (namespaces(7)).
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }
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
        leave(UnshareFlags::NEWNET)?;
        bring_loopback_up()?;
        Ok(Self(File::open(CURRENT_NETWORK)?))
    }

    /// Opens the network namespace of a process.
    ///
    /// # Errors
    /// `EACCES` for the processes of other users, `ENOENT` for those that have ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::at(format!("/proc/{pid}/ns/net"))
    }

    /// Opens the network namespace at a path.
    ///
    /// # Errors
    /// Those of opening a file.
    pub fn at(place: impl AsRef<Path>) -> io::Result<Self> {
        File::open(place).map(Self)
    }

    /// Opens the network namespace that a process holds under a descriptor.
    ///
    /// # Errors
    /// `ENOENT` where there is no such process or descriptor, `EACCES` for those of other users.
    pub fn held_by(pid: u32, descriptor: i32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/fd/{descriptor}")).map(Self)
    }

    /// Moves the calling thread into this namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN` over it.
    pub fn enter(&self) -> io::Result<()> {
        join(&self.0, LinkNameSpaceType::Network)
    }

    /// The namespace's inode: its identity for as long as it lives (namespaces(7)).
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }

    /// The namespace's cookie: its identity for as long as the machine runs (see
    /// [`current_network_cookie`]).
    ///
    /// A child reads it, since a process that enters a user namespace cannot come back; the child
    /// ends before it would become a program.
    ///
    /// # Errors
    /// `EPERM` where we have no right to the namespace, `ENOPROTOOPT` before Linux 5.14.
    pub fn cookie(&self) -> io::Result<u64> {
        let (mut reader, mut writer) = io::pipe()?;
        let mut child = Command::new("/");
        let route = EntryRoute {
            user: owner_unless_ours(&self.0)?,
            uts: None,
            network: self.0.try_clone()?,
        };
        let look = move || {
            route.enter()?;
            writer.write_all(&current_network_cookie()?.to_ne_bytes())?;
            Err(io::Error::from_raw_os_error(libc::ECANCELED))
        };
        // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
        unsafe { child.pre_exec(look) };
        match child.spawn() {
            Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => {}
            other => return Err(other.err().unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
        let mut cookie = [0; size_of::<u64>()];
        reader.read_exact(&mut cookie)?;
        Ok(u64::from_ne_bytes(cookie))
    }

    /// The descriptor under which this process holds the namespace.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A network namespace that another process holds, with the user namespace it belongs to and the
/// UTS namespace of its holder.
#[derive(Debug)]
pub struct HeldNamespace(EntryRoute);

impl HeldNamespace {
    /// Opens the namespace that a process holds under a descriptor.
    ///
    /// # Errors
    /// `ENOENT` where there is no such process or descriptor, `EACCES` for those of other users.
    pub fn held_by(pid: u32, descriptor: i32) -> io::Result<Self> {
        let network = NetworkNamespace::held_by(pid, descriptor)?.0;
        Ok(Self(EntryRoute {
            user: owner_unless_ours(&network)?,
            uts: Some(File::open(format!("/proc/{pid}/ns/uts"))?),
            network,
        }))
    }

    /// The inode of the network namespace.
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.network.metadata()?.ino())
    }

    /// The network namespace alone, by a descriptor of its own.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn network(&self) -> io::Result<NetworkNamespace> {
        self.0.network.try_clone().map(NetworkNamespace)
    }

    /// Moves the calling process into the namespaces, as [`HeldNamespace::put`] does with a child.
    ///
    /// # Errors
    /// `EINVAL` in a process with threads, `EPERM` where we have no right to enter.
    pub fn enter(&self) -> io::Result<()> {
        self.0.enter()
    }

    /// Has a command start in the namespaces: as the user who starts it and, where the namespaces
    /// belong to an ordinary user, as root over them. To be called before anything else that the
    /// child sets for itself.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn put(&self, command: &mut Command) -> io::Result<()> {
        let route = self.0.try_clone()?;
        // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
        unsafe { command.pre_exec(move || route.enter()) };
        Ok(())
    }
}

/// The namespaces that are entered on the way into a network namespace, in this order.
#[derive(Debug)]
struct EntryRoute {
    /// `None` where it is our own.
    user: Option<File>,
    uts: Option<File>,
    network: File,
}

impl EntryRoute {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            user: self.user.as_ref().map(File::try_clone).transpose()?,
            uts: self.uts.as_ref().map(File::try_clone).transpose()?,
            network: self.network.try_clone()?,
        })
    }

    /// Enters them. It makes only system calls and allocates nothing, since a child calls it
    /// between fork and exec.
    fn enter(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            join(user, LinkNameSpaceType::User)?;
        }
        if let Some(uts) = &self.uts {
            join(uts, LinkNameSpaceType::HostNameAndNISDomainName)?;
        }
        join(&self.network, LinkNameSpaceType::Network)
    }
}

/// The user namespace that a namespace belongs to (`NS_GET_USERNS` of ioctl_ns(2), Linux 4.9);
/// `None` where it is our own.
fn owner_unless_ours(namespace: &File) -> io::Result<Option<File>> {
    // SAFETY: the call takes no argument.
    let owner = unsafe { opened(libc::ioctl(namespace.as_raw_fd(), libc::NS_GET_USERNS)) };
    let owner = owner.map(File::from)?;
    let is_ours = owner.metadata()?.ino() == inode_at(CURRENT_USER)?;
    Ok((!is_ours).then_some(owner))
}

/// The number that the kernel gave the network namespace of the calling thread, and gives to no
/// other until the machine is restarted (`SO_NETNS_COOKIE`, Linux 5.14).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 5.14.
pub fn current_network_cookie() -> io::Result<u64> {
    /// From asm-generic/socket.h.
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let socket = socket::control()?;
    socket::option(socket.as_fd(), libc::SOL_SOCKET, SO_NETNS_COOKIE, 0)
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

/// The inode of a process's UTS namespace.
///
/// # Errors
/// `EACCES` for the processes of other users, `ENOENT` for those that have ended.
pub fn uts_inode_of(pid: u32) -> io::Result<u64> {
    inode_at(format!("/proc/{pid}/ns/uts"))
}

fn inode_at(namespace: impl AsRef<Path>) -> io::Result<u64> {
    Ok(fs::metadata(namespace)?.ino())
}

fn join(namespace: &File, kind: LinkNameSpaceType) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(kind))?)
}

/// Has the calling thread leave what it shares with others, for a new one of its own (unshare(2)).
pub(crate) fn leave(shared: UnshareFlags) -> io::Result<()> {
    // SAFETY: it touches no memory and no thread; descriptors keep their numbers and their files.
    Ok(unsafe { unshare_unsafe(shared) }?)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the flags lie in the 16 bits of the field that they are for"
)]
fn bring_loopback_up() -> io::Result<()> {
    let socket = socket::control()?;
    let mut request = crate::interface::request("lo");
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })?;
    Ok(())
}
