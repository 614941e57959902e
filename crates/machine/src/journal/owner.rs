//! Identifies a process, so that a later one with the same number is not mistaken for it.

use std::fmt;
use std::fs;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process_stat::ProcessStat;

/// A process of this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Process number.
    pub pid: u32,
    /// When the process was started, in clock ticks since boot. Process numbers are used again, but
    /// not within one tick.
    pub started_ticks: u64,
}

impl Owner {
    /// Identifies this process.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn this_process() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// Identifies the process with this number.
    ///
    /// # Errors
    /// `ENOENT` where there is no such process.
    pub fn of(pid: u32) -> io::Result<Self> {
        let started_ticks = ProcessStat::of(pid)?.started_ticks;
        Ok(Self { pid, started_ticks })
    }

    /// Whether the process still runs. One that has ended but was not yet waited for does not.
    pub fn is_alive(&self) -> bool {
        ProcessStat::of(self.pid)
            .is_ok_and(|stat| stat.started_ticks == self.started_ticks && !stat.has_ended())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {}", self.pid)
    }
}

/// The random id that the kernel gives itself at each boot.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_and_not_by_its_number() {
        let this = Owner::this_process().unwrap();
        assert!(this.is_alive());
        let earlier = Owner {
            started_ticks: this.started_ticks - 1,
            ..this
        };
        assert!(!earlier.is_alive());
        assert!(Owner::of(0x3f_ffff).is_err());
    }

    #[test]
    fn a_process_that_ended_and_is_not_waited_for_is_not_alive() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let owner = Owner::of(child.id()).unwrap();
        assert!(owner.is_alive());
        drop(child.stdin.take());
        let is_dead = || !owner.is_alive();
        assert!(sys::clock::wait_until(
            std::time::Duration::from_secs(30),
            is_dead
        ));
        child.wait().unwrap();
    }
}
