//! Typed warnings about a measurement, each with advice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod command;
mod link;
mod packet;
mod table;
mod worded;

pub use command::CommandDoubt;
pub use link::LinkDoubt;
pub use packet::PacketDoubt;
use table::doubts;
pub use worded::{WordedDoubt, worded};

doubts! {
    /// Something about a measurement that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "doubt", rename_all = "snake_case")]
    pub enum Doubt {
        /// A load generator thread had the CPU for more than 85 % of the time in open loop; in
        /// closed loop, of the time that it could not spend spinning.
        ClientIsLimit {
            /// Share of its time in which the busiest load thread worked or waited for a CPU, 0 to
            /// 1.
            busy_share: f64,
        } => (
            "the client is the limit: its busiest thread worked or waited for a CPU for {} of the time",
            percent(*busy_share)
        ),
            "give the client more threads or CPUs, or offer less",
            severity: *busy_share;

        /// Requests left later than intended: p99 of the lateness is large beside the median
        /// response time.
        LateSends {
            /// p99 of the lateness, ns.
            lateness_ns_p99: u64,
            /// Median response time, ns.
            response_ns_p50: u64,
        } => (
            "requests left late: p99 of the lateness is {:.0} µs, the median response {:.0} µs",
            *lateness_ns_p99 as f64 / 1e3,
            *response_ns_p50 as f64 / 1e3
        ),
            "offer less, or give the client a CPU of its own",
            severity: *lateness_ns_p99 as f64 / (*response_ns_p50).max(1) as f64;

        /// A lower rate was answered than was to be offered.
        RateNotReached {
            /// Rate that was to be offered, requests/s.
            offered_rps: f64,
            /// Rate that was answered, requests/s.
            achieved_rps: f64,
            /// Requests that were due and had no answer, count; their reported times are too low. 0
            /// in older runs.
            #[serde(default)]
            unanswered: u64,
        } => (
            "{offered_rps:.0} requests/s were to be offered, {achieved_rps:.0} were answered{}",
            told_too_low(*unanswered)
        ),
            "offer less: the server or the client cannot keep up",
            severity: -achieved_rps / offered_rps;

        /// Streams carried more than the rate that was asked for.
        RateExceeded {
            /// Rate that arrived ÷ the rate that was asked for.
            times: f64,
        } => ("the rate that was asked for was not held: {times:.1} times as much arrived"),
            "a write is sent whole, however low the rate: use smaller writes (--write-size), or a longer test",
            severity: *times;

        /// Requests failed.
        RequestsFailed {
            /// Failed requests as a share of those sent, 0 to 1.
            failed_share: f64,
        } => ("{} of the requests failed", percent(*failed_share)),
            "look at the bins of `errors` and at the server's log",
            severity: *failed_share;

        /// A server stopped answering well before the window closed.
        StoppedAnswering {
            /// Time at the end of the window without a right answer, s.
            silent_seconds: f64,
            /// Attempts to connect that failed, count.
            connects_failed: u64,
        } => (
            "no correct answer came in the last {silent_seconds:.1} s of the window{}",
            and_connects_failed(*connects_failed)
        ),
            "see why the server stopped answering; the reported rate is over the whole window",
            severity: *silent_seconds;

        /// More attempts to connect failed than succeeded.
        ConnectsFailed {
            /// Attempts to connect that failed, count.
            failed: u64,
            /// Attempts to connect that succeeded, count.
            made: u64,
        } => ("{failed} attempts to connect failed, and {made} succeeded"),
            "see whether the server went away or accepts fewer connections: the load ran over fewer than were asked for",
            severity: *failed as f64;

        /// The A/A control differs from the baseline at the level that voids the run.
        ControlDiffers {
            /// Control ÷ baseline; 1 is no difference.
            ratio: f64,
            /// Two-sided p-value of the exact signed-rank test, 0 to 1.
            p_value: f64,
        } => ("two identical arms differ by {:+.1} % (p = {p_value:.4})", (ratio - 1.0) * 100.0),
            "run again with more rounds when the machine is quieter",
            severity: -p_value;

        /// Within this budget this machine cannot show an effect as small as the one sought.
        BlindToEffect {
            /// Smallest effect that could be seen, as a share: 0.03 is 3 %.
            smallest_visible: f64,
            /// Smallest effect that was sought, as a share.
            sought: f64,
        } => (
            "at the moment this machine can see effects of {} or more; {} was sought",
            percent(*smallest_visible),
            percent(*sought)
        ),
            "ask for more rounds, or measure on a quieter machine",
            severity: *smallest_visible;

        /// Other work used a share of the CPUs.
        ForeignWork {
            /// CPU time of other work as a share of all CPUs, 0 to 1.
            cpu_share: f64,
        } => ("other work uses {} of the CPUs", percent(*cpu_share)),
            "stop the other work, or trust CPU time before throughput and wall time",
            severity: *cpu_share;

        /// Some task waited for a CPU for a large share of the time: of the ten seconds before a
        /// run (PSI avg10), or of the measured time.
        CpuPressure {
            /// Share of the time in which some task waited for a CPU, of the 10 s before a run or
            /// of the measured time, per cent, 0 to 100.
            #[serde(alias = "psi_some_avg10")]
            waiting_percent: f64,
        } => ("tasks wait for a CPU {waiting_percent:.0} % of the time (PSI)"),
            "stop the other work, or trust CPU time before throughput and wall time",
            severity: *waiting_percent;

        /// Somebody else's server has live connections from beyond loopback.
        ServingOthers {
            /// Live connections from beyond loopback, count.
            connections: u32,
        } => ("a server here has {connections} live connections from beyond loopback"),
            "do not load a machine at work without its owner's word",
            severity: f64::from(*connections);

        /// Client and server share CPUs, because the machine has too few.
        SharedCpus {
            /// CPUs that client and server share, count.
            cpus: u32,
        } => (
            "client and server share {cpus} CPU{}: each takes time from the other, so rates and \
             response times are of both together; only CPU time per request is the server's alone",
            if *cpus == 1 { "" } else { "s" }
        ),
            "use a machine or an affinity mask with more CPUs, or fewer workers",
            severity: -f64::from(*cpus);

        /// The control group grants less CPU time than client and server could use.
        CpuQuota {
            /// CPU time that the control group grants, CPUs.
            cpus: f64,
        } => (
            "the control group grants {cpus:.2} CPUs' worth of time: what runs in it is stopped for \
             the rest of each period once that is used"
        ),
            "ask for a quota of two CPUs or more; until then trust only CPU time",
            severity: -cpus;

        /// The kernel keeps the time of interrupts off the clocks of processes, so CPU time per
        /// unit of work lacks it.
        IrqTimeApart => (
            "this kernel does not count interrupts as time of processes \
             (CONFIG_IRQ_TIME_ACCOUNTING): the CPU time of a server or a client lacks its softirqs, \
             among them the receiving of packets"
        ),
            "read it beside the whole machine's CPU time, and compare it only with that of such \
            kernels; booted with `tsc=noirqtime`, a kernel counts as the others do";

        /// Client and server are on one machine, so absolute throughput says little.
        OneMachine => (
            "client and server are on one machine: the implied rate is a claim about CPU time, \
            not a throughput that was seen"
        ),
            "for throughput that counts, put the client on another machine";

        /// A lever cannot be used here, and the arms that need it were left out.
        LeverSkipped {
            /// The lever, as `name` or `name=value`.
            lever: String,
            /// Why it cannot be used here.
            reason: String,
        } => ("{lever} was left out: {reason}"),
            "the results of the other steps stand; `linerate doctor` shows what this machine lacks",
            apart: lever;

        /// We could not create a namespace of our own.
        NoPrivateNamespace {
            /// Why no namespace could be created.
            reason: String,
        } => ("measured on the machine's own loopback: {reason}"),
            "allow user namespaces (user.max_user_namespaces), or run as root";

        /// The run was stopped before its plan was done.
        Unfinished {
            /// Rounds measured, count.
            rounds_done: u32,
            /// Rounds of the plan, count.
            rounds_planned: u32,
        } => ("{rounds_done} of {rounds_planned} rounds are done"),
            "`linerate study resume` continues where it stopped";

        /// A comparison has fewer pairs than a verdict needs.
        TooFewPairs {
            /// Available pairs, count.
            pairs: u32,
            /// Pairs that a verdict needs, count.
            needed: u32,
        } => ("{pairs} pairs are too few for a verdict: {needed} are needed"),
            "ask for more rounds; if pairs were lost, see why",
            severity: -f64::from(*pairs);

        /// CPU time of the target cannot be read.
        TargetCpuHidden {
            /// The target.
            target: String,
            /// Why its CPU time cannot be read.
            reason: String,
        } => ("the CPU time of {target} cannot be read: {reason}"),
            "run as the target's user or as root",
            apart: target;

        /// Two servers do not answer alike, and were compared because the user asked for it.
        DifferentAnswers {
            /// How their answers differ.
            what: String,
        } => ("the two do not answer alike: {what}"),
            "see whether both do the same work";

        /// A service wrote so much that its log was cut off.
        LogFlooded {
            /// Name of the service for readers.
            service: String,
            /// The log file, below the service's own folder.
            file: String,
            /// Size at which the log was cut off, bytes.
            limit_bytes: u64,
        } => ("{service} floods its log: {file} has reached its limit and was cut off"),
            "see what it complains about, or have it log less: writing the log is part of what is measured";

        /// In closed loop an arm had no answer in at least half of its blocks.
        AnsweredNothing {
            /// Name of the arm.
            arm: String,
        } => ("`{arm}` answered nothing in at least half of its closed-loop blocks"),
            "see whether the server stalls or other work takes its CPU; without a rate of its \
            own no latency is measured";

        /// The speed of a fixed piece of work shifted during the run.
        MachineShifted {
            /// Shift of the machine's own speed, as a share: 0.1 is 10 %.
            share: f64,
        } => ("the machine's own speed shifted by {} during the run", percent(*share)),
            "look for throttling, migration or spent burst credit",
            severity: *share;

        /// Blocks of a server under its own traffic could not be scored.
        NotScored {
            /// Blocks without a figure, count.
            blocks: u32,
            /// All blocks, count.
            of: u32,
        } => (
            "{blocks} of {of} blocks were not scored: they had too little traffic, processes of the \
             server started or ended, connections came and went that cannot be counted, or \
             connections that were opened before a lever was set carried too much"
        ),
            "measure while there is more traffic, or leave --their-load out, so that load is offered",
            severity: f64::from(*blocks);

        /// Connections keep the settings they were opened with, while a lever is tried that takes
        /// hold when a connection opens.
        OlderConnections {
            /// Largest share, over the blocks, of a block's traffic that was carried by connections
            /// opened before its levers were set.
            share: f64,
        } => (
            "up to {} of the traffic of a block was carried by connections that were opened before its levers were set",
            percent(*share)
        ),
            "the effect of what binds when a connection is opened is understated by as much, in \
            either arm; each block of the run has its share (older)",
            severity: *share;

        /// The cost of a unit of a server's own traffic shifted during the run.
        TrafficShifted {
            /// Shift of the cost of a unit of work, as a share: 0.1 is 10 %.
            share: f64,
        } => ("the cost of a kilobyte of the traffic shifted by {} during the run", percent(*share)),
            "the intervals include this, since pairs are neighbours in time: give it more time (--for) to narrow them",
            severity: *share;

        /// A ceiling above the figures is not known.
        CeilingUnknown {
            /// What could not be measured, and why.
            why: String,
        } => ("a ceiling is not known: {why}"),
            "the figures stand without it; `linerate probe` shows what this machine reports about itself",
            apart: why;

        /// Blocks were thrown away and measured again, because the counters of the server's host
        /// were not read near both ends of their windows.
        BlocksMissed {
            /// Blocks that were thrown away and measured again, count.
            missed: u32,
            /// Blocks that count, count.
            counted: u32,
        } => (
            "{missed} blocks were thrown away and measured again, in addition to the {counted} that count: \
             the counters of the server's host were not read near both ends of their windows"
        ),
            "give the server's host less other work, or blocks more time: what is thrown away \
            may depend on the arm",
            severity: f64::from(*missed);

        /// A search confirmed a rate although its blocks disagreed at lower rates.
        LowerRatesDisagreed {
            /// Lower rates at which the blocks disagreed, count.
            rates: u32,
            /// The lowest of them, requests/s.
            lowest_rps: f64,
            /// The rate that was confirmed to hold, requests/s.
            holds_rps: f64,
        } => (
            "at {rates} lower rate{}, from {lowest_rps:.0} requests/s on, the blocks disagreed: {holds_rps:.0} may \
             hold by chance",
            if *rates == 1 { "" } else { "s" }
        ),
            "search again with longer blocks (-d), or when the machine and the target are quieter",
            severity: f64::from(*rates);
    }
    families {
        /// About comparisons of commands.
        Command(CommandDoubt),
        /// About an emulated link.
        Link(LinkDoubt),
        /// About exchanged packets.
        Packets(PacketDoubt),
    }
}

