//! Doubts about comparisons of commands.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;
use super::table::doubts;
use crate::command_study::Size;

doubts! {
    /// Something about a comparison of commands that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum CommandDoubt {
        /// The comparison ended before its plan was done.
        Stopped {
            /// Rounds measured, count.
            rounds_done: u32,
            /// Rounds of the plan, count.
            rounds_planned: u32,
        } => ("it ended after {rounds_done} of {rounds_planned} rounds"),
            "run it to its end for a verdict";

        /// The A/A control has another value than the baseline, and each has its value in every
        /// run.
        ControlIsAnother {
            /// Title of the metric that verdicts are about.
            metric: String,
            /// The control's value in all its runs, in the metric's unit.
            value: f64,
            /// The baseline's value in all its runs, in the metric's unit.
            against: f64,
        } => (
            "the same command, run as two arms, gave {value} in every run of the one and \
            {against} in every run of the other ({metric})"
        ),
            "find what distinguishes the two, such as their order or files that a run leaves behind";

        /// Runs failed, and were counted nevertheless.
        Failed {
            /// The command.
            command: String,
            /// Runs that failed, count.
            failed: u32,
            /// Runs, count.
            runs: u32,
        } => ("{failed} of {runs} runs of {command} failed"),
            "look at what it says when run by hand",
            severity: f64::from(*failed);

        /// Runs failed and have no figures.
        LeftOut {
            /// The command.
            command: String,
            /// Runs that failed and have no figures, count.
            failed: u32,
            /// Runs, count.
            runs: u32,
            /// How the first of them failed, and its last words; absent where that is unknown.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            reason: String,
        } => (
            "{failed} of {runs} runs of {command} failed and have no figures{}{reason}",
            if reason.is_empty() { "" } else { ": " }
        ),
            "look at what it says when run by hand",
            severity: f64::from(*failed),
            apart: command;

        /// Runs did not end in time; they would have been the longest.
        TimedOut {
            /// The command.
            command: String,
            /// Runs that did not end in time, count.
            runs: u32,
        } => (
            "{runs} of the runs of {command} did not end in time: only the shorter ones are left, \
            so it has no verdict"
        ),
            "allow it more time, or give it less to do",
            severity: f64::from(*runs),
            apart: command;

        /// Runs succeeded but did not print the figure.
        SaysNothing {
            /// The command.
            command: String,
            /// Title of the metric that verdicts are about.
            metric: String,
            /// Runs that ended well without that figure, count.
            runs: u32,
        } => ("{runs} runs of {command} did not print a figure for {metric}"),
            "look at what it says when run by hand",
            severity: f64::from(*runs);

        /// Arms that must print the same printed different things; two of these are shown.
        OutputsDiffer {
            /// Names of the levels of the factors that are not compared.
            cell: String,
            /// Two of the different outputs.
            outputs: Vec<String>,
        } => (
            "the arms{} must print the same but do not ({}), so they have no verdict",
            of_cell(cell),
            quoted(outputs)
        ),
            "find out which is right before asking which is faster";

        /// The first run took several times as long as the others.
        FirstRunSlower {
            /// The command.
            command: String,
            /// Time of its first run ÷ the median of the others.
            ratio: f64,
        } => ("the first run of {command} took {ratio:.1} times as long as its others"),
            "warm caches before the first round (`bench --warmup 1`), or empty them before each run (`--prepare`, \
            or `prepare` of a study)",
            severity: *ratio;

        /// Some runs lie far from the others.
        Outliers {
            /// The command.
            command: String,
            /// Runs far from the others, count.
            outliers: u32,
            /// Runs, count.
            runs: u32,
            /// The furthest value ÷ the median.
            furthest_ratio: f64,
        } => (
            "{outliers} of {runs} runs of {command} lie far from the others, the furthest at \
            {furthest_ratio:.1} times their median"
        ),
            "look for other work on this machine; the verdict is by ranks, which single runs \
            do not move",
            severity: f64::from(*outliers);

        /// The command is so short that starting and ending a process is much of the measured time.
        Short {
            /// The command.
            command: String,
            /// Its median wall time, ns.
            wall_ns: f64,
        } => ("{command} takes only {:.1} ms: starting and ending a process is much of that", wall_ns / 1e6),
            "let the command do its work several times",
            severity: -wall_ns;

        /// The shell's own start is much of the measured time.
        ShellShare {
            /// The command.
            command: String,
            /// The shell's own start as a share of the command's wall time, 0 to 1.
            share: f64,
        } => (
            "the shell's own start is {} of the time of {command}, and draws every ratio \
            towards 1",
            percent(*share)
        ),
            "run it without a shell (-N) where it needs none",
            severity: *share;

        /// Runs left processes behind, which were not measured and disturb what comes after.
        LeftRunning {
            /// The command.
            command: String,
            /// Runs that left processes behind, count.
            runs: u32,
        } => (
            "{command} left processes running after {runs} of its runs, whose time is not \
            counted"
        ),
            "let it wait for its children, or end them after each run (`--conclude`, or `cleanup` of a study)",
            severity: f64::from(*runs);

        /// The peak memory is not above that of any child of this program.
        MemoryAtFloor {
            /// The command.
            command: String,
            /// Peak memory of a child that does nothing, bytes.
            floor_bytes: u64,
        } => (
            "the peak memory of {command} is not above the {:.1} MB that any child of this \
            program has, so a smaller figure cannot be measured",
            *floor_bytes as f64 / 1e6
        ),
            "read its peak memory as “no more than this”";

        /// The small sizes of the smoke form were measured; the study is about larger ones.
        SmokeSizes {
            /// The sizes that differ between the two forms, by name, as the study has them.
            sizes: BTreeMap<String, Size>,
        } => ("the smoke sizes were measured ({}), so there is no verdict", of_smoke(sizes)),
            "leave `--smoke` out";

        /// A level of a study is not available on this machine.
        LevelLeftOut {
            /// Title of the factor.
            factor: String,
            /// Title of the level.
            level: String,
            /// Why it is not available, and what to do.
            reason: String,
        } => ("{factor} “{level}” was left out: {reason}"),
            "the results of the other levels stand; install what is missing and run the study again",
            apart: &format!("{factor} {level} {reason}");

        /// A piece of a study's evidence could not be collected.
        EvidenceLeftOut {
            /// What the evidence would have shown.
            title: String,
            /// Why it could not be collected.
            reason: String,
        } => ("the evidence “{title}” is missing: {reason}"),
            "the figures stand without it",
            apart: &format!("{title} {reason}");
    }
}

fn of_cell(cell: &str) -> String {
    if cell.is_empty() {
        return String::new();
    }
    format!(" of {cell}")
}

fn of_smoke(sizes: &BTreeMap<String, Size>) -> String {
    let sizes = sizes.iter();
    let sizes = sizes.map(|(name, size)| format!("{name} {} instead of {}", size.smoke, size.full));
    sizes.collect::<Vec<_>>().join(", ")
}

fn quoted(outputs: &[String]) -> String {
    let outputs = outputs.iter().map(|text| format!("`{}`", shortened(text)));
    outputs.collect::<Vec<_>>().join(" and ")
}

/// Returns the first line of a text, cut so that it fits into a sentence.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 24;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST).collect();
    kept + "…"
}
