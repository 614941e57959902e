//! A study as its file describes it, and the arms that follow from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command_study::CommandStudy;
use crate::gate::GateDesign;
use crate::ladder::Whole;
use crate::lever::LeverSetting;
use crate::link::LinkSpec;
use crate::request::RequestSpec;
use crate::rig::RigKind;
use crate::source::Source;
use crate::workload::Workload;

/// The version of the study file's format that this program reads.
pub const STUDY_FORMAT: u32 = 1;

/// Name of our own server as a target.
pub const SERVE: &str = "serve";

/// A question with a design, factors and a workload: one TOML file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Format of this file; see [`STUDY_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// How the answer is found, for a reader of the report. Here, in the title and in the
    /// question, `{target}` stands for the program under test.
    pub method: String,
    /// What may mislead a reader of the figures.
    #[serde(default)]
    pub pitfalls: Vec<String>,
    /// The article that the study reproduces, if any.
    #[serde(default)]
    pub source: Option<Source>,
    /// The hosts and links that the study is run on; absent in files older than rigs.
    #[serde(default)]
    pub rig: RigKind,
    /// The emulated link between client and server; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpec>,
    /// How arms are compared.
    pub design: Design,
    /// What drives the arms.
    pub workload: Workload,
    /// Latency blocks of the first and the last arm; absent where these are not compared in latency
    /// mode.
    #[serde(default)]
    pub latency: Option<LatencyDesign>,
    /// Whether to measure also a bare echo over the same sockets and bytes.
    #[serde(default)]
    pub floor: bool,
    /// Whether to see also, in bursts outside the blocks, which functions take the time of each
    /// arm's server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacks: bool,
    /// What the whole ladder measures besides its climb; in a run, present where the whole ladder
    /// was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// The design of a gate between two commits; no study file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateDesign>,
    /// The first arm.
    pub baseline: BaselineSpec,
    /// The steps, each a change to the one before; absent where there is none.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSpec>,
}

/// What a study file holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StudyFile {
    /// A study of servers under load.
    Load(Box<Study>),
    Commands(Box<CommandStudy>),
}

impl StudyFile {
    /// Returns the study of servers under load, if this is one.
    pub fn load(self) -> Option<Study> {
        match self {
            Self::Load(study) => Some(*study),
            Self::Commands(_) => None,
        }
    }

    /// Returns the study of commands, if this is one.
    pub fn commands(self) -> Option<CommandStudy> {
        match self {
            Self::Commands(study) => Some(*study),
            Self::Load(_) => None,
        }
    }

    /// Name of the study.
    pub fn name(&self) -> &str {
        match self {
            Self::Load(study) => &study.name,
            Self::Commands(study) => &study.name,
        }
    }

    /// Title of the study, for a reader.
    pub fn title(&self) -> &str {
        match self {
            Self::Load(study) => &study.title,
            Self::Commands(study) => &study.title,
        }
    }

    /// The question it answers.
    pub fn question(&self) -> &str {
        match self {
            Self::Load(study) => &study.question,
            Self::Commands(study) => &study.question,
        }
    }
}

impl Study {
    /// Returns every lever that any arm may have, each setting once.
    pub fn levers(&self) -> Vec<LeverSetting> {
        let mut all = self.first_levers();
        all.extend(self.steps.iter().flat_map(|step| step.add.iter().cloned()));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the levers of the first state.
    pub fn first_levers(&self) -> Vec<LeverSetting> {
        let of_the_whole = self.whole.iter().flat_map(|whole| &whole.levers);
        let all = self.baseline.levers.iter().chain(of_the_whole);
        all.cloned().collect()
    }

    /// Returns the services that single steps name as their targets, each once, in their order.
    pub fn own_targets(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self.steps.iter().filter_map(|step| step.target.as_deref()) {
            if name != SERVE && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether any arm names a program of its own.
    pub fn compares_programs(&self) -> bool {
        let of_steps = self.steps.iter().map(|step| &step.target);
        let mut all = std::iter::once(&self.baseline.target).chain(of_steps);
        all.any(Option::is_some)
    }

    /// Writes the name of the measured program into the study's texts in place of `{target}`.
    pub fn name_target(&mut self, name: &str) {
        for text in [&mut self.title, &mut self.question, &mut self.method] {
            *text = text.replace("{target}", name);
        }
    }
}

/// How arms are compared and how long each block lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Which arm each arm is measured against: the one before it, or the baseline.
    pub kind: DesignKind,
    /// Rounds, each with every arm once; also the number of pairs.
    pub rounds: u32,
    /// Load before each scored window, ms.
    pub settle_ms: u32,
    /// Length of each scored window, ms.
    pub score_ms: u32,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// Rising numbers of rounds. After each of them the run ends if all effects are known to within
    /// the smallest one. Absent where every round is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
}

/// Which arm each arm is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DesignKind {
    /// Each step against the one before it.
    Ladder,
    /// Each arm against the baseline.
    Compare,
}

/// Latency blocks of the first and the last arm at one open-loop rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyDesign {
    /// Offered rate as a share of the baseline's closed-loop throughput, 0 to 1.
    pub rate_share: f64,
    /// Latency blocks per arm, count.
    pub blocks: u32,
    /// Length of each scored window, ms.
    pub score_ms: u32,
    /// The offered rate itself, requests/s, instead of a share; absent where it is a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<f64>,
}

