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
    pub risk: Risk,
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

/// The worst that a change may do besides making things slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    None,
    /// Programs may fail, stall or lose their connections.
    Stability,
    /// Protection is taken away.
    Security,
    /// It takes a reboot, which Linerate never does.
    Reboot,
}

impl Risk {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Stability => "stability",
            Self::Security => "security",
            Self::Reboot => "reboot",
        }
    }
}
