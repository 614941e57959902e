//! The process itself: signals, its parent's death, open files, and its children's start.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{self, Pid, Resource, Rlimit};
use rustix::thread::{self, UnshareFlags};

use crate::attribute::Attribute;
use crate::cgroup;
use crate::check;
use crate::classic_bpf::{self, FilterInstruction};
use crate::descent::Descent;
use crate::namespace::leave;

/// The first descriptor after the standard streams.
const FIRST_OWN_FILE: libc::c_uint = 3;

/// A signal that asks a program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Quit,
    Terminate,
}

/// Sends SIGTERM to a child of ours.
///
/// # Errors
/// `ESRCH` when it is gone.
pub fn terminate(child: &std::process::Child) -> io::Result<()> {
    ask_to_end(child, Signal::Terminate)
}

/// Sends a child of ours a signal that asks it to end.
///
/// # Errors
/// `ESRCH` when it is gone.
pub fn ask_to_end(child: &std::process::Child, signal: Signal) -> io::Result<()> {
    let signal = match signal {
        Signal::Interrupt => process::Signal::INT,
        Signal::Quit => process::Signal::QUIT,
        Signal::Terminate => process::Signal::TERM,
    };
    // The number of a child that was not yet waited for is not given to another process.
    Ok(process::kill_process(number(child.id())?, signal)?)
}

/// The number of a process, as the kernel's calls take it.
pub(crate) fn number(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| Errno::SRCH.into())
}

/// Gives the calling thread a table of open files of its own: a copy of what is open now. While a
/// table has one user, the kernel looks descriptors up in it without counting references, so that a
/// watching thread does not slow a working one down (`fdget`, fs/file.c).
///
/// # Errors
/// `ENOMEM`; `EMFILE` where the limit of open files was lowered in the meantime.
pub fn own_file_table() -> io::Result<()> {
    leave(UnshareFlags::FILES)
}

/// Raises the limit of open files to the most that an unprivileged process may have, and returns
/// it.
///
/// # Errors
/// The kernel's error.
pub fn raise_open_file_limit() -> io::Result<u64> {
    let maximum = process::getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    process::setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    Ok(maximum.unwrap_or(u64::MAX))
}

/// What a child sets for itself between fork and exec.
#[derive(Clone, Debug, Default)]
pub struct ChildSetup {
    /// The attributes that it sets, in this order and before all else, while it may still have
    /// privileges.
    pub attributes: Vec<Attribute>,
    /// The `cgroup.procs` of a control group to enter, open for writing; `None` to stay in its
    /// parent's.
    pub group: Option<Arc<OwnedFd>>,
    /// The CPUs that it may run on; empty for those inherited.
    pub cpus: Vec<usize>,
    /// A seccomp filter to run under, as the kernel's BPF instructions; empty for none.
    pub seccomp: Vec<FilterInstruction>,
    /// Descriptors that stay open in it, under the numbers that they have here.
    pub handed_over: Vec<Arc<OwnedFd>>,
    /// How it becomes an ordinary user.
    pub descent: Descent,
    /// Size that no file may exceed, in bytes; a write past it fails with `EFBIG`.
    pub file_limit_bytes: Option<u64>,
}

/// Has a command receive SIGTERM when its parent has died, so that it can undo what it did.
pub fn outlive_to_undo(command: &mut Command) {
    // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
    unsafe { command.pre_exec(|| at_death_of_parent(Some(process::Signal::TERM))) };
}

/// Lets this process outlive its parent from now on, whatever was set to happen at the parent's
/// death.
///
/// # Errors
/// None are known.
pub fn outlive_parent() -> io::Result<()> {
    at_death_of_parent(None)
}

/// Lets a command outlive the terminal and the shell that it was started from: no signal of theirs
/// reaches it, and of our files only the standard streams stay open in it.
pub fn detach(command: &mut Command) {
    // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
    unsafe { command.pre_exec(leave_session) };
}

fn leave_session() -> io::Result<()> {
    leave_terminal()?;
    close_inherited();
    Ok(())
}

/// Has every file but the standard streams closed at exec. It does not close them yet: the standard
/// library still needs its own.
fn close_inherited() {
    // SAFETY: no pointers; only a flag of descriptors changes.
    let closed = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_OWN_FILE,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    // Before Linux 5.11 this call does not exist; then what we inherited ourselves stays open.
    let _ = closed;
}

/// Lets a command run as nobody's child: what is spawned ends at once, and the command runs on in a
/// child of that.
pub fn disown(command: &mut Command) {
    // SAFETY: the closure makes only async-signal-safe system calls and does not allocate.
    unsafe { command.pre_exec(leave_to_a_child) };
}

fn leave_to_a_child() -> io::Result<()> {
    // SAFETY: the child of a fork has one thread, so its own child has all that it has.
    match check(unsafe { libc::fork() })? {
        0 => Ok(()),
        // SAFETY: no pointers; it ends at once, without the parent's exit handlers.
        _ => unsafe { libc::_exit(0) },
    }
}

