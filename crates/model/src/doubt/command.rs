//! Doubts about commands that were compared.

use std::mem::discriminant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;

/// Something about a comparison of commands that a sceptic would ask about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CommandDoubt {
    /// It ended before its plan was done.
    Stopped {
        /// Rounds measured, count.
        rounds_done: u32,
        /// Rounds of the plan, count.
        rounds_planned: u32,
    },
    /// The A/A control has another value than the baseline, the same in every run of each.
    ControlIsAnother {
        /// Title of the metric that verdicts are about.
        metric: String,
        /// The control's value in all its runs, in the metric's unit.
        value: f64,
        /// The baseline's value in all its runs, in the metric's unit.
        against: f64,
    },
    /// Runs failed, and were counted all the same.
    Failed {
        /// The command.
        command: String,
        /// Runs that failed, count.
        failed: u32,
        /// Runs, count.
        runs: u32,
    },
    /// Runs failed, and have no figures.
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
    },
    /// Runs did not end in time, and would have been the longest.
    TimedOut {
        /// The command.
        command: String,
        /// Runs that did not end in time, count.
        runs: u32,
    },
    /// Runs ended well and did not print the figure.
    SaysNothing {
        /// The command.
        command: String,
        /// Title of the metric that verdicts are about.
        metric: String,
        /// Runs that ended well without that figure, count.
        runs: u32,
    },
    /// Arms that must print the same printed different things, of which these are two.
    OutputsDiffer {
        /// Names of the levels of the factors that are not compared.
        cell: String,
        /// Two of the things that were printed.
        outputs: Vec<String>,
    },
    /// The first run took so many times as long as the others.
    FirstRunSlower {
        /// The command.
        command: String,
        /// Its first run ÷ the median of the others.
        ratio: f64,
    },
    /// So many runs lie far from the others, the furthest at so many times their median.
    Outliers {
        /// The command.
        command: String,
        /// Runs far from the others, count.
        outliers: u32,
        /// Runs, count.
        runs: u32,
        /// The furthest ÷ the median.
        furthest_ratio: f64,
    },
    /// So short that starting and ending it is much of what is seen.
    Short {
        /// The command.
        command: String,
        /// Its median wall time, ns.
        wall_ns: f64,
    },
    /// The shell's own start is much of what is seen.
    ShellShare {
        /// The command.
        command: String,
        /// The shell's own start as a share of its wall time, 0 to 1.
        share: f64,
    },
    /// Processes were left behind, which were not measured and disturb what comes after.
    LeftRunning {
        /// The command.
        command: String,
        /// Runs that left processes behind, count.
        runs: u32,
    },
    /// The peak memory is what any child of ours has.
    MemoryAtFloor {
        /// The command.
        command: String,
        /// Peak memory of a child that does nothing, bytes.
        floor_bytes: u64,
    },
    /// A level of a study cannot be had here.
    LevelLeftOut {
        /// Title of the factor.
        factor: String,
        /// Title of the level.
        level: String,
        /// Why it cannot be had here, and what to do.
        reason: String,
    },
    /// A piece of a study's evidence could not be had.
    EvidenceLeftOut {
        /// What the evidence would have shown.
        title: String,
        /// Why it could not be had.
        reason: String,
    },
}

