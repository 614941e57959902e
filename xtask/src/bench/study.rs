//! A bench as a study: its file of `bench/` with the servers' addresses filled in, run by the
//! program.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use model::judgement::FactorialJudgement;

use super::bars::{self, Tally};
use super::lab::{LAP, Lab};
use super::options::Options;
use super::servers::Server;
use crate::commands::{self, output};

pub(super) const CLIENT: &str = include_str!("../../../bench/client.toml");
pub(super) const SERVER: &str = include_str!("../../../bench/server.toml");
pub(super) const FILE: &str = include_str!("../../../bench/file.toml");
pub(super) const HTTPS: &str = include_str!("../../../bench/https.toml");
pub(super) const MEMORY: &str = include_str!("../../../bench/memory.toml");
pub(super) const STREAM: &str = include_str!("../../../bench/stream.toml");
pub(super) const DATAGRAMS: &str = include_str!("../../../bench/datagrams.toml");
pub(super) const RAW: &str = include_str!("../../../bench/raw.toml");
pub(super) const LATENCY: &str = include_str!("../../../bench/latency.toml");

/// Placeholders of a study that are not servers.
const FILLED_IN: [&str; 3] = ["lap", "connections", "answer_bytes"];
/// Line of a study that is replaced by the levels of further servers.
const FURTHER: &str = "# @against@\n";

/// A comparison: the text of a study, and the value of its placeholder `@connections@`.
pub(super) struct Bench {
    pub(super) name: &'static str,
    text: &'static str,
    connections: &'static str,
}

impl Bench {
    pub(super) const fn new(
        name: &'static str,
        text: &'static str,
        connections: &'static str,
    ) -> Self {
        Self {
            name,
            text,
            connections,
        }
    }

    /// Whether further servers may take part.
    pub(super) fn takes_servers(&self) -> bool {
        self.text.contains(FURTHER)
    }

    /// Runs the comparison, prints its results, and compares them with its bars.
    pub(super) fn run(
        &self,
        lab: &Lab,
        options: &Options,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        println!("\n{}", self.name);
        let mut against = Vec::new();
        if self.takes_servers() {
            let named = options.against.iter();
            against.extend(named.map(|command| (program_name(command), command)));
        }
        let named: Vec<String> = against.iter().map(|(name, _)| name.clone()).collect();
        let levels: String = named.iter().map(|name| level(name)).collect();
        let mut setup = Setup {
            text: self.text.replace(FURTHER, &levels),
            servers: Vec::new(),
        };
        setup.put("connections", self.connections);
        if self.text.contains("big.bin") {
            lab.make_files()?;
        }
        setup.put("lap", &lab.path(LAP).to_string_lossy());
        for name in servers_of(self.text) {
            setup.take_in(lab, name, lab.start(name)?)?;
        }
        for (name, command) in &against {
            ensure!(
                setup.text.matches(&variable(name)).count() == 1,
                "two servers are called {name}, by their programs: start one through a link with another name"
            );
            let server = lab.start(command)?;
            ensure!(server.is_some(), "`{command}` is not installed");
            setup.take_in(lab, name, server)?;
        }
        let judgement = judged(lab, &setup.text, options.rounds)?;
        bars::hold(self.name, &named, &judgement, tally)
    }
}

/// The text of a study with the known placeholders filled in, and the running servers.
struct Setup {
    text: String,
    servers: Vec<Server>,
}

impl Setup {
    fn put(&mut self, name: &str, value: &str) {
        self.text = self.text.replace(&variable(name), value);
    }

    fn take_in(&mut self, lab: &Lab, name: &str, server: Option<Server>) -> anyhow::Result<()> {
        let Some(server) = server else {
            println!("  left out: {name}, as it is not installed");
            self.leave_out(name);
            return Ok(());
        };
        self.put(name, &server.place());
        if self.text.contains("/json") {
            let bytes = lab.answer_bytes(&server).with_context(|| name.to_owned())?;
            self.put("answer_bytes", &bytes.to_string());
        }
        self.servers.push(server);
        Ok(())
    }

