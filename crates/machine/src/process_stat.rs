//! One process in `/proc/PID/stat`, or one thread in `/proc/PID/task/TID/stat` (proc(5)).

use std::fs;
use std::io;

/// The fields that we need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Field 3: `Z` or `X` for one that has ended.
    pub(crate) state: char,
    /// Field 4: the process that started it, or that inherited it.
    pub(crate) parent: u32,
    /// Field 9: `PF_…` of linux/sched.h.
    flags: u32,
    /// Field 14: time in its own code, in clock ticks.
    pub(crate) user_ticks: u64,
    /// Field 15: time in the kernel, in clock ticks.
    pub(crate) system_ticks: u64,
    /// Field 16: time in their own code of children that have ended and were waited for, in clock
    /// ticks.
    pub(crate) waited_user_ticks: u64,
    /// Field 17: time in the kernel of these children, in clock ticks.
    pub(crate) waited_system_ticks: u64,
    /// Field 20: number of threads that have not ended. The first thread always counts, even if it
    /// has.
    threads: u32,
    /// Field 22: start time, in clock ticks since boot.
    pub(crate) started_ticks: u64,
}

impl ProcessStat {
    /// Reads the stat of a process.
    ///
    /// # Errors
    /// `ENOENT` or `ESRCH` if there is no such process.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Self::parse(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Parses the text of the file. The second field is a name in parentheses, which may hold any
    /// character.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            flags: fields.get(6)?.parse().ok()?,
            user_ticks: fields.get(11)?.parse().ok()?,
            system_ticks: fields.get(12)?.parse().ok()?,
            waited_user_ticks: fields.get(13)?.parse().ok()?,
            waited_system_ticks: fields.get(14)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it has ended, waited for or not.
    pub(crate) fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether all of its threads have ended: others may work on after the first has.
    pub(crate) fn is_over(self) -> bool {
        self.has_ended() && self.threads <= 1
    }

    /// Whether it no longer runs a program: it has ended, or is giving back its memory and files.
    pub(crate) fn is_ending(self) -> bool {
        const PF_EXITING: u32 = 0x4;
        self.has_ended() || self.flags & PF_EXITING != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let fields = "S 1 2 3 4 5 4194308 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        let read = ProcessStat::parse(&format!("12 (a) R (b) ) {fields}")).unwrap();
        assert_eq!((read.state, read.started_ticks), ('S', 4711));
        assert_eq!((read.user_ticks, read.system_ticks), (11, 12));
        assert_eq!((read.waited_user_ticks, read.waited_system_ticks), (13, 14));
        assert_eq!(read.parent, 1);
        assert!(read.is_ending() && !read.has_ended());
        assert_eq!(ProcessStat::parse("12 (a"), None);
        assert_eq!(ProcessStat::parse("12 (a) S 1 2"), None);
    }

    #[test]
    fn a_process_whose_first_thread_alone_has_ended_is_not_over() {
        let of = |threads| {
            let fields = format!("Z 1 2 3 4 5 0 7 8 9 10 11 12 13 14 15 16 {threads} 18 4711 20");
            ProcessStat::parse(&format!("12 (a) {fields}")).unwrap()
        };
        assert!(of(2).has_ended() && !of(2).is_over());
        assert!(of(1).is_over());
    }

    #[test]
    fn this_process_runs_and_is_not_ending() {
        let this = ProcessStat::of(std::process::id()).unwrap();
        assert!(!this.is_ending());
        assert!(ProcessStat::of(0x3f_ffff).is_err());
    }
}
