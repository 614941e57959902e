//! The kinds of levers of a program, and how their values are typed.

use std::time::Duration;

use serde::Deserialize;
use sys::attribute::{Attribute, Flaw};
use sys::bpf::Mode;
use sys::scheduling::{SLICE_NS, Scheduling};

use super::{Holding, ProgramSetting};

/// The kind of a lever of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProgramKind {
    Scheduling,
    Nice,
    TimerSlack,
    Cpus,
    OpenFiles,
    Speculation(#[serde(with = "FlawName")] Flaw),
    HugePages,
    CpuWeight,
    WakeLatency,
    PacketProgram,
}

#[derive(Deserialize)]
#[serde(remote = "Flaw", rename_all = "snake_case")]
enum FlawName {
    StoreBypass,
    IndirectBranch,
}

/// Timer slack, ns. More than a second is a wait rather than a slack.
const SLACK_NS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;

/// Longest wake latency, µs. No idle state takes so long to leave.
const MOST_WAKE_US: u32 = 1_000_000;

impl ProgramKind {
    /// Parses a value as a person types it; `None` if it is not valid.
    pub(super) fn parse(self, text: &str) -> Option<ProgramSetting> {
        let attribute = match self {
            Self::Scheduling => Attribute::Scheduling(scheduling(text)?),
            Self::Nice => Attribute::Nice(within(-20..=19, text)?),
            Self::TimerSlack => {
                let slack_ns = time_ns(text)?;
                Attribute::TimerSlackNs(SLACK_NS.contains(&slack_ns).then_some(slack_ns)?)
            }
            Self::Cpus => Attribute::Cpus(cpus(text)?),
            Self::OpenFiles => Attribute::OpenFiles(within(8..=1 << 30, text)?),
            Self::Speculation(flaw) => Attribute::Speculation(flaw, is_allowed(text)?),
            Self::HugePages => Attribute::HugePages(is_allowed(text)?),
            Self::WakeLatency => {
                let held = Holding::WakeLatencyUs(wake_latency_us(text)?);
                return Some(ProgramSetting::Holding(held));
            }
            Self::PacketProgram => return packet_program(text).map(ProgramSetting::Holding),
            Self::CpuWeight => return within(1..=10_000, text).map(ProgramSetting::CpuWeight),
        };
        Some(ProgramSetting::Attribute(attribute))
    }
}

/// Parses `batch`, `other:3ms` with a slice, or `fifo:10` with a priority.
fn scheduling(text: &str) -> Option<Scheduling> {
    let (policy, number) = match text.split_once(':') {
        Some((policy, number)) => (policy, Some(number)),
        None => (text, None),
    };
    let slice_ns = |number: Option<&str>| match number {
        None => Some(None),
        Some(slice) => {
            let slice_ns = time_ns(slice)?;
            SLICE_NS.contains(&slice_ns).then_some(Some(slice_ns))
        }
    };
    Some(match (policy, number) {
        ("other", slice) => Scheduling::Other {
            slice_ns: slice_ns(slice)?,
        },
        ("batch", slice) => Scheduling::Batch {
            slice_ns: slice_ns(slice)?,
        },
        ("idle", None) => Scheduling::Idle,
        ("fifo", Some(priority)) => Scheduling::Fifo(within(1..=99, priority)?),
        ("rr", Some(priority)) => Scheduling::RoundRobin(within(1..=99, priority)?),
        _ => return None,
    })
}

fn cpus(text: &str) -> Option<Vec<usize>> {
    let mut cpus = sys::cpu::parse_list(text).ok()?;
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Parses `native:eth0` or `generic:lo`. The device must always be named: the default one may carry
/// the connection over which this is typed.
fn packet_program(text: &str) -> Option<Holding> {
    let (mode, device) = text.split_once(':')?;
    let mode = match mode {
        "native" => Mode::Native,
        "generic" => Mode::Generic,
        _ => return None,
    };
    let device = device.parse().ok()?;
    Some(Holding::PacketProgram { mode, device })
}

fn is_allowed(text: &str) -> Option<bool> {
    match text {
        "allowed" => Some(true),
        "disabled" => Some(false),
        _ => None,
    }
}

fn time_ns(text: &str) -> Option<u64> {
    let time: Duration = humantime::parse_duration(text).ok()?;
    u64::try_from(time.as_nanos()).ok()
}

/// Only whole microseconds are valid, since the kernel counts no fractions.
fn wake_latency_us(text: &str) -> Option<u32> {
    let time_ns = time_ns(text).filter(|time_ns| time_ns % 1000 == 0)?;
    u32::try_from(time_ns / 1000)
        .ok()
        .filter(|time_us| *time_us <= MOST_WAKE_US)
}

fn within<N: std::str::FromStr + PartialOrd>(
    range: std::ops::RangeInclusive<N>,
    text: &str,
) -> Option<N> {
    let number = text.parse().ok()?;
    range.contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(ProgramKind, &str); 10] = [
        (
            ProgramKind::Scheduling,
            "other other:3ms batch batch:100us idle fifo:1 fifo:99 rr:10",
        ),
        (ProgramKind::Nice, "-20 0 19"),
        (ProgramKind::TimerSlack, "1ns 1us 50us 1s"),
        (ProgramKind::Cpus, "0 0-3 0-1,7"),
        (ProgramKind::OpenFiles, "8 1024 1048576"),
        (
            ProgramKind::Speculation(Flaw::StoreBypass),
            "allowed disabled",
        ),
        (ProgramKind::HugePages, "allowed disabled"),
        (ProgramKind::CpuWeight, "1 100 10000"),
        (ProgramKind::WakeLatency, "0s 20us 1s"),
        (ProgramKind::PacketProgram, "native:eth0 generic:lo"),
    ];

    #[test]
    fn what_is_shown_of_a_value_is_what_may_be_typed() {
        for (kind, values) in KINDS {
            for value in values.split(' ') {
                assert_eq!(kind.parse(value).unwrap().to_string(), value, "{kind:?}");
            }
        }
    }

    #[test]
    fn what_the_kernel_would_cut_or_refuse_is_no_value() {
        for (kind, wrong) in [
            (
                ProgramKind::Scheduling,
                "fifo fifo:0 fifo:100 idle:1 other:1us batch:1s rr deadline rr:x",
            ),
            (ProgramKind::Nice, "-21 20 1.5 nice"),
            (ProgramKind::TimerSlack, "0s 2s 50 -1us"),
            (ProgramKind::Cpus, "a 3-1 0,"),
            (ProgramKind::OpenFiles, "7 -1 all"),
            (ProgramKind::HugePages, "on off never"),
            (ProgramKind::CpuWeight, "0 10001 1.5"),
            (ProgramKind::WakeLatency, "1ns 1500ns 2s 20 -1us"),
            (
                ProgramKind::PacketProgram,
                "pass native generic native: generic:a/b offload:lo",
            ),
        ] {
            for value in wrong.split(' ') {
                assert!(kind.parse(value).is_none(), "{kind:?} took {value}");
            }
            assert!(kind.parse("").is_none(), "{kind:?}");
        }
    }
}
