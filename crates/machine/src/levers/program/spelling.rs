//! Settings of a program, written as they are typed.

use std::fmt;
use std::time::Duration;

use sys::attribute::Attribute;
use sys::scheduling::Scheduling;

use super::Holding;

/// The setting that one lever gives a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramSetting {
    Attribute(Attribute),
    /// The weight among its neighbours of a control group made for the program, from 1 to 10,000;
    /// 100 is usual.
    CpuWeight(u32),
    /// A setting that holds as long as a descriptor is open.
    Holding(Holding),
}

impl fmt::Display for ProgramSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CpuWeight(weight) => write!(formatter, "{weight}"),
            Self::Holding(holding) => holding.fmt(formatter),
            Self::Attribute(attribute) => write_attribute(attribute, formatter),
        }
    }
}

fn write_attribute(attribute: &Attribute, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match attribute {
        Attribute::Scheduling(scheduling) => write_scheduling(*scheduling, formatter),
        Attribute::Nice(nice) => write!(formatter, "{nice}"),
        Attribute::TimerSlackNs(slack_ns) => formatter.write_str(&time(*slack_ns)),
        Attribute::Cpus(cpus) => formatter.write_str(&sys::cpu::format_list(cpus)),
        Attribute::OpenFiles(count) => write!(formatter, "{count}"),
        Attribute::Speculation(_, is_allowed) | Attribute::HugePages(is_allowed) => {
            formatter.write_str(if *is_allowed { "allowed" } else { "disabled" })
        }
    }
}

fn write_scheduling(scheduling: Scheduling, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (policy, slice_ns) = match scheduling {
        Scheduling::Other { slice_ns } => ("other", slice_ns),
        Scheduling::Batch { slice_ns } => ("batch", slice_ns),
        Scheduling::Idle => ("idle", None),
        Scheduling::Fifo(priority) => return write!(formatter, "fifo:{priority}"),
        Scheduling::RoundRobin(priority) => return write!(formatter, "rr:{priority}"),
    };
    match slice_ns {
        None => formatter.write_str(policy),
        Some(slice_ns) => write!(formatter, "{policy}:{}", time(slice_ns)),
    }
}

/// Writes a time as one word, so that it can be typed: its parts have no white space between them.
pub(super) fn time(time_ns: u64) -> String {
    let words = humantime::format_duration(Duration::from_nanos(time_ns));
    words.to_string().replace(' ', "")
}
