//! The facts of a machine, an allow-list: nothing gets into a run folder that has no field here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The facts of a machine that affect its speed and do not identify it or its owner.
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
    /// CPU time that the control group grants, in CPUs; `None` without a quota.
    pub cpu_quota: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Name of the hypervisor, if there is one and it reports its name.
    pub virtualisation: Option<String>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Governor of the CPU frequency.
    pub frequency_governor: Option<String>,
    /// Time for which a guest polls before it halts, ns; `None` if the kernel has no such setting.
    pub halt_poll_ns: Option<u64>,
    /// Congestion control of TCP.
    pub congestion_control: Option<String>,
    /// Whether the kernel keeps the time of interrupts off the clocks of processes
    /// (CONFIG_IRQ_TIME_ACCOUNTING in effect), as a test showed; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<IrqTimeAccounting>,
    /// Mitigations: file name under `/sys/devices/system/cpu/vulnerabilities`, and the state in it.
    pub mitigations: BTreeMap<String, String>,
    /// What identifies the machine and its owner; only with --full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Whether the kernel keeps the time of interrupts, hard and soft, apart from that of the task that
/// they interrupt. It does with `CONFIG_IRQ_TIME_ACCOUNTING`, if the clock is steady enough and it
/// was not turned off at boot (`tsc=noirqtime`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IrqTimeAccounting {
    /// The clocks of processes lack it: the time of receiving packets, for one, belongs to no
    /// process.
    On,
    /// It counts for whichever task was running.
    Off,
    /// The result of the test fits neither.
    Unknown,
}

impl IrqTimeAccounting {
    /// Describes it for a reader.
    pub fn words(self) -> &'static str {
        match self {
            Self::On => "kept apart, and in no process's CPU time",
            Self::Off => "in the CPU time of the process that they interrupt",
            Self::Unknown => "counted in a way that could not be determined",
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

/// What an observation of the machine at rest showed, before any load of ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// CPU time of others, as a share of all CPUs, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// Share of the last 10 s in which some task waited for a CPU, per cent, 0 to 100.
    pub psi_cpu_some_avg10: Option<f64>,
    /// PSI `some` over the observation alone, per cent, 0 to 100; `avg10` still contains a build
    /// that has ended.
    #[serde(default)]
    pub psi_cpu_some_now: Option<f64>,
    /// Established connections on listeners that are not ours and accept from beyond loopback,
    /// count.
    pub foreign_served_connections: u32,
    /// Spread of a fixed piece of work repeated on one CPU: 1.4826 × MAD / median.
    pub spin_robust_cv: f64,
}
