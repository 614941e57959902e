//! What is saved of a run of a study of commands, in addition to what every run saves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{CommandEnd, CommandReading, Meanwhile};
use crate::command_study::CommandStudy;
use crate::doubt::Doubt;
use crate::run::{BlockRecord, Blocks, RunRecord};
use crate::study::Role;

/// Name of the file with the evidence in the run folder; it exists once the run is complete.
pub const EVIDENCE_FILE: &str = "evidence.json";

/// Everything that is known before the first block.
pub type CommandRun = RunRecord<CommandStudy, CommandArm>;
/// One run of the command as it is saved: a block of phase [`crate::run::Phase::Command`].
pub type CommandBlock = BlockRecord<Measured>;
/// The blocks of such a run.
pub type CommandBlocks = Blocks<Measured>;

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandArm {
    /// The names of its levels in the order of the factors, joined by dots; `control` for the
    /// baseline once more.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// `Baseline` for the first arm and `Control` for its repetition; every other is a `Step`.
    pub role: Role,
    /// The arm's level of each factor, by the names in the study.
    pub levels: BTreeMap<String, String>,
    /// The arm of the same cell that it is compared with; `None` if it is the one that others are
    /// compared with.
    pub against: Option<String>,
}

/// The result of one run of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Metric to value, in the metric's unit.
    pub values: BTreeMap<String, f64>,
    /// What the kernel reported of the command; if the run failed, of the command that failed.
    pub command: CommandReading,
    /// Which command of the run failed, how, and its last words. Nothing of such a run counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The output that must agree in all runs of a cell, or its SHA-256 if it is long; absent if
    /// nothing must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<String>,
    /// What the host did during the run; `None` if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<Meanwhile>,
    /// Doubts about this run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The evidence of a run, in the study's order, without the pieces that had to be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Version of this shape: 1.
    pub format: u32,
    /// The pieces of evidence.
    pub pieces: Vec<EvidencePiece>,
    /// Why pieces are missing, or prove nothing.
    pub doubts: Vec<Doubt>,
}

/// The output of one command of the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidencePiece {
    /// What it shows.
    pub title: String,
    /// The command as a person would type it; `DIR` stands for the study's folder.
    pub command: String,
    /// How it ended.
    pub end: CommandEnd,
    /// The first lines of its standard output; `DIR` stands for the study's folder.
    pub output: String,
    /// Further lines of its output, count.
    pub lines_left_out: u32,
    /// How many lines of the output contain each text; absent if none were counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u32>,
}

impl Measured {
    /// Whether its figures count: no command of it failed.
    pub fn counts(&self) -> bool {
        self.failed.is_none() && self.command.end.is_success()
    }
}
