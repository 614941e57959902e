//! The CPU time of a whole machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time of all CPUs of a host within a window, by the columns of `/proc/stat` (proc_stat(5)).
/// The kernel counts it in steps of 10 ms per CPU, and by sampling at each tick where it does not
/// account the time of interrupts. The time of an interrupt is here once, whatever it interrupted:
/// that on idle CPUs and in kernel threads too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCpu {
    /// Time of programs, niced ones and guests included, ns.
    pub user_ns: u64,
    /// Time of the kernel on behalf of programs, and of its own threads, ns.
    pub system_ns: u64,
    /// Time of interrupts, ns.
    pub irq_ns: u64,
    /// Time of work that interrupts defer, such as receiving packets, ns; `ksoftirqd` included
    /// where the kernel accounts the time of interrupts.
    pub softirq_ns: u64,
    /// Time in which a CPU wanted to run while the hypervisor ran something else, ns; no part of
    /// the time used.
    pub stolen_ns: u64,
}

impl MachineCpu {
    /// All the time used: everything but the stolen time, ns.
    pub fn busy_ns(&self) -> u64 {
        let parts = [self.user_ns, self.system_ns, self.irq_ns, self.softirq_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Applies `change` to each part.
    #[must_use]
    pub fn each(&self, change: impl Fn(u64) -> u64) -> Self {
        self.with(&Self::default(), |ns, _| change(ns))
    }

    /// Adds the time of another window.
    pub fn add(&mut self, other: &Self) {
        *self = self.with(other, u64::saturating_add);
    }

    /// Returns the time since an earlier count.
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

/// CPU time of a machine over several runs of a command: a single run may be too short for the
/// ticks in which the time is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRuns {
    /// Runs, count.
    pub runs: u32,
    /// Time of all runs together.
    pub spent: MachineCpu,
}

impl MachineRuns {
    /// Adds up runs; `None` where the machine's time is known for none of them.
    pub fn of(runs: impl Iterator<Item = MachineCpu>) -> Option<Self> {
        let mut sum = Self::default();
        for run in runs {
            sum.runs += 1;
            sum.spent.add(&run);
        }
        (sum.runs > 0).then_some(sum)
    }

    /// The mean per run.
    pub fn each(&self) -> MachineCpu {
        self.spent.each(|ns| ns / u64::from(self.runs.max(1)))
    }
}

/// CPU time of all CPUs of a host per unit of work, from `/proc/stat`; the unit is given where it
/// is used.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachinePerUnit {
    /// User, system, irq and softirq time together.
    pub cpu: f64,
    /// Time of programs, niced ones and guests included.
    pub user: f64,
    /// Time of the kernel for programs, and of its own threads.
    pub system: f64,
    /// Time of interrupts.
    pub irq: f64,
    /// Time of work that interrupts defer, such as receiving packets.
    pub softirq: f64,
    /// Time taken by the hypervisor; no part of `cpu`.
    pub stolen: f64,
}

impl MachinePerUnit {
    /// Divides the time spent by the work done. `None` where the time is hidden, or no work was
    /// done.
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
