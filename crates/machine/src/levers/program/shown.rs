//! What the kernel shows of a process that was given a setting.

use std::fmt;
use std::fs;
use std::io;

use sys::attribute::{Attribute, Flaw};
use sys::scheduling::{self, Scheduling};

use super::{ProgramKind, ProgramSetting, group, holding};
use crate::tree::behind;

/// The setting of a process, as far as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Setting(ProgramSetting),
    /// The speculation setting of the whole machine, in the kernel's words, and whether it is
    /// allowed; `None` if we do not know these words.
    Fixed {
        words: String,
        is_allowed: Option<bool>,
    },
    /// A description that is not a value that could be typed.
    Words(String),
    /// Only the process itself may read it, and has read back what it took on.
    Hidden,
}

/// Timer slack of a thread that has set none, ns.
const USUAL_SLACK_NS: u64 = 50_000;

impl Shown {
    /// Whether the process has what was wanted.
    pub(super) fn is(&self, wanted: &ProgramSetting) -> bool {
        match self {
            Self::Setting(held) => held == wanted || is_as_good(held, wanted),
            Self::Fixed { is_allowed, .. } => matches!(
                wanted,
                ProgramSetting::Attribute(Attribute::Speculation(_, wanted))
                    if Some(*wanted) == *is_allowed
            ),
            Self::Words(_) => false,
            Self::Hidden => true,
        }
    }
}

impl From<Attribute> for Shown {
    fn from(attribute: Attribute) -> Self {
        Self::Setting(ProgramSetting::Attribute(attribute))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(ProgramSetting::Attribute(Attribute::TimerSlackNs(0))) => {
                formatter.write_str("none, as every real-time thread")
            }
            Self::Setting(setting) => setting.fmt(formatter),
            Self::Fixed { words, .. } => write!(formatter, "{words}, for all programs"),
            Self::Words(words) => formatter.write_str(words),
            Self::Hidden => formatter.write_str("cannot be seen"),
        }
    }
}

/// Whether a setting serves as well as the wanted one. If no slice was asked for, any slice will
/// do. A real-time thread has no slack: its timers are exact, which is the purpose of a slack below
/// the usual.
fn is_as_good(held: &ProgramSetting, wanted: &ProgramSetting) -> bool {
    let (ProgramSetting::Attribute(held), ProgramSetting::Attribute(wanted)) = (held, wanted)
    else {
        return false;
    };
    match (held, wanted) {
        (Attribute::Scheduling(held), Attribute::Scheduling(wanted)) => matches!(
            (held, wanted),
            (
                Scheduling::Other { .. },
                Scheduling::Other { slice_ns: None }
            ) | (
                Scheduling::Batch { .. },
                Scheduling::Batch { slice_ns: None }
            )
        ),
        (Attribute::TimerSlackNs(0), Attribute::TimerSlackNs(wanted_ns)) => {
            *wanted_ns < USUAL_SLACK_NS
        }
        _ => false,
    }
}

/// Reads the setting of that kind of a process.
pub(super) fn shown(kind: ProgramKind, pid: u32) -> io::Result<Shown> {
    let attribute = match kind {
        ProgramKind::Scheduling => Attribute::Scheduling(scheduling::of(pid)?),
        ProgramKind::Nice => Attribute::Nice(scheduling::nice_of(pid)?),
        ProgramKind::TimerSlack => return timer_slack(pid),
        ProgramKind::Cpus => Attribute::Cpus(cpus(&status(pid, "Cpus_allowed_list")?)?),
        ProgramKind::OpenFiles => return open_files(&text(pid, "limits")?),
        ProgramKind::Speculation(flaw) => {
            return Ok(speculation(flaw, &status(pid, line_of(flaw))?));
        }
        ProgramKind::HugePages => Attribute::HugePages(status(pid, "THP_enabled")? == "1"),
        ProgramKind::CpuWeight => {
            let weight = ProgramSetting::CpuWeight(group::weight_of(pid)?);
            return Ok(Shown::Setting(weight));
        }
        ProgramKind::WakeLatency => return holding::wake_latency_now().map(Shown::Words),
        ProgramKind::PacketProgram => return holding::packet_programs_now().map(Shown::Words),
    };
    Ok(attribute.into())
}

/// Reads the timer slack. The kernel shows that of another process only with `CAP_SYS_NICE`
/// (`timerslack_ns_show` in fs/proc/base.c).
fn timer_slack(pid: u32) -> io::Result<Shown> {
    match text(pid, "timerslack_ns") {
        Ok(text) => {
            let slack_ns = text.trim().parse().map_err(io::Error::other)?;
            Ok(Attribute::TimerSlackNs(slack_ns).into())
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Shown::Hidden),
        Err(error) => Err(error),
    }
}

