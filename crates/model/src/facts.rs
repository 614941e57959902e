//! What a machine is: an allow-list. Nothing gets into a run folder that has no field here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The facts of a machine that bear on its speed and do not name it or its owner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Release of the kernel.
    pub kernel_release: String,
    /// CPU architecture.
    pub architecture: String,
    /// The distribution's own name for itself, such as "Debian GNU/Linux 12 (bookworm)".
    pub distribution: Option<String>,
    /// Model of the CPUs.
    pub cpu_model: String,
    /// CPUs online, count.
    pub cpus_online: u32,
    /// The CPUs this process may use, as a list such as "0-3,8".
    pub cpus_allowed: String,
    /// CPUs' worth of time that the control group grants; `None` without a quota.
    pub cpu_quota: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// The hypervisor, where there is one and it names itself.
    pub virtualisation: Option<String>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Governor of the CPU frequency.
    pub frequency_governor: Option<String>,
    /// Time a guest polls before it halts, ns; `None` where the kernel has no such setting.
    pub halt_poll_ns: Option<u64>,
    /// Congestion control of TCP.
    pub congestion_control: Option<String>,
    /// Whether the kernel keeps the time of interrupts off the clocks of processes
    /// (CONFIG_IRQ_TIME_ACCOUNTING in effect), as a look at it showed; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<IrqTimeAccounting>,
    /// File name under `/sys/devices/system/cpu/vulnerabilities` to the state it gives.
    pub mitigations: BTreeMap<String, String>,
    /// Only with --full: what identifies the machine and its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Whether the kernel keeps the time of interrupts apart, hard ones and soft ones, from that of the task
/// that they came upon: `CONFIG_IRQ_TIME_ACCOUNTING`, where the clock is steady enough for it and it was
/// not turned off at boot (`tsc=noirqtime`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub fn words(self) -> &'static str {
        match self {
            Self::On => "kept apart, and in no process's CPU time",
            Self::Off => "in the CPU time of the process that they come upon",
            Self::Unknown => "not to be told from a look",
        }
    }
}

/// What identifies a machine and its owner; collected only with `--full`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Name of the host.
    pub host_name: String,
    /// Name of the user.
    pub user_name: String,
    /// Addresses of the host.
    pub addresses: Vec<String>,
}

/// What a look at the machine at rest showed, before any load of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// CPU time of others, as a share of all CPUs, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// Share of the last 10 s in which some task waited for a CPU, per cent, 0 to 100.
    pub psi_cpu_some_avg10: Option<f64>,
    /// PSI `some` over the look alone, 0 to 100: `avg10` still remembers a build that has ended.
    #[serde(default)]
    pub psi_cpu_some_now: Option<f64>,
    /// Established connections on listeners that are not ours and accept from beyond loopback.
    pub foreign_served_connections: u32,
    /// Spread of a fixed piece of work repeated on one CPU: 1.4826 × MAD / median.
    pub spin_robust_cv: f64,
}
