//! Starts a program so that its own time can be told from the time that starting it took.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{Signal, kill_process_group, test_kill_process_group};

use crate::clock;
use crate::mapping::Mapping;
use crate::process;

/// What a child records of itself as its last act before exec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stamp {
    /// Monotonic time, ns.
    pub at_ns: u64,
    /// CPU time that the child had used by then, ns: that of the fork, not of the program.
    pub cpu_ns: u64,
}

/// Starts programs and knows when each of them began.
///
/// A program is forked, never spawned on the parent's memory as `posix_spawn` does. At exec the
/// kernel carries the peak memory of the address space that is given up over into the child's
/// `ru_maxrss` (`exec_mmap` in fs/exec.c). On shared memory that would be our own peak; after a
/// fork it is only what the fork copied of us. See [`Launcher::memory_floor_bytes`].
#[derive(Debug)]
pub struct Launcher {
    /// One stamp on a page that is shared with every child.
    page: Mapping,
}

impl Launcher {
    /// Maps the shared page.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let page = Mapping::writable(None, size_of::<Stamp>())?;
        Ok(Self { page })
    }

    /// Starts a command in a process group of its own, to die with the calling thread, with no
    /// signal blocked. The stamp is made just before exec.
    ///
    /// # Errors
    /// Those of [`Command::spawn`]: `ENOENT` for a program that is not there.
    pub fn start(&mut self, mut command: Command) -> io::Result<(Child, Stamp)> {
        self.stamp_before_exec(&mut command);
        let child = command.spawn()?;
        // SAFETY: the page is a mapped, aligned Stamp; `spawn` returned after exec, so its one
        // writer has gone.
        let stamp = unsafe { self.stamp().read_volatile() };
        Ok((child, stamp))
    }

    /// Peak memory, bytes, of a child that goes all the way to exec and ends there: the least value
    /// that `ru_maxrss` can have for any program started from here.
    ///
    /// # Errors
    /// `EAGAIN` at the limit of processes.
    pub fn memory_floor_bytes(&mut self) -> io::Result<u64> {
        let mut command = Command::new("/");
        self.stamp_before_exec(&mut command);
        // SAFETY: the closure only ends the child at once, without the parent's exit handlers.
        unsafe { command.pre_exec(|| libc::_exit(0)) };
        Ok(crate::usage::wait(command.spawn()?)?.peak_memory_bytes)
    }

    fn stamp_before_exec(&self, command: &mut Command) {
        let page = self.stamp() as usize;
        command.process_group(0);
        // SAFETY: the closure makes only async-signal-safe calls and allocates nothing. The page
        // lives as long as `self`, which the callers borrow until the child has left by exec.
        unsafe { command.pre_exec(move || enter(page as *mut Stamp)) };
    }

    fn stamp(&self) -> *mut Stamp {
        self.page.start().as_ptr().cast()
    }
}

/// Runs in the child: has it die with the parent, unblocks all signals, and records when it is
/// ready for exec.
fn enter(page: *mut Stamp) -> io::Result<()> {
    process::die_with_parent()?;
    process::unblock_signals()?;
    let stamp = Stamp {
        cpu_ns: clock::thread_cpu_ns(),
        at_ns: clock::monotonic_ns(),
    };
    // SAFETY: the page is shared and mapped in the child too, and the parent reads it only later.
    unsafe { page.write_volatile(stamp) };
    Ok(())
}

/// Asks a process to end.
pub const SIGTERM: i32 = libc::SIGTERM;
/// Ends a process at once.
pub const SIGKILL: i32 = libc::SIGKILL;

/// Sends a signal to a child's whole process group.
///
/// # Errors
/// `ESRCH` when no process of the group is left.
pub fn signal_group(leader: u32, signal: i32) -> io::Result<()> {
    let group = process::number(leader)?;
    Ok(match (signal, Signal::from_named_raw(signal)) {
        (0, _) => test_kill_process_group(group),
        (_, Some(signal)) => kill_process_group(group, signal),
        (_, None) => Err(Errno::INVAL),
    }?)
}

/// Kills what the leader of a process group has left in it. The leader must have ended and not been
/// waited for: until then no other group has the number. Returns whether anybody was left.
pub fn kill_left_behind(leader: u32) -> bool {
    let was_left = others_in_group(leader);
    // It does not matter if nobody is there.
    let _ = signal_group(leader, libc::SIGKILL);
    was_left
}

/// Whether a living process besides the leader is in a group.
fn others_in_group(leader: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        pid != leader.to_string() && lives_in_group(&stat, leader)
    })
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)): behind the name, which may hold anything, stand the
/// state, the parent and the group. A process that has ended and was not waited for does not live.
fn lives_in_group(stat: &str, leader: u32) -> bool {
    let fields = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let mut fields = fields.split_whitespace();
    let is_alive = fields.next().is_some_and(|state| state != "Z");
    is_alive && fields.nth(1) == Some(&leader.to_string())
}

/// Whether any process of a group is left, alive or ended but not waited for.
pub fn group_is_alive(leader: u32) -> bool {
    signal_group(leader, 0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage;

    const LONGEST: std::time::Duration = std::time::Duration::from_secs(30);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_stamp_is_of_the_time_between_the_call_and_the_programs_start() {
        let mut launcher = Launcher::new().unwrap();
        let before_ns = clock::monotonic_ns();
        let (child, stamp) = launcher.start(shell(":")).unwrap();
        assert!(
            (before_ns..=clock::monotonic_ns()).contains(&stamp.at_ns),
            "{stamp:?}"
        );
        let usage = usage::wait(child).unwrap();
        // The kernel reports usage in whole microseconds.
        assert!(stamp.cpu_ns <= usage.cpu_ns() + 1000, "{stamp:?} {usage:?}");
    }

    #[test]
    fn the_parents_own_memory_is_not_taken_for_the_childs() {
        let mut launcher = Launcher::new().unwrap();
        // Touched and given back: our peak holds it, our present memory does not.
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        let (child, _) = launcher.start(Command::new("/bin/true")).unwrap();
        let peak = usage::wait(child).unwrap().peak_memory_bytes;
        assert!(peak < 32 << 20, "{peak}");
        assert!(launcher.memory_floor_bytes().unwrap() <= peak);
    }

    #[test]
    fn a_group_is_alive_until_its_last_process_has_ended() {
        let mut launcher = Launcher::new().unwrap();
        let (child, _) = launcher.start(shell("sleep 600 & exit 0")).unwrap();
        let leader = child.id();
        usage::wait(child).unwrap();
        let was_alive = group_is_alive(leader);
        // Before the assertion, so that a failure leaves nobody behind.
        signal_group(leader, libc::SIGKILL).unwrap();
        assert!(was_alive);
        let is_gone = || !group_is_alive(leader);
        assert!(clock::wait_until(LONGEST, is_gone));
    }

    #[test]
    fn what_a_leader_has_left_in_its_group_is_killed_before_it_is_waited_for() {
        let mut launcher = Launcher::new().unwrap();
        for (script, leaves) in [("sleep 600 & exit 0", true), ("exit 0", false)] {
            let (child, _) = launcher.start(shell(script)).unwrap();
            let leader = child.id();
            let has_ended = || crate::offspring::child_has_ended(leader).unwrap();
            assert!(clock::wait_until(LONGEST, has_ended));
            assert_eq!(kill_left_behind(leader), leaves);
            usage::wait(child).unwrap();
            assert!(clock::wait_until(LONGEST, || !group_is_alive(leader)));
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_no_child() {
        let mut launcher = Launcher::new().unwrap();
        let error = launcher.start(Command::new("/nowhere/at-all")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
