//! Who we are to the other users of the machine, and acting with the rights of one of them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{DumpableBehavior, Gid, Uid, geteuid, set_dumpable_behavior};
use rustix::thread::{gettid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::clock;

/// The user and group that the kernel shows for owners that it cannot name
/// (`/proc/sys/kernel/overflowuid`) and that distributions call `nobody`: it owns no files.
pub const NOBODY: u32 = 65_534;

/// Longest wait for a joined thread to vanish from `/proc`; usually that takes some microseconds.
const LONGEST_END: Duration = Duration::from_secs(1);

/// The user whose rights this process has, by its number in our user namespace.
pub fn ours() -> u32 {
    geteuid().as_raw()
}

/// The user of this process by its number in the enclosing user namespace; its own number where
/// there is no enclosing one (user_namespaces(7)).
pub fn ours_outside() -> u32 {
    outside(ours(), &map().unwrap_or_default()).unwrap_or_else(ours)
}

/// The users of this namespace and their numbers outside, as `/proc/self/uid_map` lists them. A
/// kernel built without user namespaces (CONFIG_USER_NS) has no such file; there every number
/// stands for itself.
pub(crate) fn map() -> io::Result<String> {
    match fs::read_to_string("/proc/self/uid_map") {
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && Path::new("/proc/self/status").exists() =>
        {
            Ok(format!("0 0 {}\n", u32::MAX))
        }
        read => read,
    }
}

/// Whether a user has a number in this namespace.
pub(crate) fn maps(uid_map: &str, user: u32) -> bool {
    outside(user, uid_map).is_some()
}

/// The number outside of a user of this namespace. Each line of the map has three numbers: the
/// first inside, the first outside, and how many are mapped (user_namespaces(7)).
fn outside(user: u32, map: &str) -> Option<u32> {
    let of_line = |line: &str| {
        let fields: Vec<u32> = line
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        let [inside, outside, count] = fields.try_into().ok()?;
        let place = user.checked_sub(inside)?;
        (place < count).then(|| outside + place)
    };
    map.lines().find_map(of_line)
}

/// Whether this process is root to others: on the machine, or in a container that has users of its
/// own. A user who made himself root of a user namespace is not root to others: the machine's own
/// files do not belong to root there.
pub fn is_root() -> bool {
    let root_is_ours = || fs::metadata("/").is_ok_and(|found| found.uid() == 0);
    ours() == 0 && (ours_outside() == 0 || root_is_ours())
}

/// Whether an owner is our own user or root. In a user namespace that has no number for root, files
/// of root are shown as owned by the overflow user.
///
/// # Errors
/// Where `/proc` is not mounted.
pub(crate) fn is_us_or_root(owner: u32) -> io::Result<bool> {
    let is_unknown = || {
        let map = map()?;
        io::Result::Ok(owner == NOBODY && !maps(&map, NOBODY))
    };
    Ok(owner == ours() || owner == 0 || is_unknown()?)
}

/// Does something as another user, with that user's group and no other, so that the kernel refuses
/// what it would refuse that user. A separate thread does it; no other thread is affected.
///
/// # Errors
/// `EPERM` unless we are root, `EINVAL` for a user that this namespace does not have.
pub fn act_as<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = AtomicI32::new(0);
    let as_user = || {
        number.store(gettid().as_raw_pid(), Ordering::Relaxed);
        become_in_this_thread(user)?;
        Ok(act())
    };
    let done = thread::scope(|scope| scope.spawn(as_user).join());
    let outcome = look_ordinary_without(number.load(Ordering::Relaxed));
    let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    outcome.and(done)
}

/// Makes the process dumpable again once the thread is gone. A process with a thread that became
/// another user is taken for one with secrets (`PR_SET_DUMPABLE`, prctl(2)). That keeps this user
/// from the memory of all threads, so it must last until the thread is gone, which is some time
/// after it was joined (`exit_mm` of kernel/exit.c).
fn look_ordinary_without(thread: i32) -> io::Result<()> {
    let task = format!("/proc/self/task/{thread}");
    if clock::wait_until(LONGEST_END, || !Path::new(&task).exists()) {
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    }
    Ok(())
}

/// Makes the calling thread this user. The system calls themselves change one thread only; those of
/// the C library change all threads. Groups come first: a thread that has given up root may not
/// change them any more.
pub(crate) fn become_in_this_thread(user: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_as_another_user_has_his_rights_and_nobody_else_loses_his_own() {
        let uid = |status: &str| {
            let status = fs::read_to_string(status).unwrap();
            let line = status.lines().find(|line| line.starts_with("Uid:"));
            line.unwrap().split_whitespace().nth(2).unwrap().to_owned()
        };
        let acted = act_as(NOBODY, || {
            let denied = fs::read_dir("/root").is_err();
            (uid("/proc/thread-self/status"), denied)
        });
        if ours() == 0 {
            assert_eq!(acted.unwrap(), (NOBODY.to_string(), true));
        } else {
            assert_eq!(acted.unwrap_err().raw_os_error(), Some(libc::EPERM));
        }
        assert_eq!(uid("/proc/thread-self/status"), ours().to_string());
        // No thread of that user is left that he could take over, and with it our memory.
        for _ in 0..20 {
            let _ = act_as(NOBODY, be_long_in_ending);
            assert_eq!(threads_of(NOBODY), 0);
        }
    }

    /// Leaves a thread that ends slowly. After it was joined, the kernel closes the files that only
    /// this thread has open, and a list of watches mostly takes some time to close
    /// (`fsnotify_destroy_group` of fs/notify/group.c).
    fn be_long_in_ending() {
        // SAFETY: no pointers but a string that ends; what this opens is of this thread alone.
        unsafe {
            assert_eq!(libc::unshare(libc::CLONE_FILES), 0);
            let watches = libc::inotify_init1(0);
            assert!(libc::inotify_add_watch(watches, c"/".as_ptr(), libc::IN_OPEN) > 0);
        }
    }

    fn threads_of(user: u32) -> usize {
        let threads = fs::read_dir("/proc/self/task").unwrap();
        let statuses = threads.filter_map(|thread| {
            let status = thread.ok()?.path().join("status");
            fs::read_to_string(status).ok()
        });
        let its_line = format!("\nUid:\t{user}\t");
        statuses
            .filter(|status| user != ours() && status.contains(&its_line))
            .count()
    }

    #[test]
    fn what_is_ours_or_roots_is_told_from_what_is_somebody_elses() {
        let known = [ours(), 0, 12_345].map(|owner| is_us_or_root(owner).unwrap());
        assert_eq!(known, [true, true, false]);
    }

    #[test]
    fn a_map_of_one_user_does_not_hold_nobody() {
        assert!(maps("         0          0 4294967295\n", NOBODY));
        assert!(maps("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!maps("         0       1000          1\n", NOBODY));
        assert!(!maps("", NOBODY));
    }

    #[test]
    fn a_user_is_known_outside_by_the_line_that_has_his_number() {
        let map = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!(
            [0, 1, 1000].map(|user| outside(user, map)),
            [1000, 100_000, 100_999].map(Some)
        );
        let whole = "         0          0 4294967295\n";
        assert_eq!(outside(65_534, whole), Some(65_534));
        assert_eq!(outside(7, ""), None);
    }
}
