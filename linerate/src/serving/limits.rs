//! The flags that limit what clients can take from a server.

use anyhow::{Context as _, ensure};
use sys::cgroup::{Controller, Group};
use traffic::engine::Settings;

use crate::seconds::parse_seconds;

const LIMITS: &str = "Limits";
const MIB: u64 = 1 << 20;
/// Memory of a worker without a connection: the program and what its connections share.
const WORKER_BYTES: u64 = 16 * MIB;
/// Least memory that each worker has.
const LEAST_SHARE_BYTES: u64 = 2 * WORKER_BYTES;

#[derive(clap::Args)]
pub(crate) struct LimitFlags {
    /// Close a connection that sends no request or does not read for this long
    #[arg(long = "idle-timeout", value_name = "TIME", default_value = "60s", value_parser = parse_seconds, help_heading = LIMITS)]
    idle_timeout_s: u32,

    /// Close a connection whose request is incomplete this long after its first byte
    #[arg(long = "request-timeout", value_name = "TIME", default_value = "10s", value_parser = parse_seconds, help_heading = LIMITS)]
    request_timeout_s: u32,

    /// Close a connection that on average reads its answer more slowly: bytes per second
    ///
    /// The average is from when the answer first had to wait for the client, and counts once
    /// --idle-timeout is over.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true, help_heading = LIMITS)]
    least_rate: u64,

    /// On a signal to stop, give answers under way this long to finish; a second one ends them at
    /// once
    ///
    /// On SIGHUP with --tls-cert the old workers have as long; what takes longer is cut. A client
    /// that has just connected may still send one request.
    #[arg(long = "drain-timeout", value_name = "TIME", default_value = "5s", value_parser = parse_seconds, help_heading = LIMITS)]
    pub(super) drain_timeout_s: u32,

    /// Connections that each worker holds; more wait [default: by the limit of open files]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    max_connections: Option<u32>,

    /// Most memory of all workers together [default: a quarter of the machine's or control group's]
    ///
    /// Such as 256MB. If their connections hold more, those that hold most are closed. On SIGHUP
    /// with --tls-cert the new workers have as much again while the old ones finish. What the
    /// kernel holds for sockets is limited by the kernel (net.ipv4.tcp_mem), or by a control group.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = LIMITS)]
    memory: Option<u64>,

    /// Bytes that the connections of one worker of several may hold
    #[arg(long, hide = true)]
    held_bytes: Option<u64>,
}

impl LimitFlags {
    /// Returns what the connections of each of `workers` workers may hold, bytes: three quarters of
    /// its share without the program, since an allocator keeps some of the memory given back.
    pub(super) fn held_bytes(&self, workers: usize) -> anyhow::Result<u64> {
        let workers = workers.max(1) as u64;
        let least = LEAST_SHARE_BYTES * workers;
        let all = match self.memory {
            Some(bytes) => bytes,
            None => (room_bytes(machine_bytes()?, group_bytes()) / 4).max(least),
        };
        ensure!(
            all >= least,
            "--memory: {workers} workers need at least {}MB together; give more, or fewer --workers",
            least.div_ceil(1_000_000)
        );
        Ok((all / workers - WORKER_BYTES) / 4 * 3)
    }

    /// Returns the settings of one worker, with `by_limit` connections unless a flag says
    /// otherwise.
    pub(super) fn settings(&self, by_limit: u64, held_bytes: u64) -> Settings {
        let max_connections = self.max_connections.map_or(by_limit, u64::from);
        let held_bytes = self.held_bytes.unwrap_or(held_bytes);
        Settings {
            idle_timeout_s: self.idle_timeout_s,
            request_timeout_s: self.request_timeout_s,
            drain_timeout_s: self.drain_timeout_s,
            max_connections: usize::try_from(max_connections).unwrap_or(usize::MAX),
            least_rate_bytes_s: self.least_rate,
            memory_bytes: usize::try_from(held_bytes).unwrap_or(usize::MAX),
            rearm_oneshot: false,
            busy_poll: None,
        }
    }
}

fn machine_bytes() -> anyhow::Result<u64> {
    let meminfo = sys::kernel_file::text("/proc/meminfo").context("/proc/meminfo")?;
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.context("/proc/meminfo has no MemTotal; give --memory")? * 1024)
}

/// Returns the memory limit of this process's control group, bytes.
fn group_bytes() -> Option<u64> {
    Group::of_this_process(Controller::Memory)?.memory_limit_bytes()
}

/// Returns the memory available to a process on this machine in this group, bytes.
fn room_bytes(machine: u64, group: Option<u64>) -> u64 {
    group.map_or(machine, |group| group.min(machine))
}

/// Parses a number of bytes, or of kB, MB or GB, each a thousand times the one before.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, such as 256MB or 2GB".to_owned();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_s_limit_is_all_the_memory_there_is() {
        assert_eq!(room_bytes(24 << 30, Some(512 << 20)), 512 << 20);
        assert_eq!(room_bytes(24 << 30, Some(u64::MAX)), 24 << 30);
        assert_eq!(room_bytes(24 << 30, None), 24 << 30);
    }

    #[test]
    fn bytes_are_told_with_or_without_a_unit() {
        assert_eq!(parse_bytes("256MB"), Ok(256_000_000));
        assert_eq!(parse_bytes("77"), Ok(77));
        for wrong in ["", "MB", "1.5GB", "-1", "12 MB", "9XB", "99999999999GB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
