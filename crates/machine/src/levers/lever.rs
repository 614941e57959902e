//! A lever: its description, from which lists and its page are made, and how it is set.

use model::{Binds, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::at_start::SetAtStart;
use super::by_hand::ByHand;
use super::tunable::Tunable;
use super::{AtStart, Knob, Obstacle, Plan, Site, TestBench};

/// A row of the catalogue: a setting that we change and put back, or that is only detected and
/// explained.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// The name as it is typed: lower-case words joined by hyphens.
    pub name: String,
    /// What it sets, in a few words.
    pub title: String,
    pub group: Group,
    pub scope: Scope,
    pub binds: Binds,
    pub worst: Worst,
    /// What the kernel does with it.
    pub about: String,
    /// The workloads that it helps.
    pub helps: String,
    /// What it may cost.
    pub hurts: String,
    /// A gain that somebody has measured, with the source; `None` where we know of none.
    pub published: Option<String>,
    /// Where tests set it and put it back, or start a machine with it and without it.
    #[serde(default)]
    pub tested_in: Vec<TestBench>,
    /// Why no test does, where the lever can be set.
    pub(super) untested: Option<String>,
    /// Further remarks, in Markdown.
    #[serde(default)]
    pub notes: String,
    pub finding: Option<Costs>,
    pub(super) how: How,
}

/// What `linerate doctor` says where it finds that the lever's present state has a cost.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    pub cost: String,
    pub advice: String,
}

/// How a lever is set.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Knobs(Tunable),
    ByHand(ByHand),
    AtStart(SetAtStart),
}

/// The state of a lever on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it holds, as a person reads it; knobs that hold the same value are shown once.
    pub now: String,
    /// Whether that is the recommended state; `None` where none is recommended.
    pub is_recommended: Option<bool>,
}

impl Reading {
    /// A state that is neither right nor wrong everywhere.
    pub(super) fn as_it_is(now: String) -> Self {
        Self {
            now,
            is_recommended: None,
        }
    }
}

impl Lever {
    /// What its knobs hold now at a site; for a lever without knobs, what can be observed.
    ///
    /// # Errors
    /// Why nothing can be observed.
    pub fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        match &self.how {
            How::Knobs(knobs) => knobs.read(site),
            How::ByHand(by_hand) => by_hand.read(site),
            How::AtStart(start) => start.read(&self.name, site).map(Reading::as_it_is),
        }
    }

    /// The steps from the present values to a value as a person types it, or to the recommended
    /// one.
    ///
    /// # Errors
    /// Why it cannot be set here, or not to that value.
    pub fn plan(&'static self, site: &Site, value: Option<&str>) -> Result<Plan, Obstacle> {
        match &self.how {
            How::Knobs(knobs) => knobs.plan(self, site, value),
            How::ByHand(by_hand) => Err(Obstacle::Advice(by_hand.by_hand.clone())),
            How::AtStart(start) => {
                start.is_there(site)?;
                Err(start.at_its_start(&self.name))
            }
        }
    }

    /// Checks whether this process may set it here.
    ///
    /// # Errors
    /// Why not, with the errno.
    pub fn may_set(&'static self, site: &Site) -> Result<(), Obstacle> {
        match self.knobs() {
            Some(knobs) => knobs.may_set(site),
            None => self.plan(site, None).map(drop),
        }
    }

    /// The value that is set when none is typed; `None` where that depends on the use of the
    /// machine.
    pub fn recommended(&self, site: &Site) -> Option<String> {
        self.knobs()?.recommended(site)
    }

    /// The values worth trying besides the present one where nobody has typed any: the recommended
    /// value or, where there is none, each of the lever's few other values; empty where these are
    /// many.
    pub fn other_values(&'static self, site: &Site) -> Vec<String> {
        let values = self.knobs().map(|knobs| knobs.other_values(self, site));
        values.unwrap_or_default()
    }

    /// Describes the values that it accepts.
    pub fn values(&self) -> String {
        match &self.how {
            How::Knobs(knobs) => knobs.accepts.words(),
            How::ByHand(_) => "none: it is only shown, never set".to_owned(),
            How::AtStart(start) => start.values.clone(),
        }
    }

    /// The knobs as a page names them, with DEVICE and N where a machine has several. For what is
    /// set when a program starts, the system calls.
    pub fn sets(&self) -> Vec<String> {
        match &self.how {
            How::Knobs(knobs) => knobs.places.patterns(),
            How::ByHand(_) => Vec::new(),
            How::AtStart(start) => start.sets.clone(),
        }
    }

    /// Whether a knob belongs to this lever. A journal entry about any other knob is not trusted.
    pub fn owns(&self, knob: &Knob) -> bool {
        self.knobs().is_some_and(|knobs| knobs.places.have(knob))
    }

    /// Whether a change is put back by itself unless it is confirmed. That is so where the lever
    /// may lock us out, or affects a device, whose driver may do what no row of ours foresees.
    pub fn is_on_trial(&self) -> bool {
        let is_risky = self.scope == Scope::Device || self.worst.locks_out();
        is_risky && self.knobs().is_some()
    }

    /// What a person would type instead of us, where that is not one command for each knob.
    pub fn by_hand(&self) -> Option<&str> {
        Some(&self.start()?.by_hand)
    }

    /// Whether it is a flag of our own server, which no other program has.
    pub fn is_of_our_server(&self) -> bool {
        self.start().is_some_and(SetAtStart::is_of_our_server)
    }

    /// The setting to start a program with, from a value as a person types it; `None` for a lever
    /// that is set in the machine.
    pub fn at_start(&'static self, value: Option<&str>) -> Option<Result<AtStart, Obstacle>> {
        Some(self.start()?.part(&self.name, value))
    }

    fn knobs(&self) -> Option<&Tunable> {
        match &self.how {
            How::Knobs(knobs) => Some(knobs),
            _ => None,
        }
    }

    fn start(&self) -> Option<&SetAtStart> {
        match &self.how {
            How::AtStart(start) => Some(start),
            _ => None,
        }
    }
}

/// The heading under which a person looks for a lever. The first nine are the steps of the article
/// on 1.2 million requests a second, in its order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// The text of the heading.
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

named! {
    /// How far a change reaches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Scope, "scope" {
        Process = "process",
        Socket = "socket",
        Namespace = "namespace",
        Device = "device",
        Host = "host",
        Boot = "boot",
    }
}

/// The worst effect of any value that the lever accepts, with a sentence that says how it comes
/// about.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worst {
    /// Nothing that anybody would notice.
    None(String),
    /// Work takes longer, but is done.
    Slower(String),
    /// Programs fail or lose connections.
    Failures(String),
    /// Memory runs short, until the kernel kills programs.
    Memory(String),
    /// Nobody can reach the machine any more, so nobody can put it back.
    Access(String),
    /// A protection is removed.
    Protection(String),
}

impl Worst {
    /// One word for it, also used in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None(_) => "none",
            Self::Slower(_) => "slower",
            Self::Failures(_) => "failures",
            Self::Memory(_) => "memory",
            Self::Access(_) => "access",
            Self::Protection(_) => "protection",
        }
    }

    /// How that effect comes about.
    pub fn how(&self) -> &str {
        match self {
            Self::None(how)
            | Self::Slower(how)
            | Self::Failures(how)
            | Self::Memory(how)
            | Self::Access(how)
            | Self::Protection(how) => how,
        }
    }

    /// Whether it may prevent the person who set it from putting it back.
    pub fn locks_out(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::Access(_))
    }
}
