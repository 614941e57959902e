//! Typed warnings about a measurement, each with advice.

use std::mem::discriminant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod command;
mod datagram;
mod link;
mod worded;

pub use command::CommandDoubt;
pub use datagram::DatagramDoubt;
pub use link::LinkDoubt;
pub use worded::{WordedDoubt, worded};

/// Something about a measurement that a sceptic would ask about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "doubt", rename_all = "snake_case")]
pub enum Doubt {
    /// A load generator thread had the CPU for more than 85 % of the time at open loop, or of
    /// the time it could not spin away in closed loop.
    ClientIsLimit {
        /// Share of its time for which the busiest load thread worked, 0 to 1.
        busy_share: f64,
    },
    /// Requests left later than intended: p99 of the lateness against the median response.
    LateSends {
        /// p99 of the lateness, ns.
        lateness_ns_p99: u64,
        /// Median response time, ns.
        response_ns_p50: u64,
    },
    /// Less was offered than asked for.
    RateNotReached {
        /// Rate that was to be offered, requests/s.
        offered_rps: f64,
        /// Rate that was answered, requests/s.
        achieved_rps: f64,
    },
    /// Requests failed, as a share of those sent.
    RequestsFailed {
        /// Failed requests as a share of those sent, 0 to 1.
        failed_share: f64,
    },
    /// The A/A control differs at the level that voids the run.
    ControlDiffers {
        /// Control ÷ baseline; 1 is no difference.
        ratio: f64,
        /// Two-sided p-value of the exact signed-rank test, 0 to 1.
        p_value: f64,
    },
    /// This machine cannot see an effect as small as the one sought in this budget.
    BlindToEffect {
        /// Smallest effect that could be seen, as a share: 0.03 is 3 %.
        smallest_visible: f64,
        /// Smallest effect that was sought, as a share.
        sought: f64,
    },
    /// Other work had this share of the CPUs.
    ForeignWork {
        /// CPU time of other work as a share of all CPUs, 0 to 1.
        cpu_share: f64,
    },
    /// Some task waited for a CPU for this share of the time, per cent: of the ten seconds before a
    /// run (PSI avg10), or of what was measured.
    CpuPressure {
        /// Share of the time in which some task waited for a CPU, of the 10 s before a run or of
        /// what was measured, per cent, 0 to 100.
        #[serde(alias = "psi_some_avg10")]
        waiting_percent: f64,
    },
    /// Somebody else's server has live connections from beyond loopback.
    ServingOthers {
        /// Live connections from beyond loopback, count.
        connections: u32,
    },
    /// Client and server share CPUs, because there are too few.
    SharedCpus {
        /// CPUs that client and server share, count.
        cpus: u32,
    },
    /// The control group grants less CPU time than client and server could use.
    CpuQuota {
        /// CPU time that the control group grants, CPUs.
        cpus: f64,
    },
    /// The kernel keeps interrupts off the clocks of processes: CPU time per unit of work lacks them.
    IrqTimeApart,
    /// Client and server are on one machine: absolute throughput says little.
    OneMachine,
    /// A lever cannot be used here, and what needs it was left out.
    LeverSkipped {
        /// The lever, as `name` or `name=value`.
        lever: String,
        /// Why it cannot be used here.
        reason: String,
    },
    /// No namespace of our own could be made.
    NoPrivateNamespace {
        /// Why no namespace of our own could be made.
        reason: String,
    },
    /// The run was stopped before its plan was done.
    Unfinished {
        /// Rounds measured, count.
        rounds_done: u32,
        /// Rounds of the plan, count.
        rounds_planned: u32,
    },
    /// A comparison has fewer pairs than a verdict needs.
    TooFewPairs {
        /// Pairs there are, count.
        pairs: u32,
        /// Pairs that a verdict needs, count.
        needed: u32,
    },
    /// CPU time of the target cannot be read.
    TargetCpuHidden {
        /// The target.
        target: String,
        /// Why its CPU time cannot be read.
        reason: String,
    },
    /// Two servers do not answer alike, and were compared on demand.
    DifferentAnswers {
        /// In what they differ.
        what: String,
    },
    /// A service has written so much that its log was cut off.
    LogFlooded {
        /// What readers call the service.
        service: String,
        /// The log, below the service's own folder.
        file: String,
        /// Size at which the log was cut off, bytes.
        limit_bytes: u64,
    },
    /// In closed loop an arm had no answer in half of its blocks or more.
    AnsweredNothing {
        /// Name of the arm.
        arm: String,
    },
    /// The speed of a fixed piece of work shifted while the run went on.
    MachineShifted {
        /// Shift of the machine's own speed, as a share: 0.1 is 10 %.
        share: f64,
    },
    /// So many blocks were thrown away and measured again, beside those that count: the counters
    /// of the server's host were missed in them.
    BlocksMissed {
        /// Blocks that were thrown away and measured again, count.
        missed: u32,
        /// Blocks that count.
        counted: u32,
    },
    /// About commands that were compared.
    Command(CommandDoubt),
    /// About an emulated link.
    Link(LinkDoubt),
    /// About exchanged datagrams.
    Datagrams(DatagramDoubt),
}

