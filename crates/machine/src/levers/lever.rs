//! A lever: what it says of itself, from where come the lists and its page, and how it is set.

use model::{Binds, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::at_start::SetAtStart;
use super::by_hand::ByHand;
use super::tunable::Tunable;
use super::{AtStart, Knob, Obstacle, Plan, Site, TestBench};

/// A setting of a machine that we change and put back, or that is found and explained: a row of the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// As it is typed: lower-case words joined by hyphens.
    pub name: String,
    /// What it sets, in a few words.
    pub title: String,
    pub group: Group,
    pub scope: Scope,
    pub binds: Binds,
    pub worst: Worst,
    /// What the kernel does with it.
    pub about: String,
    /// The workloads that gain.
    pub helps: String,
    /// What may be lost.
    pub hurts: String,
    /// A gain that somebody has measured, with the source; `None` where we know of none.
    pub published: Option<String>,
    /// Where tests set it and put it back, or a machine is started with it and without.
    #[serde(default)]
    pub tested_in: Vec<TestBench>,
    /// Why no test does, where it can be set.
    pub(super) untested: Option<String>,
    /// What else there is to say, in Markdown.
    #[serde(default)]
    pub notes: String,
    pub finding: Option<Costs>,
    pub(super) how: How,
}

/// What `linerate doctor` says where it finds that the lever costs.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    pub cost: String,
    pub advice: String,
}

/// How it is set.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Knobs(Tunable),
    ByHand(ByHand),
    AtStart(SetAtStart),
}

/// What there is to see of a lever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// As a person reads it; knobs that hold the same are told once.
    pub now: String,
    /// Whether that is what is recommended; `None` where nothing is.
    pub is_recommended: Option<bool>,
}

impl Reading {
    /// What is neither right nor wrong everywhere.
    pub(super) fn as_it_is(now: String) -> Self {
        Self {
            now,
            is_recommended: None,
        }
    }
}

impl Lever {
    /// What its knobs hold now, at a site; where it has none of its own, what there is to see.
    ///
    /// # Errors
    /// Why nothing can be seen.
    pub fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        match &self.how {
            How::Knobs(knobs) => knobs.read(site),
            How::ByHand(by_hand) => by_hand.read(site),
            How::AtStart(start) => start.read(&self.name, site).map(Reading::as_it_is),
        }
    }

    /// What would be set, and from what: to a value as a person types it, or to the recommended.
    ///
    /// # Errors
    /// Why it cannot be set here, or not to that.
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

    /// Whether this process may set it here.
    ///
    /// # Errors
    /// Why not, with the errno.
    pub fn may_set(&'static self, site: &Site) -> Result<(), Obstacle> {
        match self.knobs() {
            Some(knobs) => knobs.may_set(site),
            None => self.plan(site, None).map(drop),
        }
    }

    /// The value that is set when none is typed; `None` where that depends on what the machine is for.
    pub fn recommended(&self, site: &Site) -> Option<String> {
        self.knobs()?.recommended(site)
    }

    /// What it may be set to besides what it is, where nobody has typed a value: what is recommended;
    /// where nothing is, each other of its few values, none where they are many.
    pub fn other_values(&'static self, site: &Site) -> Vec<String> {
        let values = self.knobs().map(|knobs| knobs.other_values(self, site));
        values.unwrap_or_default()
    }

    /// The values that it takes, in words.
    pub fn values(&self) -> String {
        match &self.how {
            How::Knobs(knobs) => knobs.accepts.words(),
            How::ByHand(_) => "none: it is told, and never set".to_owned(),
            How::AtStart(start) => start.values.clone(),
        }
    }

    /// Its knobs as a page names them, with DEVICE and N for what a machine has several of; of what is set
    /// at a start, the system calls.
    pub fn sets(&self) -> Vec<String> {
        match &self.how {
            How::Knobs(knobs) => knobs.places.patterns(),
            How::ByHand(_) => Vec::new(),
            How::AtStart(start) => start.sets.clone(),
        }
    }

    /// Whether a knob is one of its own. What a journal says of any other is not believed.
    pub fn owns(&self, knob: &Knob) -> bool {
        self.knobs().is_some_and(|knobs| knobs.places.have(knob))
    }

    /// Whether what is set goes back by itself unless it is confirmed: it may lock us out, or reaches
    /// a device, whose driver may do what no row of ours knows.
    pub fn is_on_trial(&self) -> bool {
        let is_risky = self.scope == Scope::Device || self.worst.locks_out();
        is_risky && self.knobs().is_some()
    }

    /// What a person would type in our place, where that is not a command for each knob.
    pub fn by_hand(&self) -> Option<&str> {
        Some(&self.start()?.by_hand)
    }

    /// Whether it is a flag of our own server, that no other program has.
    pub fn is_of_our_server(&self) -> bool {
        self.start().is_some_and(SetAtStart::is_of_our_server)
    }

    /// What a program is to be started with, for a value as a person types it; `None` for what is
    /// set in the machine.
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

/// Under which heading a person looks for it. The first nine are the steps of the article on 1.2
/// million requests a second, in its order.
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
    /// The heading.
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

/// The worst that any value which the lever takes may do, with a sentence that says how.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worst {
    /// Nothing that anybody would notice.
    None(String),
    /// Work takes longer, and is done.
    Slower(String),
    /// Programs fail, or lose connections.
    Failures(String),
    /// Memory is taken, until programs are killed for want of it.
    Memory(String),
    /// Nobody reaches the machine any more, so that nobody can put it back.
    Access(String),
    /// Protection is taken away.
    Protection(String),
}

impl Worst {
    /// In one word, as JSON says it too.
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

    /// How it comes to that.
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

    /// Whether it may keep whoever set it from putting it back.
    pub fn locks_out(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::Access(_))
    }
}
