//! What is saved of a run of a study of commands, beside what every run saves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{CommandEnd, CommandReading, Meanwhile};
use crate::command_study::CommandStudy;
use crate::doubt::Doubt;
use crate::run::{BlockRecord, Blocks, RunRecord};
use crate::study::Role;

/// Name of the file with the evidence, in the run folder; there when the run is done.
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
    /// For a reader.
    pub title: String,
    /// `Baseline` for the first of all and `Control` for that one again; every other is a `Step`.
    pub role: Role,
    /// Factor to level, of the factors and levels of the study.
    pub levels: BTreeMap<String, String>,
    /// The arm of the same cell that it is compared with; `None` where it is the one that others
    /// are compared with.
    pub against: Option<String>,
}

/// What one run of the command gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Metric to value, in the metric's unit.
    pub values: BTreeMap<String, f64>,
    /// What the kernel told of it; of a run that failed, of the command that did.
    pub command: CommandReading,
    /// Which command of the run failed, how, and its last words. Nothing of such a run counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What must agree in all runs of a cell, or where that is long its SHA-256; absent where
    /// nothing must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<String>,
    /// What the host did meanwhile; `None` where the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<Meanwhile>,
    /// Doubts about this run; absent where none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The pieces of evidence of a run, in the study's order, those that had to be left out missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Version of this shape: 1.
    pub format: u32,
    /// The pieces of evidence.
    pub pieces: Vec<EvidencePiece>,
    /// Why pieces are missing, or are no evidence.
    pub doubts: Vec<Doubt>,
}

/// What a command of the evidence said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidencePiece {
    /// What it shows.
    pub title: String,
    /// The command, as a person would type it; the study's folder is written `DIR`.
    pub command: String,
    /// How it ended.
    pub end: CommandEnd,
    /// The first lines of its standard output, the study's folder written `DIR`.
    pub output: String,
    /// How many lines more it had.
    pub lines_left_out: u32,
    /// Text to how many lines of the output hold it; absent where none were counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u32>,
}

impl Measured {
    /// Whether its figures count: no command of it failed.
    pub fn counts(&self) -> bool {
        self.failed.is_none() && self.command.end.is_success()
    }
}
