//! A study of commands, as its file describes it: factors whose levels fill in one command, and the
//! metrics that are read from its output.
//!
//! Commands may contain variables in braces: `{dir}` for the study's own folder, `{arm}` for the
//! name of the arm (for the control: of the baseline, whose builds it shares), `{linerate}` for a
//! copy of this program, `{FACTOR}` for the value of a factor's level and `{FACTOR_level}` for that
//! level's name, `{NEED}` for the path of a program that is needed, `{SIZE}` for a size. `{{word}}`
//! stands for `{word}` itself. The values of levels may contain all of these but factors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doubt::CommandDoubt;
use crate::service::Find;
use crate::source::Source;

/// The longest that a build or a piece of evidence may take, s.
pub const LONGEST_STEP_S: u32 = 1_800;

/// A question about commands: one TOML file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandStudy {
    /// Shape of this file; see [`crate::study::STUDY_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// How the answer is found, for a reader of the report.
    pub method: String,
    /// What may mislead a reader of the figures.
    #[serde(default)]
    pub pitfalls: Vec<String>,
    /// The article that it reproduces, if any.
    #[serde(default)]
    pub source: Option<Source>,
    /// How arms are compared.
    pub design: FactorialDesign,
    /// The command, with what is run before and after it.
    pub workload: CommandWorkload,
    /// Numbers by name, for use in commands; absent where none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Size>,
    /// Files to write: path below the study's folder, and text; absent where none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Programs that levels need; a level is left out where one is missing. Absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// What is varied.
    #[serde(rename = "factor")]
    pub factors: Vec<Factor>,
    /// Figures of each run; verdicts are about the first.
    #[serde(rename = "metric")]
    pub metrics: Vec<MetricSpec>,
    /// Resources that limit a rate; absent where none.
    #[serde(default, rename = "ceiling", skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<CeilingSpec>,
    /// Figures that the article published; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFigure>,
    /// Commands that are run once at the end; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceSpec>,
}

/// How the combinations of levels are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorialDesign {
    /// Every combination of levels is an arm.
    pub kind: FactorialKind,
    /// Rounds, each with every arm once; also the number of pairs.
    pub rounds: u32,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// The factor whose levels are compared, within every combination of the other factors.
    pub compare: String,
    /// Whether a level is compared with the factor's first level or with the one before it.
    #[serde(default)]
    pub against: Against,
    /// Two factors; the study asks whether the effect of one depends on the other. The first two
    /// levels of each are used. Absent where not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<[String; 2]>,
    /// A factor; the study asks for the geometric mean of the effects over its levels. Absent where
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_over: Option<String>,
}

/// The design of a study of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactorialKind {
    /// Every combination of levels is an arm.
    #[default]
    Factorial,
}

/// What a level is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The factor's first level.
    #[default]
    First,
    /// The level before it.
    Previous,
}

/// A command, what is run before and after it, and where it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorkload {
    /// Kind of the workload.
    pub kind: CommandKind,
    /// Commands before the first round. One that is the same for several arms after its variables
    /// are filled in is run once; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Vec<String>>,
    /// Commands before each timed run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<String>>,
    /// The timed command: a program and its arguments, without a shell, in the study's folder.
    pub run: Vec<String>,
    /// A command that runs beside each timed run, on the server's host if there are two. It is
    /// started after the preparation, must listen on TCP within `timeout_s`, and is ended after the
    /// run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// Commands after each timed run, also if the run or its preparation failed. If one of these
    /// fails, the study ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<Vec<String>>,
    /// Longest time that one run of any of these commands may take, s; builds and evidence may take
    /// [`LONGEST_STEP_S`].
    pub timeout_s: u32,
    /// Whether a timed command is bound to one CPU or may use all.
    #[serde(default)]
    pub cpus: CpuUse,
    /// The output on which all runs of a cell must agree; absent where none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agree: Option<Agreement>,
}

/// The kind of a workload that is a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    #[default]
    Command,
}

/// The CPUs that a timed command may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuUse {
    /// One CPU, the same in all runs, so that the command is never moved. Our own processes use
    /// other CPUs.
    #[default]
    One,
    /// All CPUs that we may use, for commands with several threads or processes.
    All,
}

/// A part of a command's output that must be the same in all runs of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// The part of the output.
    pub on: OutputPart,
    /// How far two numbers may lie apart, as a share of the larger; absent if texts are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

/// A part of standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputPart {
    /// The whole output.
    Stdout,
    /// The first match of a regular expression's first group.
    Regex(String),
    /// The value that a JSON pointer (RFC 6901) leads to.
    Json(String),
}