/// Sets the name of this process in process lists, at most 15 bytes.
///
/// # Errors
/// None are known.
pub fn set_name(name: &std::ffi::CStr) -> io::Result<()> {
    Ok(thread::set_name(name)?)
}

/// Has a command die with its parent and start as `setup` says.
pub fn prepare_child(command: &mut Command, setup: ChildSetup) {
    // SAFETY: the closure makes only async-signal-safe system calls and does not allocate: the
    // vectors in `setup` were filled before the fork.
    unsafe { command.pre_exec(move || enter_child(&setup)) };
}

/// Has a command start as `setup` says, but survive its parent's end and be out of reach of its
/// terminal: for a process that has to put things in order after its parent, and learns of its end
/// in other ways.
pub fn prepare_keeper(command: &mut Command, setup: ChildSetup) {
    // SAFETY: as in `prepare_child`.
    unsafe {
        command.pre_exec(move || {
            setup.become_ordinary()?;
            leave_terminal()?;
            live_as(&setup)
        });
    }
}

/// Has a command that is about to replace this process do so as an ordinary user.
pub fn descend(command: &mut Command, descent: Descent) {
    // SAFETY: as in `prepare_child`; there is no fork, and the process has no other thread that
    // `Descent` would leave behind, or its call fails.
    unsafe { command.pre_exec(move || descent.carry_out()) };
}

impl ChildSetup {
    /// Sets the attributes and the group, and becomes an ordinary user. Files that whoever started
    /// us has open are not for another user, even if we did not open them, so they are closed at
    /// exec. Descriptors to be handed over are exempted later.
    fn become_ordinary(&self) -> io::Result<()> {
        if self.descent.owner().is_some() {
            close_inherited();
        }
        self.attributes.iter().try_for_each(Attribute::take_on)?;
        if let Some(processes) = &self.group {
            cgroup::enter(processes)?;
        }
        self.descent.carry_out()
    }
}

fn enter_child(setup: &ChildSetup) -> io::Result<()> {
    setup.become_ordinary()?;
    // A change of user clears this setting (prctl(2)), so it comes after the descent.
    die_with_parent()?;
    live_as(setup)
}

fn live_as(setup: &ChildSetup) -> io::Result<()> {
    unblock_signals()?;
    let mut handed_over = setup.handed_over.iter();
    handed_over.try_for_each(crate::descriptor::hand_on)?;
    if !setup.cpus.is_empty() {
        crate::cpu::pin(&setup.cpus)?;
    }
    if let Some(limit_bytes) = setup.file_limit_bytes {
        limit_files(limit_bytes)?;
    }
    if setup.seccomp.is_empty() {
        return Ok(());
    }
    // An ordinary user may set a filter once it has given up new privileges.
    thread::set_no_new_privs(true)?;
    classic_bpf::live_under(&setup.seccomp, 0)
}

fn at_death_of_parent(signal: Option<process::Signal>) -> io::Result<()> {
    Ok(process::set_parent_process_death_signal(signal)?)
}

/// Begins a session of its own, so that signals from a terminal do not reach it. The child of a
/// fork leads no group, so it may leave its session.
fn leave_terminal() -> io::Result<()> {
    process::setsid()?;
    Ok(())
}

/// Limits the size of files. The signal is ignored, since otherwise writing past the limit would
/// end the program (setrlimit(2)).
fn limit_files(limit_bytes: u64) -> io::Result<()> {
    limit(Resource::Fsize, limit_bytes)?;
    // SAFETY: no handler of ours is named; a signal that is ignored stays so across exec.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    Ok(())
}

/// Sets both the soft and the hard limit.
pub(crate) fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let (current, maximum) = (Some(most), Some(most));
    Ok(process::setrlimit(resource, Rlimit { current, maximum })?)
}

/// Has the kernel kill the caller when the thread that forked it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    at_death_of_parent(Some(process::Signal::KILL))
}

/// Whether the kernel is to kill the caller when its parent ends.
pub(crate) fn dies_with_parent() -> io::Result<bool> {
    let signal = process::parent_process_death_signal()?;
    Ok(signal == Some(process::Signal::KILL))
}

/// Unblocks all signals. A blocked signal stays blocked across exec; the child decides for itself.
pub(crate) fn unblock_signals() -> io::Result<()> {
    // SAFETY: an all-zero sigset_t is writable memory that sigemptyset initialises.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` is a valid sigset_t throughout.
    check(unsafe {
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn a_file_opened_by_others_is_not_in_a_table_of_ones_own() {
        let (tell, told) = std::sync::mpsc::channel();
        let (ask, asked) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            own_file_table().unwrap();
            tell.send(()).unwrap();
            let descriptor: i32 = asked.recv().unwrap();
            std::fs::read_link(format!("/proc/thread-self/fd/{descriptor}")).ok()
        });
        told.recv().unwrap();
        let here = std::path::Path::new("/proc/self/status");
        let file = std::fs::File::open(here).unwrap();
        let there = |path: std::path::PathBuf| path.ends_with("status");
        ask.send(file.as_raw_fd()).unwrap();
        assert!(!other.join().unwrap().is_some_and(there));
    }
}
