//! A study as its file says it, and the arms that follow from it.

use serde::{Deserialize, Serialize};

use crate::command_study::CommandStudy;
use crate::ladder::Whole;
use crate::lever::LeverSetting;
use crate::link::LinkSpec;
use crate::workload::Workload;

/// The version of the study file's shape that this program reads.
pub const STUDY_FORMAT: u32 = 1;

/// What our own server is called as a target.
pub const SERVE: &str = "serve";

/// A question with a design, factors and a workload: one TOML file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Shape of this file; see [`STUDY_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    pub title: String,
    pub question: String,
    /// How the answer is found, for a reader of the report. Here, in the title and in the
    /// question, `{target}` stands for the program under test.
    pub method: String,
    /// What may mislead a reader of the figures.
    #[serde(default)]
    pub pitfalls: Vec<String>,
    #[serde(default)]
    pub source: Option<Source>,
    /// The hosts and links that it wants.
    #[serde(default)]
    pub rig: RigKind,
    /// The link between client and server, on a rig that has one to emulate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpec>,
    pub design: Design,
    pub workload: Workload,
    /// Present where first and last arm are also compared in latency mode.
    #[serde(default)]
    pub latency: Option<LatencyDesign>,
    /// Also measure a bare echo over the same sockets and bytes.
    #[serde(default)]
    pub floor: bool,
    /// What the whole ladder asks besides its climb; in a run, present where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    pub baseline: BaselineSpec,
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSpec>,
}

/// What a study file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StudyFile {
    /// A study of servers under load.
    Load(Box<Study>),
    Commands(Box<CommandStudy>),
}

impl StudyFile {
    /// The study of servers under load, if it is one.
    #[must_use]
    pub fn load(self) -> Option<Study> {
        match self {
            Self::Load(study) => Some(*study),
            Self::Commands(_) => None,
        }
    }

    /// The study of commands, if it is one.
    #[must_use]
    pub fn commands(self) -> Option<CommandStudy> {
        match self {
            Self::Commands(study) => Some(*study),
            Self::Load(_) => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Load(study) => &study.name,
            Self::Commands(study) => &study.name,
        }
    }

    /// Its title, for a reader.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Load(study) => &study.title,
            Self::Commands(study) => &study.title,
        }
    }

    /// The question it answers.
    #[must_use]
    pub fn question(&self) -> &str {
        match self {
            Self::Load(study) => &study.question,
            Self::Commands(study) => &study.question,
        }
    }
}

impl Study {
    /// Every lever that an arm of it may have, each setting once.
    #[must_use]
    pub fn levers(&self) -> Vec<LeverSetting> {
        let mut all = self.first_levers();
        all.extend(self.steps.iter().flat_map(|step| step.add.iter().cloned()));
        all.sort();
        all.dedup();
        all
    }

    /// Those of the first state.
    #[must_use]
    pub fn first_levers(&self) -> Vec<LeverSetting> {
        let of_the_whole = self.whole.iter().flat_map(|whole| &whole.levers);
        let all = self.baseline.levers.iter().chain(of_the_whole);
        all.cloned().collect()
    }

    /// The services that steps of their own are for, each once, in their order.
    #[must_use]
    pub fn own_targets(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self.steps.iter().filter_map(|step| step.target.as_deref()) {
            if name != SERVE && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether its arms differ in program.
    #[must_use]
    pub fn compares_programs(&self) -> bool {
        let of_steps = self.steps.iter().map(|step| &step.target);
        let mut all = std::iter::once(&self.baseline.target).chain(of_steps);
        all.any(Option::is_some)
    }

    /// Says in its words which program is measured: `{target}` becomes its name.
    pub fn name_target(&mut self, name: &str) {
        for text in [&mut self.title, &mut self.question, &mut self.method] {
            *text = text.replace("{target}", name);
        }
    }
}

/// The hosts and links that a study is to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RigKind {
    /// Client and server on one loopback: of a namespace of our own where the kernel allows it.
    #[default]
    Loopback,
    /// Client and server in a namespace each, joined by a pair of virtual devices.
    Netns,
    /// The same with a namespace between them that forwards.
    Router,
    /// The same with an encapsulating device.
    Tunnel,
    /// The machines that the hosts file names.
    Hosts,
}

impl RigKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Loopback,
        Self::Netns,
        Self::Router,
        Self::Tunnel,
        Self::Hosts,
    ];

    /// As it is written in study files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Netns => "netns",
            Self::Router => "router",
            Self::Tunnel => "tunnel",
            Self::Hosts => "hosts",
        }
    }
}

/// The article that a study reproduces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub title: String,
    pub url: String,
    pub year: u32,
    /// The machine it was measured on.
    pub machine: String,
    /// Steps of the article that the study leaves out: its published figures hold their gains too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_crossed: Vec<NotCrossed>,
}