    /// Removes the level of a server from the study.
    fn leave_out(&mut self, name: &str) {
        let value = format!("value = \"{}\"\n", variable(name));
        let place = self.text.find(&value).and_then(|at| {
            let begins = self.text[..at].rfind("[[factor.level]]")?;
            Some(begins..at + value.len())
        });
        if let Some(place) = place {
            self.text.replace_range(place, "");
        }
    }
}

/// The servers that a study names, in its order: quoted placeholders that are not in [`FILLED_IN`].
fn servers_of(text: &str) -> Vec<&str> {
    let mut servers: Vec<&str> = Vec::new();
    for word in text.split('"').skip(1).step_by(2) {
        let name = word
            .strip_prefix('@')
            .and_then(|rest| rest.strip_suffix('@'));
        let is_server = |name: &&str| !FILLED_IN.contains(name) && !servers.contains(name);
        servers.extend(name.filter(is_server));
    }
    servers
}

/// The placeholder of this name in a study.
fn variable(name: &str) -> String {
    format!("@{name}@")
}

/// The text of a further server's level in the factor of servers.
fn level(name: &str) -> String {
    let value = variable(name);
    format!("[[factor.level]]\nname = \"{name}\"\ntitle = \"{name}\"\nvalue = \"{value}\"\n")
}

/// A level's name from the program of a command: lower-case words joined by hyphens.
fn program_name(command: &str) -> String {
    let program = command.split_whitespace().next().unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).collect()
}

/// Has the program run the study: it measures the arms, pairs their laps and judges them.
fn judged(lab: &Lab, text: &str, rounds: Option<u32>) -> anyhow::Result<FactorialJudgement> {
    let name = text.lines().find_map(|line| line.strip_prefix("name = "));
    let name = name.context("the study has no name")?.trim_matches('"');
    let file = lab.path(&format!("{name}.toml"));
    std::fs::write(&file, text)?;
    let out = lab.path("run");
    let _ = std::fs::remove_dir_all(&out);
    let mut study = Command::new(&lab.linerate);
    study.args(["study", "run", "--trust", "--yes", "--json"]);
    if let Some(rounds) = rounds {
        study.args(["--rounds", &rounds.to_string()]);
    }
    study.arg("--out").arg(&out).arg(&file);
    let said = output(study.stdin(Stdio::null()));
    if let Some(signal) = sys::stop::heard() {
        bail!("stopped by signal {signal}");
    }
    let judgement: FactorialJudgement = serde_json::from_slice(&said?).context("the judgement")?;
    let doubts = judgement.doubts.iter().map(model::Doubt::what);
    let doubts: Vec<String> = doubts.collect();
    let failed: u32 = judgement.arms.iter().map(|arm| arm.failed).sum();
    ensure!(failed == 0, "{failed} laps failed: {}", doubts.join("; "));
    // Prints the figures of each arm, with the doubts.
    let mut report = Command::new(&lab.linerate);
    commands::run(report.args(["study", "report"]).arg(&out))?;
    Ok(judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_installed_leaves_the_study_and_the_others_stay() {
        let mut setup = Setup {
            text: HTTPS.to_owned(),
            servers: Vec::new(),
        };
        setup.leave_out("h2o-tls");
        assert!(!setup.text.contains("h2o"), "{}", setup.text);
        let levels = |text: &str| text.matches("[[factor.level]]").count();
        assert_eq!(levels(&setup.text) + 1, levels(HTTPS));
    }

    #[test]
    fn the_servers_of_a_study_are_those_that_it_names() {
        assert_eq!(servers_of(CLIENT), ["nginx"]);
        let names = ["serve", "serve-ring", "serve-confined", "floor", "nginx"];
        assert_eq!(servers_of(SERVER), names);
        for text in [MEMORY, STREAM, DATAGRAMS, RAW, LATENCY] {
            assert!(servers_of(text).is_empty(), "its laps start them");
        }
    }

    #[test]
    fn a_further_server_is_called_by_its_program_as_levels_are() {
        assert_eq!(
            program_name("/opt/bin/My_Server2 --port {port}"),
            "my-server2"
        );
    }
}
