//! What a process gives up for good before it deals with strangers: the rights of other users,
//! files, the network, and the system calls that it never makes.

mod filter;
mod landlock;

use std::io;
use std::os::fd::BorrowedFd;

use rustix::process::getppid;
use rustix::thread::set_no_new_privs;

use crate::check;
use crate::process;

/// The user that a process becomes, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub user: u32,
    pub group: u32,
}

/// What the sandbox lacks here because the kernel does not have it.
pub fn lacks() -> Vec<String> {
    let files = match landlock::version() {
        Err(error) => Some(format!(
            "no Landlock rules confine it to its files and to connections that come in: {error}"
        )),
        Ok(version) => (!landlock::has_network(version)).then(|| {
            "no Landlock rules keep it from TCP connections of its own: they take Linux 6.7"
                .to_owned()
        }),
    };
    let calls = (!filter::is_available())
        .then(|| "no filter keeps it from system calls that it never makes".to_owned());
    files.into_iter().chain(calls).collect()
}

/// Makes this process another user's, with no group but that user's own. It still dies with its
/// parent if it was to. Since it has changed its user, the kernel lets no other process of that
/// user look into it (proc(5), `/proc/sys/fs/suid_dumpable`).
///
/// # Errors
/// `EPERM` for a process that is not root, `EINVAL` where the user namespace does not know the
/// user.
pub fn become_user(to: User) -> io::Result<()> {
    let dies = process::dies_with_parent()?;
    let parent = getppid();
    // Groups first: a process that has given up being root may not change them any more.
    // SAFETY: setgroups reads no list of length 0.
    check(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::setresgid(to.group, to.group, to.group) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::setresuid(to.user, to.user, to.user) })?;
    if dies {
        // A change of user clears this setting (prctl(2)).
        process::die_with_parent()?;
        if getppid() != parent {
            return Err(io::Error::other("its parent has ended"));
        }
    }
    Ok(())
}

/// Confines this process, which must have one thread, as far as the kernel can. No program that it
/// could execute has more rights than it; it reads only files below `root`, opens no TCP connection
/// or port, and makes only the system calls of a running server.
///
/// # Errors
/// The kernel's error where it has the means and refuses; what it lacks is no error ([`lacks`]).
pub fn enter(root: Option<BorrowedFd<'_>>) -> io::Result<()> {
    set_no_new_privs(true)?;
    if let Ok(version) = landlock::version() {
        landlock::restrict(version, root)?;
    }
    if filter::is_available() {
        filter::set()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::root_folder::{NotOpened, RootFolder};

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    /// Asserts that `look` returns `true` in a child inside the sandbox; the child ends there.
    fn holds_inside(
        root: &Path,
        mut look: impl FnMut(&RootFolder) -> bool + Send + Sync + 'static,
    ) {
        let root = RootFolder::open(root).unwrap();
        let mut command = Command::new("true");
        // SAFETY: this child of a test alone allocates nothing that another thread could hold a lock for.
        unsafe {
            command.pre_exec(move || {
                enter(Some(std::os::fd::AsFd::as_fd(&root)))?;
                match look(&root) {
                    true => Err(io::Error::from_raw_os_error(libc::EDOM)),
                    false => Err(io::Error::from_raw_os_error(libc::EILSEQ)),
                }
            });
        }
        let error = command.spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EDOM), "{error}");
    }

    #[test]
    fn what_lies_below_the_folder_is_read_as_before() {
        holds_inside(Path::new(HERE), |root| {
            root.open_below(c"Cargo.toml").is_ok() && root.open_below(c"src/lib.rs").is_ok()
        });
    }

    #[test]
    fn no_other_folder_is_read_even_by_a_descriptor_that_was_open_before() {
        if landlock::version().is_err() {
            return;
        }
        let other = RootFolder::open(Path::new("/etc")).unwrap();
        holds_inside(Path::new(HERE), move |_| {
            matches!(other.open_below(c"passwd"), Err(NotOpened::Forbidden))
        });
    }

    #[test]
    fn it_opens_no_file_by_another_way_no_socket_and_no_program() {
        if !filter::is_available() {
            return;
        }
        holds_inside(Path::new(HERE), |_| {
            let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
            let socket = std::net::UdpSocket::bind(("127.0.0.1", 0));
            let program = Command::new("/bin/true").exec();
            // SAFETY: no pointers.
            let looked_into = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
            let is_barred = |error: Option<i32>| error == Some(libc::EPERM);
            is_barred(file.err().and_then(|error| error.raw_os_error()))
                && is_barred(socket.err().and_then(|error| error.raw_os_error()))
                && is_barred(program.raw_os_error())
                && looked_into < 0
        });
    }
}