impl Doubt {
    /// What is doubtful, in one sentence.
    #[must_use]
    #[expect(
        clippy::too_many_lines,
        reason = "a table: each doubt with its sentence"
    )]
    pub fn what(&self) -> String {
        match self {
            Self::ClientIsLimit { busy_share } => {
                format!(
                    "the client is the limit: its busiest thread was at {}",
                    percent(*busy_share)
                )
            }
            Self::LateSends {
                lateness_ns_p99,
                response_ns_p50,
            } => format!(
                "requests left late: p99 of the lateness is {:.0} µs, the median response {:.0} µs",
                *lateness_ns_p99 as f64 / 1e3,
                *response_ns_p50 as f64 / 1e3
            ),
            Self::RateNotReached {
                offered_rps,
                achieved_rps,
            } => {
                format!(
                    "{offered_rps:.0} requests/s were to be offered, {achieved_rps:.0} were answered"
                )
            }
            Self::RequestsFailed { failed_share } => {
                format!("{} of the requests failed", percent(*failed_share))
            }
            Self::ControlDiffers { ratio, p_value } => format!(
                "two identical arms differ by {:+.1} % (p = {p_value:.4})",
                (ratio - 1.0) * 100.0
            ),
            Self::BlindToEffect {
                smallest_visible,
                sought,
            } => format!(
                "this machine, now, can see effects from {} on; {} was sought",
                percent(*smallest_visible),
                percent(*sought)
            ),
            Self::ForeignWork { cpu_share } => {
                format!("other work uses {} of the CPUs", percent(*cpu_share))
            }
            Self::CpuPressure { waiting_percent } => {
                format!("tasks wait for a CPU {waiting_percent:.0} % of the time (PSI)")
            }
            Self::ServingOthers { connections } => {
                format!("a server here has {connections} live connections from beyond loopback")
            }
            Self::SharedCpus { cpus } => {
                let many = if *cpus == 1 { "" } else { "s" };
                format!(
                    "client and server share {cpus} CPU{many}: each takes time from the other, so rates and \
                     times to an answer are of both together, and CPU time per request alone is the server's"
                )
            }
            Self::CpuQuota { cpus } => quota(*cpus),
            Self::OneMachine => {
                "client and server are on one machine: the implied rate is a claim about CPU time, \
                 not a throughput that was seen"
                    .to_owned()
            }
            Self::IrqTimeApart => irq_time_apart(),
            Self::LeverSkipped { lever, reason } => format!("{lever} was left out: {reason}"),
            Self::NoPrivateNamespace { reason } => {
                format!("measured on the machine's own loopback: {reason}")
            }
            Self::Unfinished {
                rounds_done,
                rounds_planned,
            } => {
                format!("{rounds_done} of {rounds_planned} rounds are done")
            }
            Self::TooFewPairs { pairs, needed } => {
                format!("{pairs} pairs are too few for a verdict: {needed} are needed")
            }
            Self::TargetCpuHidden { target, reason } => {
                format!("the CPU time of {target} cannot be read: {reason}")
            }
            Self::DifferentAnswers { what } => format!("the two do not answer alike: {what}"),
            Self::LogFlooded { service, file, .. } => flooded(service, file),
            Self::AnsweredNothing { arm } => silent(arm),
            Self::MachineShifted { share } => shifted(*share),
            Self::BlocksMissed { missed, counted } => missed_blocks(*missed, *counted),
            Self::Command(doubt) => doubt.what(),
            Self::Link(doubt) => doubt.what(),
            Self::Datagrams(doubt) => doubt.what(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::ClientIsLimit { .. } => "give the client more threads or CPUs, or offer less",
            Self::LateSends { .. } => "offer less, or give the client a CPU of its own",
            Self::RateNotReached { .. } => "offer less: the server or the client cannot keep up",
            Self::RequestsFailed { .. } => "look at the bins of `errors` and at the server's log",
            Self::ControlDiffers { .. } => "run again with more rounds when the machine is quieter",
            Self::BlindToEffect { .. } => "ask for more rounds, or measure on a quieter machine",
            Self::ForeignWork { .. } | Self::CpuPressure { .. } => {
                "stop the other work, or trust CPU time before throughput and wall time"
            }
            Self::ServingOthers { .. } => "do not load a machine at work without its owner's word",
            Self::SharedCpus { .. } => {
                "use a machine, or an affinity mask, of more CPUs, or fewer workers"
            }
            Self::CpuQuota { .. } => {
                "ask for a quota of two CPUs or more; until then trust CPU time alone"
            }
            Self::IrqTimeApart => {
                "read it beside the whole machine's CPU time, compare it with that of such kernels \
                 alone; `tsc=noirqtime` at boot has a kernel count as the others do"
            }
            Self::OneMachine => "for throughput that counts, put the client on another machine",
            Self::LeverSkipped { .. } => {
                "the other steps stand; `linerate doctor` tells what this machine lacks"
            }
            Self::NoPrivateNamespace { .. } => {
                "allow user namespaces (user.max_user_namespaces), or run as root"
            }
            Self::Unfinished { .. } => "`linerate study resume` goes on where it stopped",
            Self::TooFewPairs { .. } => "ask for more rounds, and see why pairs were lost if any",
            Self::TargetCpuHidden { .. } => "run as the target's user or as root",
            Self::DifferentAnswers { .. } => "see whether both do the same work for it",
            Self::LogFlooded { .. } => {
                "see what it complains about, or have it log less: writing is measured with it"
            }
            Self::AnsweredNothing { .. } => {
                "see whether the server stalls or other work takes its CPU; without a rate of its \
                 own no latency is measured"
            }
            Self::MachineShifted { .. } => "look for throttling, migration or spent burst credit",
            Self::BlocksMissed { .. } => {
                "give the server's host less other work, or blocks more time: what is thrown away \
                 may depend on the arm"
            }
            Self::Command(doubt) => doubt.advice(),
            Self::Link(doubt) => doubt.advice(),
            Self::Datagrams(doubt) => doubt.advice(),
        }
    }

    /// Whether two doubts are of one kind, so that a reader needs only the worse. Skipped levers
    /// and hidden targets are one kind each.
    #[must_use]
    pub fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::LeverSkipped { lever: a, .. }, Self::LeverSkipped { lever: b, .. })
            | (Self::TargetCpuHidden { target: a, .. }, Self::TargetCpuHidden { target: b, .. }) => {
                a == b
            }
            (Self::Command(a), Self::Command(b)) => a.is_same_kind(b),
            (Self::Link(a), Self::Link(b)) => a.is_same_kind(b),
            (Self::Datagrams(a), Self::Datagrams(b)) => discriminant(a) == discriminant(b),
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// Orders doubts of one kind, the worse the larger; on no scale, and equal where a kind has no
    /// better and worse.
    #[must_use]
    pub fn severity(&self) -> f64 {
        match self {
            Self::ClientIsLimit { busy_share } => *busy_share,
            Self::LateSends {
                lateness_ns_p99,
                response_ns_p50,
            } => *lateness_ns_p99 as f64 / (*response_ns_p50).max(1) as f64,
            Self::RateNotReached {
                offered_rps,
                achieved_rps,
            } => -achieved_rps / offered_rps,
            Self::RequestsFailed { failed_share } => *failed_share,
            Self::ControlDiffers { p_value, .. } => -p_value,
            Self::BlindToEffect {
                smallest_visible, ..
            } => *smallest_visible,
            Self::ForeignWork { cpu_share } => *cpu_share,
            Self::CpuPressure { waiting_percent } => *waiting_percent,
            Self::ServingOthers { connections } => f64::from(*connections),
            Self::SharedCpus { cpus } => -f64::from(*cpus),
            Self::CpuQuota { cpus } => -cpus,
            Self::TooFewPairs { pairs, .. } => -f64::from(*pairs),
            Self::MachineShifted { share } => *share,
            Self::BlocksMissed { missed, .. } => f64::from(*missed),
            Self::Command(doubt) => doubt.severity(),
            Self::Link(doubt) => doubt.severity(),
            Self::Datagrams(doubt) => doubt.severity(),
            Self::OneMachine
            | Self::IrqTimeApart
            | Self::LeverSkipped { .. }
            | Self::NoPrivateNamespace { .. }
            | Self::Unfinished { .. }
            | Self::TargetCpuHidden { .. }
            | Self::AnsweredNothing { .. }
            | Self::DifferentAnswers { .. }
            | Self::LogFlooded { .. } => 0.0,
        }
    }
}

