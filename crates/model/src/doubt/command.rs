//! Doubts about commands that were compared.

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use super::percent;

/// Something about a comparison of commands that a sceptic would ask about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CommandDoubt {
    /// It ended before its plan was done.
    Stopped {
        rounds_done: u32,
        rounds_planned: u32,
    },
    /// Runs failed, and were counted all the same.
    Failed {
        command: String,
        failed: u32,
        runs: u32,
    },
    /// The first run took so many times as long as the others.
    FirstRunSlower { command: String, ratio: f64 },
    /// So many runs lie far from the others, the furthest at so many times their median.
    Outliers {
        command: String,
        outliers: u32,
        runs: u32,
        furthest_ratio: f64,
    },
    /// So short that starting and ending it is much of what is seen.
    Short { command: String, wall_ns: f64 },
    /// The shell's own start is much of what is seen.
    ShellShare { command: String, share: f64 },
    /// Processes were left behind, which were not measured and disturb what comes after.
    LeftRunning { command: String, runs: u32 },
    /// The peak memory is what any child of ours has.
    MemoryAtFloor { command: String, floor_bytes: u64 },
}

impl CommandDoubt {
    /// What is doubtful, in one sentence.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Stopped {
                rounds_done,
                rounds_planned,
            } => format!("it ended after {rounds_done} of {rounds_planned} rounds"),
            Self::Failed {
                command,
                failed,
                runs,
            } => format!("{failed} of {runs} runs of {command} failed"),
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
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Stopped { .. } => "run it to its end for a verdict",
            Self::Failed { .. } => "look at what it says when run by hand",
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
        }
    }

    /// Whether two doubts are of one kind, so that a reader needs only the worse.
    #[must_use]
    pub fn is_same_kind(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other)
    }

    /// Orders doubts of one kind, the worse the larger.
    #[must_use]
    pub fn severity(&self) -> f64 {
        match self {
            Self::Failed { failed, .. } => f64::from(*failed),
            Self::FirstRunSlower { ratio, .. } => *ratio,
            Self::Outliers { outliers, .. } => f64::from(*outliers),
            Self::Short { wall_ns, .. } => -wall_ns,
            Self::ShellShare { share, .. } => *share,
            Self::LeftRunning { runs, .. } => f64::from(*runs),
            Self::Stopped { .. } | Self::MemoryAtFloor { .. } => 0.0,
        }
    }
}
