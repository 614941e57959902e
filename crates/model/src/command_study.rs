//! A study of commands, as its file says it: factors whose levels fill in one command, and the
//! metrics that are read from what it prints.
//!
//! Variables in braces stand in the words of commands: `{dir}` for the study's own folder, `{arm}`
//! for the name of the arm (for the control: of the baseline, whose builds it shares), `{linerate}`
//! for a copy of this program, `{FACTOR}` for the value of a factor's level and `{FACTOR_level}` for
//! that level's name, `{NEED}` for the path of a program that is needed, `{SIZE}` for a size.
//! `{{word}}` stands for `{word}` itself. The values of levels may hold all but factors.

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
    /// The command, with what comes before and after it.
    pub workload: CommandWorkload,
    /// Numbers by name, for commands; absent where none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Size>,
    /// Path below the study's folder to the text of the file that is written there; absent where
    /// none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Programs without which levels are left out; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// What is varied.
    #[serde(rename = "factor")]
    pub factors: Vec<Factor>,
    /// Figures of each run; verdicts are about the first.
    #[serde(rename = "metric")]
    pub metrics: Vec<MetricSpec>,
    /// Resources that hold a rate back; absent where none.
    #[serde(default, rename = "ceiling", skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<CeilingSpec>,
    /// Figures of the article; absent where none.
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
    /// Every arm once per round; also the number of pairs.
    pub rounds: u32,
    /// The smallest change worth knowing, as a share: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// The factor whose levels are compared, within every combination of the other factors.
    pub compare: String,
    /// Whether a level is compared with the factor's first or with the one before it.
    #[serde(default)]
    pub against: Against,
    /// Two factors of which it is asked whether the effect of the one depends on the other; of
    /// each its first two levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<[String; 2]>,
    /// A factor over whose levels the geometric mean of the effects is asked for; absent where
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

/// A command, what comes before and after it, and where it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorkload {
    /// Kind of the workload.
    pub kind: CommandKind,
    /// Commands before the first round, each once where it comes out alike for several arms; absent
    /// where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Vec<String>>,
    /// Commands before each timed run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<String>>,
    /// The timed command: a program and its arguments, without a shell, in the study's folder.
    pub run: Vec<String>,
    /// A command beside each timed run, on the server's host where there are two: it is started when all is
    /// prepared, must listen on TCP within `timeout_s`, and is ended after the run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// Commands after each timed run, also after one that failed or whose preparation did. Where one
    /// of these fails the study ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<Vec<String>>,
    /// One run of any of them takes no longer, s; builds and evidence may take
    /// [`LONGEST_STEP_S`].
    pub timeout_s: u32,
    /// Whether a timed command is bound to one CPU or may use all.
    #[serde(default)]
    pub cpus: CpuUse,
    /// What all runs of a cell must agree on; absent where nothing.
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
    /// One, the same in all runs, so that it is never moved. Our own processes wait on others.
    #[default]
    One,
    /// All that we may use, for commands with several threads or processes.
    All,
}

/// A part of what a command printed that must be the same in all runs of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// The part of the output: all of it, or what is found in it.
    pub on: OutputPart,
    /// How far two numbers may lie apart, as a share of the larger; absent where texts are
    /// compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

/// A part of standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputPart {
    /// All of it.
    Stdout,
    /// What the first group of a regular expression finds first.
    Regex(String),
    /// What a JSON pointer (RFC 6901) leads to.
    Json(String),
}

/// A number that is another in the smoke form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The number, in a unit of the study's own.
    pub full: u64,
    /// In the smoke form, where less shows that everything works.
    pub smoke: u64,
}

/// A program without which some commands cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Its variable.
    pub name: String,
    /// What readers call it.
    pub title: String,
    /// How it is found, told from others, and had where it is absent.
    pub find: Find,
    /// Whether it is the server's host that needs it; absent for the client's, where there are two.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_server: bool,
}

/// What is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its variable.
    pub name: String,
    /// Words for a reader.
    pub title: String,
    /// Its levels, the first being what others are compared with.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
}

/// One of the values of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Lower-case words joined by hyphens: it becomes part of the arm's name.
    pub name: String,
    /// Words for a reader.
    pub title: String,
    /// What stands for the factor in commands; absent where that is the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<LevelValue>,
    /// Programs without which the level is left out; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// What a level puts into commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LevelValue {
    /// Part of a word.
    Text(String),
    /// None, one or several words, in the place of a word that is the variable alone.
    Words(Vec<String>),
}

/// A figure of each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// With its unit last, as `compute_ns`.
    pub name: String,
    /// Words for a reader.
    pub title: String,
    /// `ns` and `bytes` are shown in larger units where that reads better; any other as it stands.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
    /// Where its value comes from: the kernel, or standard output.
    pub from: MetricSource,
    /// Whether runs may be without it; absent for no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A resource that holds a rate back: how much of it is in use, and how much there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CeilingSpec {
    /// Lower-case words joined by hyphens.
    pub name: String,
    /// As part of a sentence.
    pub title: String,
    /// The metric that can be no more than it lets through.
    pub of: String,
    /// The metrics whose product is in use; an arm without one of them is not bounded by it.
    pub used: Vec<String>,
    /// That product is taken so many times, to come to the unit; absent for once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// The unit of what is in use.
    pub unit: String,
    /// There is so much of it; absent where a probe tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The probe that tells how much there is, by the names of docs/probes.md; absent where it is known.
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

/// A figure of the article.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// Factor to level; it is about every arm that has these.
    pub levels: BTreeMap<String, String>,
    /// Other levels of some of these factors, where the article has a ratio: of the arms with
    /// `levels` to those with these in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<BTreeMap<String, String>>,
    /// Name of the metric.
    pub metric: String,
    /// In the metric's unit; a ratio where there is something that it is against.
    pub value: f64,
    /// Lowest value here that bears the article's claim out, as `value` is; absent where any lower one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Highest such value; a figure with neither is of its machine alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// What it was measured on; several machines of one article are told apart by this.
    pub machine: String,
    /// What else is to be said of it; absent where nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A command that is run once at the end and whose output is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceSpec {
    /// What it shows, for a reader.
    pub title: String,
    /// The command.
    pub run: Vec<String>,
    /// Factor to level, for the variables of the command; where one of these levels is left out,
    /// so is the evidence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// Programs without which it is left out; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Texts of which the lines that hold them are counted; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<String>,
    /// Lines of its output that are kept, count.
    #[serde(default = "default_lines")]
    pub lines: u32,
}

fn default_lines() -> u32 {
    40
}

impl CommandStudy {
    /// A factor by its name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// Makes it the smoke form: the small sizes and so many rounds. What is doubtful of that is where a
    /// size is another than in full.
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
    /// A level by its name.
    pub fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name)
    }
}
