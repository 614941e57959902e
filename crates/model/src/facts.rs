//! What a machine is: an allow-list. Nothing gets into a run folder that has no field here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The facts of a machine that bear on its speed and do not name it or its owner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub kernel_release: String,
    pub architecture: String,
    /// The distribution's own name for itself, such as "Debian GNU/Linux 12 (bookworm)".
    pub distribution: Option<String>,
    pub cpu_model: String,
    pub cpus_online: u32,
    /// The CPUs this process may use, as a list such as "0-3,8".
    pub cpus_allowed: String,
    /// CPUs' worth of time that the control group grants; `None` without a quota.
    pub cpu_quota: Option<f64>,
    pub memory_bytes: u64,
    /// The hypervisor, where there is one and it names itself.
    pub virtualisation: Option<String>,
    pub clocksource: Option<String>,
    pub frequency_governor: Option<String>,
    /// Time a guest polls before it halts, ns; `None` where the kernel has no such setting.
    pub halt_poll_ns: Option<u64>,
    pub congestion_control: Option<String>,
    /// Whether interrupts are kept off the clocks of processes; `None` in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<IrqTimeAccounting>,
    /// File name under `/sys/devices/system/cpu/vulnerabilities` to the state it gives.
    pub mitigations: BTreeMap<String, String>,
    /// Only when it was asked for: names and addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Whether the kernel keeps the time of interrupts apart, hard ones and soft ones, from that of the task
/// that they came upon: `CONFIG_IRQ_TIME_ACCOUNTING`, where the clock is steady enough for it and it was
/// not turned off at boot (`tsc=noirqtime`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IrqTimeAccounting {
    /// Clocks of processes lack it: the receiving of packets, for one, is in no process's time.
    On,
    /// It is in the time of whichever task was running.
    Off,
    /// What was seen fits neither.
    Unknown,
}

impl IrqTimeAccounting {
    /// For a reader.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::On => "kept apart, and in no process's CPU time",
            Self::Off => "in the CPU time of the process that they come upon",
            Self::Unknown => "not to be told from a look",
        }
    }
}

/// What identifies a machine and its owner; collected only with `--full`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    pub host_name: String,
    pub user_name: String,
    pub addresses: Vec<String>,
}

/// What a look at the machine at rest showed, before any load of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// CPU time of others, as a share of all CPUs, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// PSI `some avg10` of the CPU, 0 to 100.
    pub psi_cpu_some_avg10: Option<f64>,
    /// The same over the look alone, 0 to 100: `avg10` still remembers a build that has ended.
    #[serde(default)]
    pub psi_cpu_some_now: Option<f64>,
    /// Established connections on listeners that are not ours and accept from beyond loopback.
    pub foreign_served_connections: u32,
    /// Spread of a fixed piece of work repeated on one CPU: 1.4826 × MAD / median.
    pub spin_robust_cv: f64,
}