/// The first arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    /// Title of the first arm.
    pub title: String,
    /// Program of the arm in a comparison of programs, `serve` or the name of a service; absent
    /// where it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Levers that are on from the start.
    #[serde(default)]
    pub levers: Vec<LeverSetting>,
    /// The article's figure for it, if any.
    #[serde(default)]
    pub published: Option<Published>,
}

/// An arm described by what it adds to and takes away from the one it is measured against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    /// Short stable name.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// One sentence: what this setting costs and why.
    #[serde(default)]
    pub why: String,
    /// Whether only the whole ladder has this step; absent for no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Of a comparison: the step's program, `serve` or the name of a service; absent where it is
    /// the baseline's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of a comparison: number of workers; absent where it is the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Of a comparison: path of the request; absent where it is the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of a comparison: the step that it is compared with, where that is not the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Levers that this step turns on.
    #[serde(default)]
    pub add: Vec<LeverSetting>,
    /// Levers that this step turns off.
    #[serde(default)]
    pub take_away: Vec<LeverSetting>,
    /// The article's figure for it, if any.
    #[serde(default)]
    pub published: Option<Published>,
}

impl StepSpec {
    /// Returns a step that changes nothing yet.
    pub fn named(name: String, title: String) -> Self {
        Self {
            name,
            title,
            why: String::new(),
            whole: false,
            target: None,
            workers: None,
            path: None,
            against: None,
            add: Vec::new(),
            take_away: Vec::new(),
            published: None,
        }
    }
}

/// A figure from the article.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Published throughput, requests/s.
    pub throughput_rps: f64,
    /// Gain of this step over the one before, as a share: 0.22 is +22 %.
    #[serde(default)]
    pub gain: Option<f64>,
}

/// The program that an arm measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Our own HTTP server, started by the agent.
    Serve,
    /// Our own bare echo with the bytes of the HTTP exchange, started by the agent.
    Echo,
    /// A service by its name, started by the agent that has its description.
    Service(String),
    /// A program that the agent has built from a commit, by the name of the build.
    Built(String),
    /// A server that is already running; never started or stopped by us.
    Url(String),
    /// A running server at its address, observed under its own traffic; we never send it a request.
    Watched(String),
    /// A running server, loaded with a request of the user's. It is never saved: a run has its URL.
    Request(Box<RequestSpec>),
}

impl Program {
    /// Returns the program without what identifies somebody: of a URL, its scheme, port and path
    /// stay, and its host where that is loopback.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        match self {
            Self::Url(url) => Self::Url(url_without_secrets(url)),
            Self::Watched(url) => Self::Watched(url_without_secrets(url)),
            Self::Request(request) => Self::Url(url_without_secrets(&request.url)),
            other => other.clone(),
        }
    }
}

/// Removes what identifies somebody: `http://user:word@host:8080/path?query` becomes
/// `http://HOST:8080/path`.
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

/// The purpose of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Baseline,
    /// The baseline again, for the A/A comparison, which must show no difference.
    Control,
    Step,
    /// The bare echo: what the kernel alone costs.
    Floor,
    /// One step alone on the first state of a ladder.
    Alone,
    /// Two steps on the first state.
    Both,
    /// The state in which a ladder ends, where it is confirmed.
    Last,
    /// The last state without one step.
    Without,
}

impl Role {
    /// Whether the arm belongs to the climb of a ladder, rather than to the separate study of its
    /// first or last state.
    pub fn is_of_the_climb(self) -> bool {
        matches!(
            self,
            Self::Baseline | Self::Control | Self::Step | Self::Floor
        )
    }
}

/// One combination of levels, measured against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Short stable name.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// The purpose of the arm.
    pub role: Role,
    /// The program that the arm measures.
    pub program: Program,
    /// Path of the request, where that is not the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of its workers, where that is not the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Levers that are on for this arm.
    pub levers: Vec<LeverSetting>,
    /// The arm it is compared with; `None` for the baseline and the floor.
    pub against: Option<String>,
    /// The article's figure for it, if any.
    pub published: Option<Published>,
}

impl Arm {
    /// Returns an arm of this program without levers that is compared with nothing.
    pub fn new(name: &str, title: &str, role: Role, program: Program) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            role,
            program,
            path: None,
            workers: None,
            levers: Vec::new(),
            against: None,
            published: None,
        }
    }
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