fn quota(cpus: f64) -> String {
    format!(
        "the control group grants {cpus:.2} CPUs' worth of time: what runs in it is stopped for \
         the rest of each period once that is used"
    )
}

fn irq_time_apart() -> String {
    "this kernel keeps interrupts off the clocks of processes (CONFIG_IRQ_TIME_ACCOUNTING): CPU time of \
     a server or a client lacks its softirqs, the receiving of packets among them"
        .to_owned()
}

fn flooded(service: &str, file: &str) -> String {
    format!("{service} floods its log: {file} has come to its limit and was cut off")
}

fn silent(arm: &str) -> String {
    format!("`{arm}` answered nothing in half of its closed-loop blocks or more")
}

fn shifted(share: f64) -> String {
    let share = percent(share);
    format!("the machine's own speed shifted by {share} during the run")
}

fn missed_blocks(missed: u32, counted: u32) -> String {
    format!(
        "{missed} blocks were thrown away and measured again, beside the {counted} that count: \
         the counters of the server's host were not read near both ends of their windows"
    )
}

/// Two digits are what a share's reader can use.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_doubt_has_its_shape_in_the_schemas() {
        let shapes = include_str!("../../../../docs/schema/common.json");
        // The error names all that there are.
        let error = serde_json::from_str::<Doubt>("{\"doubt\": \"\"}").unwrap_err();
        let error = error.to_string();
        let names: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert!(names.contains(&"late_sends") && names.len() > 20, "{error}");
        for name in names {
            let has_shape = shapes.contains(&format!("\"const\": \"{name}\""));
            assert!(has_shape, "`{name}` is not in `doubt_fields`");
        }
    }
}