impl CommandDoubt {
    /// What is doubtful, in one sentence.
    #[must_use]
    #[expect(
        clippy::too_many_lines,
        reason = "a table: each doubt with its sentence"
    )]
    pub fn what(&self) -> String {
        match self {
            Self::Stopped {
                rounds_done,
                rounds_planned,
            } => format!("it ended after {rounds_done} of {rounds_planned} rounds"),
            Self::ControlIsAnother {
                metric,
                value,
                against,
            } => format!(
                "the same command, run as two arms, gave {value} in every run of the one and \
                 {against} in every run of the other ({metric})"
            ),
            Self::Failed {
                command,
                failed,
                runs,
            } => format!("{failed} of {runs} runs of {command} failed"),
            Self::LeftOut {
                command,
                failed,
                runs,
                reason,
            } => {
                let colon = if reason.is_empty() { "" } else { ": " };
                format!(
                    "{failed} of {runs} runs of {command} failed and have no figures{colon}{reason}"
                )
            }
            Self::TimedOut { command, runs } => format!(
                "{runs} of the runs of {command} did not end in time: those left are the shorter \
                 ones, so it has no verdict"
            ),
            Self::SaysNothing {
                command,
                metric,
                runs,
            } => format!("{runs} runs of {command} did not print their figure of {metric}"),
            Self::OutputsDiffer { cell, outputs } => {
                let outputs: Vec<String> = outputs
                    .iter()
                    .map(|text| format!("`{}`", shortened(text)))
                    .collect();
                let place = if cell.is_empty() {
                    String::new()
                } else {
                    format!(" of {cell}")
                };
                format!(
                    "the arms{place} must print the same and do not ({}), so they have no verdict",
                    outputs.join(" and ")
                )
            }
            Self::FirstRunSlower { command, ratio } => {
                format!("the first run of {command} took {ratio:.1} times as long as its others")
            }
            Self::Outliers {
                command,
                outliers,
                runs,
                furthest_ratio,
            } => format!(
                "{outliers} of {runs} runs of {command} lie far from the others, the furthest at \
                 {furthest_ratio:.1} times their median"
            ),
            Self::Short { command, wall_ns } => format!(
                "{command} takes only {:.1} ms: starting and ending a process is much of that",
                wall_ns / 1e6
            ),
            Self::ShellShare { command, share } => format!(
                "the shell's own start is {} of the time of {command}, and draws every ratio \
                 towards 1",
                percent(*share)
            ),
            Self::LeftRunning { command, runs } => format!(
                "{command} left processes running after {runs} of its runs, whose time is not \
                 counted"
            ),
            Self::MemoryAtFloor {
                command,
                floor_bytes,
            } => format!(
                "the peak memory of {command} is not above the {:.1} MB that any child of this \
                 program has, so less cannot be told",
                *floor_bytes as f64 / 1e6
            ),
            Self::LevelLeftOut {
                factor,
                level,
                reason,
            } => format!("{factor} “{level}” was left out: {reason}"),
            Self::EvidenceLeftOut { title, reason } => {
                format!("there is no evidence “{title}”: {reason}")
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Stopped { .. } => "run it to its end for a verdict",
            Self::ControlIsAnother { .. } => {
                "find what tells the two apart, such as their order or files that a run leaves"
            }
            Self::Failed { .. } | Self::LeftOut { .. } | Self::SaysNothing { .. } => {
                "look at what it says when run by hand"
            }
            Self::TimedOut { .. } => "allow it more time, or give it less to do",
            Self::OutputsDiffer { .. } => "find out which is right before asking which is faster",
            Self::FirstRunSlower { .. } => {
                "warm caches with --warmup 1, or empty them before each run with --prepare"
            }
            Self::Outliers { .. } => {
                "look for other work on this machine; the verdict is by ranks, which single runs \
                 do not move"
            }
            Self::Short { .. } => "let the command do its work several times",
            Self::ShellShare { .. } => "run it without a shell (-N) where it needs none",
            Self::LeftRunning { .. } => "let it wait for its children, or end them in --conclude",
            Self::MemoryAtFloor { .. } => "read its peak memory as “no more than this”",
            Self::LevelLeftOut { .. } => {
                "the other levels stand; install it and run the study again"
            }
            Self::EvidenceLeftOut { .. } => "the figures stand without it",
        }
    }

    /// Whether two doubts are of one kind, so that a reader needs only the worse.
    #[must_use]
    pub fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            // Each is a thing of its own.
            (Self::LevelLeftOut { .. } | Self::EvidenceLeftOut { .. }, _) => self == other,
            (Self::LeftOut { command: a, .. }, Self::LeftOut { command: b, .. })
            | (Self::TimedOut { command: a, .. }, Self::TimedOut { command: b, .. }) => a == b,
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// Orders doubts of one kind, the worse the larger.
    #[must_use]
    pub fn severity(&self) -> f64 {
        match self {
            Self::Failed { failed, .. } | Self::LeftOut { failed, .. } => f64::from(*failed),
            Self::TimedOut { runs, .. } | Self::SaysNothing { runs, .. } => f64::from(*runs),
            Self::FirstRunSlower { ratio, .. } => *ratio,
            Self::Outliers { outliers, .. } => f64::from(*outliers),
            Self::Short { wall_ns, .. } => -wall_ns,
            Self::ShellShare { share, .. } => *share,
            Self::LeftRunning { runs, .. } => f64::from(*runs),
            Self::Stopped { .. }
            | Self::ControlIsAnother { .. }
            | Self::MemoryAtFloor { .. }
            | Self::OutputsDiffer { .. }
            | Self::LevelLeftOut { .. }
            | Self::EvidenceLeftOut { .. } => 0.0,
        }
    }
}

/// The first line of a text, and no more of it than a sentence can hold.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 24;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST).collect();
    kept + "…"
}
