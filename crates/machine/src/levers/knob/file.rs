//! Which files of `/sys` there are to set, and how they write their value.

use serde::{Deserialize, Serialize};

use crate::levers::value::Form;

/// A setting of which the machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostSetting {
    HugePages,
    HugePagesDefrag,
    GuestHaltPoll,
    Clocksource,
}

impl HostSetting {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::HugePages => "sys/kernel/mm/transparent_hugepage/enabled",
            Self::HugePagesDefrag => "sys/kernel/mm/transparent_hugepage/defrag",
            Self::GuestHaltPoll => "sys/module/haltpoll/parameters/guest_halt_poll_ns",
            Self::Clocksource => "sys/devices/system/clocksource/clocksource0/current_clocksource",
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Self::HugePages | Self::HugePagesDefrag => Form::Chosen,
            Self::GuestHaltPoll => Form::Number,
            Self::Clocksource => Form::Word,
        }
    }
}

/// A setting of each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSetting {
    Governor,
    EnergyPreference,
}

impl CpuSetting {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Governor => "cpufreq/scaling_governor",
            Self::EnergyPreference => "cpufreq/energy_performance_preference",
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Self::Governor | Self::EnergyPreference => Form::Word,
        }
    }
}

/// A setting of each network device: all are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceSetting {
    GroFlushTimeout,
    NapiDeferHardIrqs,
    ThreadedNapi,
    TransmitQueueLength,
    Mtu,
}

impl DeviceSetting {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::GroFlushTimeout => "gro_flush_timeout",
            Self::NapiDeferHardIrqs => "napi_defer_hard_irqs",
            Self::ThreadedNapi => "threaded",
            Self::TransmitQueueLength => "tx_queue_len",
            Self::Mtu => "mtu",
        }
    }
}

/// What every queue begins with (`DQL_MAX_LIMIT` of linux/dynamic_queue_limits.h).
const BYTE_LIMIT: i64 = 1_879_048_192;

/// A setting of each queue of a network device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueSetting {
    RpsCpus,
    RpsFlowCount,
    XpsCpus,
    ByteLimit,
}

impl QueueSetting {
    pub(crate) const ALL: [Self; 4] = [
        Self::RpsCpus,
        Self::RpsFlowCount,
        Self::XpsCpus,
        Self::ByteLimit,
    ];

    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::RpsCpus => "rps_cpus",
            Self::RpsFlowCount => "rps_flow_cnt",
            Self::XpsCpus => "xps_cpus",
            Self::ByteLimit => "byte_queue_limits/limit_max",
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Self::RpsCpus | Self::XpsCpus => Form::CpuMask,
            Self::RpsFlowCount | Self::ByteLimit => Form::Number,
        }
    }

    /// The number that a queue begins with, of those that have one.
    pub(crate) fn usual_number(self) -> i64 {
        match self {
            Self::RpsCpus | Self::RpsFlowCount | Self::XpsCpus => 0,
            Self::ByteLimit => BYTE_LIMIT,
        }
    }

    /// Whether receiving queues have it; else those that send.
    pub(crate) fn is_of_receiving(self) -> bool {
        matches!(self, Self::RpsCpus | Self::RpsFlowCount)
    }
}