/// A step of the article that the study leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotCrossed {
    pub title: String,
    /// Why it is left out.
    pub why: String,
    /// Gain over the step before it, as a share, where the article has it.
    #[serde(default)]
    pub gain: Option<f64>,
}

/// How arms are compared and how long each block lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    pub kind: DesignKind,
    /// Every arm once per round; also the number of pairs.
    pub rounds: u32,
    pub settle_ms: u32,
    pub score_ms: u32,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
}

/// Which arm each arm is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesignKind {
    /// Each step against the one before it.
    Ladder,
    /// Each arm against the baseline.
    Compare,
}

/// Latency blocks of the first and the last arm at one open-loop rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyDesign {
    /// Offered rate as a share of the baseline's closed-loop throughput, 0 to 1.
    pub rate_share: f64,
    /// Blocks per arm.
    pub blocks: u32,
    pub score_ms: u32,
}

/// The first arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    pub title: String,
    /// Of a comparison of programs: its program, as of [`StepSpec::target`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default)]
    pub levers: Vec<LeverSetting>,
    #[serde(default)]
    pub published: Option<Published>,
}

/// An arm that differs from the one it is measured against by what it adds and takes away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    pub name: String,
    pub title: String,
    /// One sentence: what this setting costs and why.
    #[serde(default)]
    pub why: String,
    /// Whether only the whole ladder climbs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Of a comparison: its program where that is not the study's, `serve` or the name of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of a comparison: what is asked for where that is not the workload's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of a comparison: the step that it is compared with, where that is not the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    #[serde(default)]
    pub add: Vec<LeverSetting>,
    #[serde(default)]
    pub take_away: Vec<LeverSetting>,
    #[serde(default)]
    pub published: Option<Published>,
}

/// A figure from the article.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub throughput_rps: f64,
    /// Gain of this step over the one before, as a share: 0.22 is +22 %.
    #[serde(default)]
    pub gain: Option<f64>,
}

/// What is served to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Our own HTTP server, started by the agent.
    Serve,
    /// Our own bare echo with the bytes of the HTTP exchange, started by the agent.
    Echo,
    /// A service by its name, started by the agent that was told how.
    Service(String),
    /// A server that is already running; never started or stopped by us.
    Url(String),
}

impl Program {
    /// The same without what identifies somebody: of a URL, its scheme, port and path stay, and
    /// its host where that is loopback.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        match self {
            Self::Url(url) => Self::Url(url_without_secrets(url)),
            other => other.clone(),
        }
    }
}

/// `http://user:word@host:8080/path?query` becomes `http://HOST:8080/path`.
#[must_use]
pub fn url_without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest[..end].split_at(rest[..end].find('/').unwrap_or(end));
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let port_at = host_and_port
        .rfind(':')
        .filter(|colon| !host_and_port[*colon..].contains(']'));
    let (host, port) = host_and_port.split_at(port_at.unwrap_or(host_and_port.len()));
    let loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    format!(
        "{scheme}://{}{port}{path}",
        if loopback { host } else { "HOST" }
    )
}

/// What an arm is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Baseline,
    /// The baseline again: the A/A that must come out as no difference.
    Control,
    Step,
    /// The bare echo: what the kernel alone costs.
    Floor,
    /// One step alone on the first state of a ladder.
    Alone,
    /// Two steps on the first state.
    Both,
    /// The state in which a ladder ends, when it is confirmed.
    Last,
    /// That state without one step.
    Without,
}

impl Role {
    /// Whether it stands on the ladder or beside it, rather than at one of its ends alone.
    #[must_use]
    pub fn is_of_the_climb(self) -> bool {
        matches!(
            self,
            Self::Baseline | Self::Control | Self::Step | Self::Floor
        )
    }
}

/// One combination of levels, measured against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    pub title: String,
    pub role: Role,
    pub program: Program,
    /// What is asked for, where that is not the workload's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub levers: Vec<LeverSetting>,
    /// The arm it is compared with; `None` for the baseline and the floor.
    pub against: Option<String>,
    pub published: Option<Published>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_loses_credentials_query_and_a_host_that_is_not_loopback() {
        for (url, public) in [
            (
                "http://me:word@shop.example:8080/cart?id=7#x",
                "http://HOST:8080/cart",
            ),
            (
                "http://127.0.0.1:80/json?token=1",
                "http://127.0.0.1:80/json",
            ),
            ("http://[::1]:9/", "http://[::1]:9/"),
            ("http://[fe80::1]:9/", "http://HOST:9/"),
            ("http://me:word@localhost", "http://localhost"),
            ("http://10.1.2.3/a@b", "http://HOST/a@b"),
        ] {
            assert_eq!(url_without_secrets(url), public);
        }
    }
}
