//! What a lever says of itself: from here come the lists, its page and the help.

use model::Binds;
use serde::Serialize;

/// The declaration of a lever.
#[derive(Clone, Debug)]
pub struct Card {
    /// As it is typed: lower-case words joined by hyphens.
    pub name: &'static str,
    /// What it sets, in a few words.
    pub title: &'static str,
    pub group: Group,
    pub scope: Scope,
    pub binds: Binds,
    pub worst: Worst,
    /// What the kernel does with it.
    pub about: &'static str,
    /// The workloads that gain.
    pub helps: &'static str,
    /// What may be lost.
    pub hurts: &'static str,
    /// A gain that somebody has measured, with the source; `None` where we know of none.
    pub published: Option<&'static str>,
}

/// Under which heading a person looks for it. The first nine are the steps of the article on 1.2
/// million requests a second, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Application,
    Mitigations,
    AuditAndSeccomp,
    Netfilter,
    Locality,
    Interrupts,
    PacketTaps,
    QueueDisciplines,
    Offloads,
    Tcp,
    Memory,
    Power,
    Scheduling,
}

impl Group {
    /// The heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::Mitigations => "Speculative execution",
            Self::AuditAndSeccomp => "Audit and seccomp",
            Self::Netfilter => "Netfilter",
            Self::Locality => "Locality",
            Self::Interrupts => "Interrupts",
            Self::PacketTaps => "Packet taps",
            Self::QueueDisciplines => "Queue disciplines",
            Self::Offloads => "Offloads",
            Self::Tcp => "TCP and sockets",
            Self::Memory => "Memory",
            Self::Power => "Power and clocks",
            Self::Scheduling => "Scheduling",
        }
    }
}

/// How far a change reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Process,
    Socket,
    Namespace,
    Device,
    Host,
    Boot,
}

impl Scope {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Socket => "socket",
            Self::Namespace => "namespace",
            Self::Device => "device",
            Self::Host => "host",
            Self::Boot => "boot",
        }
    }
}

/// The worst that any value which the lever takes may do, with a sentence that says how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worst {
    /// Nothing that anybody would notice.
    None(&'static str),
    /// Work takes longer, and is done.
    Slower(&'static str),
    /// Programs fail, or lose connections.
    Failures(&'static str),
    /// Memory is taken, until programs are killed for want of it.
    Memory(&'static str),
    /// Nobody reaches the machine any more, so that nobody can put it back.
    Access(&'static str),
    /// Protection is taken away.
    Protection(&'static str),
}

impl Worst {
    /// In one word, as JSON says it too.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None(_) => "none",
            Self::Slower(_) => "slower",
            Self::Failures(_) => "failures",
            Self::Memory(_) => "memory",
            Self::Access(_) => "access",
            Self::Protection(_) => "protection",
        }
    }

    /// How it comes to that.
    #[must_use]
    pub fn how(self) -> &'static str {
        match self {
            Self::None(how)
            | Self::Slower(how)
            | Self::Failures(how)
            | Self::Memory(how)
            | Self::Access(how)
            | Self::Protection(how) => how,
        }
    }

    /// Whether it may keep whoever set it from putting it back.
    #[must_use]
    pub fn locks_out(self) -> bool {
        matches!(self, Self::Memory(_) | Self::Access(_))
    }
}

impl Card {
    /// Whether what is set goes back by itself unless it is confirmed: it may lock us out, or reaches
    /// a device, whose driver may do what no card of ours knows.
    #[must_use]
    pub fn is_on_trial(&self) -> bool {
        self.scope == Scope::Device || self.worst.locks_out()
    }
}