/// Formats a share as per cent, with the two digits that a reader can use.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Ends the sentence about unanswered requests: of such a request we only know how long it had
/// waited.
fn told_too_low(unanswered: u64) -> String {
    match unanswered {
        0 => String::new(),
        1 => "; one due request had no answer: its reported time is too low".to_owned(),
        _ => {
            format!("; {unanswered} due requests had no answer: their reported times are too low")
        }
    }
}

/// Ends the sentence about a silent server. One that is gone refuses connections; one that hangs
/// may accept them.
fn and_connects_failed(attempts: u64) -> String {
    match attempts {
        0 => String::new(),
        1 => ", and an attempt to connect failed".to_owned(),
        _ => format!(", and {attempts} attempts to connect failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_was_not_reached_says_how_many_times_are_too_low() {
        let what = |unanswered| {
            let doubt = Doubt::RateNotReached {
                offered_rps: 200.0,
                achieved_rps: 93.0,
                unanswered,
            };
            doubt.what()
        };
        assert!(what(0).ends_with("93 were answered"));
        assert!(
            what(313)
                .contains("; 313 due requests had no answer: their reported times are too low")
        );
    }

    #[test]
    fn a_rate_of_an_older_run_has_no_count_of_what_was_unanswered() {
        let older = r#"{"doubt": "rate_not_reached", "offered_rps": 9.0, "achieved_rps": 5.0}"#;
        let older: Doubt = serde_json::from_str(older).unwrap();
        assert!(matches!(older, Doubt::RateNotReached { unanswered: 0, .. }));
    }

    #[test]
    fn each_doubt_has_its_shape_in_the_schemas() {
        let shapes = include_str!("../../../../docs/schema/common.json");
        // The error message lists all variants.
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
