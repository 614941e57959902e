//! The CPU time of a whole machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What all CPUs of a host did within a window, by the columns of `/proc/stat` (proc_stat(5)). It is
/// counted in steps of 10 ms a CPU, and by samples at each tick where the kernel keeps no time of
/// interrupts. Whoever an interrupt came upon, its time is here once: that of idle CPUs and of kernel
/// threads too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCpu {
    /// Programs, niced ones and guests included, ns.
    pub user_ns: u64,
    /// The kernel on behalf of programs, and its own threads.
    pub system_ns: u64,
    /// Interrupts, ns.
    pub irq_ns: u64,
    /// What interrupts leave for later, such as the receiving of packets; `ksoftirqd` included where
    /// the kernel keeps their time.
    pub softirq_ns: u64,
    /// Wanted to run while the hypervisor ran something else, ns; no part of what was used.
    pub stolen_ns: u64,
}

impl MachineCpu {
    /// All that was used: everything but what was stolen.
    pub fn busy_ns(&self) -> u64 {
        let parts = [self.user_ns, self.system_ns, self.irq_ns, self.softirq_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Each part changed alike.
    #[must_use]
    pub fn each(&self, change: impl Fn(u64) -> u64) -> Self {
        self.with(&Self::default(), |ns, _| change(ns))
    }

    /// Adds the time of another window.
    pub fn add(&mut self, other: &Self) {
        *self = self.with(other, u64::saturating_add);
    }

    /// What passed since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, both: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user_ns: both(self.user_ns, other.user_ns),
            system_ns: both(self.system_ns, other.system_ns),
            irq_ns: both(self.irq_ns, other.irq_ns),
            softirq_ns: both(self.softirq_ns, other.softirq_ns),
            stolen_ns: both(self.stolen_ns, other.stolen_ns),
        }
    }
}

/// The CPU time of a machine over some runs of a command: one may be too short for the ticks that it is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRuns {
    /// Runs, count.
    pub runs: u32,
    /// In all of them together.
    pub spent: MachineCpu,
}

impl MachineRuns {
    /// Adds runs up; `None` where the machine's time is known of none.
    pub fn of(runs: impl Iterator<Item = MachineCpu>) -> Option<Self> {
        let mut sum = Self::default();
        for run in runs {
            sum.runs += 1;
            sum.spent.add(&run);
        }
        (sum.runs > 0).then_some(sum)
    }

    /// The mean of a run.
    pub fn each(&self) -> MachineCpu {
        self.spent.each(|ns| ns / u64::from(self.runs.max(1)))
    }
}

/// CPU time of all CPUs of a host for each unit of work, by /proc/stat; the unit is told where
/// it is used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachinePerUnit {
    /// User, system, irq and softirq together.
    pub cpu: f64,
    /// Programs, niced ones and guests included.
    pub user: f64,
    /// The kernel for programs, and its own threads.
    pub system: f64,
    /// Interrupts.
    pub irq: f64,
    /// What interrupts leave for later, as the receiving of packets.
    pub softirq: f64,
    /// Taken by the hypervisor: no part of cpu.
    pub stolen: f64,
}

impl MachinePerUnit {
    /// `None` where it is hidden, or nothing was done to divide it by.
    pub fn of(spent: Option<MachineCpu>, per_unit: impl Fn(u64) -> Option<f64>) -> Option<Self> {
        let spent = spent?;
        Some(Self {
            cpu: per_unit(spent.busy_ns())?,
            user: per_unit(spent.user_ns)?,
            system: per_unit(spent.system_ns)?,
            irq: per_unit(spent.irq_ns)?,
            softirq: per_unit(spent.softirq_ns)?,
            stolen: per_unit(spent.stolen_ns)?,
        })
    }
}