/// A number that differs in the smoke form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The number in the full form, in a unit of the study's own.
    pub full: u64,
    /// The number in the smoke form, which uses less and only shows that everything works.
    pub smoke: u64,
}

/// A program without which some commands cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Name of its variable in commands.
    pub name: String,
    /// Its name for readers.
    pub title: String,
    /// How it is found, distinguished from other programs, and obtained where it is absent.
    pub find: Find,
    /// Whether the server's host needs it, where there are two hosts; absent if the client's does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
}

/// What is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Name of its variable in commands.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// Its levels; the others are compared with the first.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
}

/// One of the values of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Lower-case words joined by hyphens; they become part of the arm's name.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// The text that replaces the factor's variable in commands; absent if it is the level's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<LevelValue>,
    /// Programs that the level needs; it is left out where one is missing. Absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// The value that a level fills into commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LevelValue {
    /// A part of a word.
    Text(String),
    /// Any number of words, also none; they replace a word that consists of the variable alone.
    Words(Vec<String>),
}

/// A figure of each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Its name, which ends with its unit, as in `compute_ns`.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// Its unit. Values in `ns` and `bytes` are shown in larger units where that reads better;
    /// others as they are.
    pub unit: String,
    /// Whether lower or higher is better.
    pub better: Better,
    /// Where its value comes from: the kernel, or standard output.
    pub from: MetricSource,
    /// Whether runs may lack it; absent for no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A resource that limits a rate: how much of it is in use, and how much there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CeilingSpec {
    /// Lower-case words joined by hyphens.
    pub name: String,
    /// Its title, as part of a sentence.
    pub title: String,
    /// The metric whose value it limits.
    pub of: String,
    /// Metrics whose product is the amount in use; an arm without one of them is not bounded by the
    /// resource.
    pub used: Vec<String>,
    /// Factor by which that product is multiplied to get the unit; absent for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// The unit of what is in use.
    pub unit: String,
    /// How much of it there is, in the unit; absent if a probe measures that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The probe that measures how much there is, by the names of docs/probes.md; absent if that is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Lower,
    Higher,
}

/// Where a metric's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    /// Wall time of the run, ns.
    Wall,
    /// CPU time of the run, ns.
    Cpu,
    /// Peak memory of the run, bytes.
    PeakMemory,
    /// The number that the first group of a regular expression finds first in standard output.
    Regex(String),
    /// The number that a JSON pointer (RFC 6901) leads to in standard output.
    Json(String),
}

/// A figure that the article published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// Levels by factor; the figure is about every arm that has these.
    pub levels: BTreeMap<String, String>,
    /// If the article has a ratio, other levels of some of these factors: the ratio is of arms with
    /// `levels` to those with these levels instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<BTreeMap<String, String>>,
    /// Name of the metric.
    pub metric: String,
    /// The figure, in the metric's unit; a ratio if there is `against`.
    pub value: f64,
    /// Lowest value here that supports the article's claim, in the unit of `value`; absent if there
    /// is no lower limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Highest such value. A figure with neither limit says nothing about other machines than its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The machine it was measured on; it distinguishes several machines of one article.
    pub machine: String,
    /// A further remark about it; absent where none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A command that is run once at the end and whose output is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceSpec {
    /// What it shows, for a reader.
    pub title: String,
    /// The command.
    pub run: Vec<String>,
    /// Levels by factor, for the variables of the command. If one of these levels is left out, so
    /// is the evidence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// Programs that the evidence needs; it is left out where one is missing. Absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Texts; the lines of the output that contain each are counted. Absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<String>,
    /// Lines of its output that are saved, count.
    #[serde(default = "default_lines")]
    pub lines: u32,
}

fn default_lines() -> u32 {
    40
}

impl CommandStudy {
    /// Finds a factor by its name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// Turns the study into its smoke form: the small sizes and `rounds` rounds. Returns a doubt if
    /// any size differs from the full form.
    pub fn shorten_for_smoke(&mut self, rounds: u32) -> Option<CommandDoubt> {
        self.design.rounds = rounds;
        let mut sizes = self.sizes.clone();
        sizes.retain(|_, size| size.smoke != size.full);
        for size in self.sizes.values_mut() {
            size.full = size.smoke;
        }
        (!sizes.is_empty()).then_some(CommandDoubt::SmokeSizes { sizes })
    }
}

impl Factor {
    /// Finds a level by its name.
    pub fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name)
    }
}