/// Parses a line such as `Max open files  1024  1048576  files`.
fn open_files(limits: &str) -> io::Result<Shown> {
    let line = behind(limits, "Max open files").unwrap_or_default();
    let mut limits = line.split_whitespace();
    let (Some(soft), Some(hard)) = (limits.next(), limits.next()) else {
        return Err(io::Error::other("the kernel shows no limit of open files"));
    };
    Ok(match soft.parse() {
        Ok(count) if soft == hard => Attribute::OpenFiles(count).into(),
        _ => Shown::Words(format!("{soft}, up to {hard} if it asks")),
    })
}

fn cpus(list: &str) -> io::Result<Vec<usize>> {
    sys::cpu::parse_list(list).map_err(io::Error::other)
}

fn line_of(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::StoreBypass => "Speculation_Store_Bypass",
        Flaw::IndirectBranch => "SpeculationIndirectBranch",
    }
}

/// Parses the words of `proc_pid_status` (fs/proc/array.c). Some describe a thread's own setting,
/// the others that of the machine.
fn speculation(flaw: Flaw, words: &str) -> Shown {
    let is_allowed = match words {
        "thread vulnerable" | "conditional enabled" => true,
        "thread mitigated"
        | "thread force mitigated"
        | "conditional disabled"
        | "conditional force disabled" => false,
        _ => return fixed(words),
    };
    Attribute::Speculation(flaw, is_allowed).into()
}

fn fixed(words: &str) -> Shown {
    let is_allowed = match words {
        "vulnerable" | "always enabled" => Some(true),
        "globally mitigated" | "always disabled" => Some(false),
        _ => None,
    };
    Shown::Fixed {
        words: words.to_owned(),
        is_allowed,
    }
}

/// Reads a line of `/proc/PID/status`, without its name.
fn status(pid: u32, name: &str) -> io::Result<String> {
    let text = text(pid, "status")?;
    let found = behind(&text, &format!("{name}:"));
    found.map(str::to_owned).ok_or_else(|| {
        let what = format!("this kernel shows no `{name}` of process {pid}");
        io::Error::new(io::ErrorKind::Unsupported, what)
    })
}

fn text(pid: u32, file: &str) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(kind: ProgramKind, text: &str) -> ProgramSetting {
        kind.parse(text).unwrap()
    }

    fn held(kind: ProgramKind, text: &str) -> Shown {
        Shown::Setting(typed(kind, text))
    }

    #[test]
    fn a_slice_counts_only_where_it_was_asked_for() {
        let held = held(ProgramKind::Scheduling, "batch:3ms");
        for (wanted, is_so) in [
            ("batch", true),
            ("batch:3ms", true),
            ("batch:4ms", false),
            ("other", false),
        ] {
            assert_eq!(
                held.is(&typed(ProgramKind::Scheduling, wanted)),
                is_so,
                "{wanted}"
            );
        }
    }

    #[test]
    fn no_slack_is_as_good_as_little_and_not_as_much() {
        let none = Attribute::TimerSlackNs(0);
        let none = Shown::Setting(ProgramSetting::Attribute(none));
        assert!(none.is(&typed(ProgramKind::TimerSlack, "1us")));
        assert!(!none.is(&typed(ProgramKind::TimerSlack, "10ms")));
        assert!(!held(ProgramKind::TimerSlack, "50us").is(&typed(ProgramKind::TimerSlack, "1us")));
    }

    #[test]
    fn the_words_of_the_kernel_for_speculation_are_understood_or_repeated() {
        let of = |words| speculation(Flaw::StoreBypass, words).to_string();
        assert_eq!(of("thread vulnerable"), "allowed");
        assert_eq!(of("thread mitigated"), "disabled");
        assert_eq!(of("conditional force disabled"), "disabled");
        assert_eq!(of("not vulnerable"), "not vulnerable, for all programs");
        let fixed = speculation(Flaw::IndirectBranch, "always enabled");
        let kind = ProgramKind::Speculation(Flaw::IndirectBranch);
        assert!(fixed.is(&typed(kind, "allowed")));
        assert!(!fixed.is(&typed(kind, "disabled")));
    }

    #[test]
    fn two_limits_of_open_files_are_told_apart() {
        let line = |soft: &str| {
            format!("Limit  Soft  Hard\nMax open files            {soft}   4096    files\n")
        };
        assert_eq!(
            open_files(&line("4096")).unwrap(),
            held(ProgramKind::OpenFiles, "4096")
        );
        let apart = open_files(&line("1024")).unwrap();
        assert_eq!(apart.to_string(), "1024, up to 4096 if it asks");
        assert!(open_files("Limit\n").is_err());
    }
}
