//! Commands of arms, run by the agent: builds once, and each block as what is timed with what comes
//! before and after it.

use std::collections::HashSet;

use model::command::{CommandEnd, FolderCommand, Ran};
use model::command_run::{CommandArm, Measured};
use model::command_study::{CpuUse, LONGEST_STEP_S, OutputPart};
use model::{Ask, CommandReading, Tell};

use super::arms::NoArms;
use super::fill::{Filler, wants_linerate};
use super::pull;
use crate::campaign::CampaignError;
use crate::transport::Agent;

/// Lines of output that an error shows.
const SHOWN_LINES: usize = 5;

/// Why commands could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    NoArms(#[from] NoArms),
    #[error("the study's commands need a program that is not here: {0}")]
    Absent(String),
    #[error("{what} {how}{words}; {advice}")]
    Failed {
        /// Which command of which arm.
        what: String,
        how: String,
        /// Its last words, if it had any.
        words: String,
        advice: &'static str,
    },
    #[error(
        "the output of `{command}` ({arm}) {lacks}; {wanted} is read from it. It begins:\n{output}\n\
         mend the study or the command"
    )]
    NotInOutput {
        command: String,
        arm: String,
        wanted: String,
        lacks: String,
        output: String,
    },
}

impl From<CommandError> for CampaignError {
    fn from(error: CommandError) -> Self {
        Self::Commands(Box::new(error))
    }
}

/// A study's commands on this machine.
pub(super) struct Hands<'a> {
    pub(super) agent: &'a mut dyn Agent,
    pub(super) filler: Filler<'a>,
    pub(super) arms: &'a [CommandArm],
}

/// Has the agent make the study's folder; where it is.
pub(super) fn make_folder(
    study: &model::CommandStudy,
    agent: &mut dyn Agent,
) -> Result<String, CampaignError> {
    let ask = Ask::MakeFolder {
        files: study.files.clone(),
        with_linerate: wants_linerate(study),
    };
    match agent.ask(&ask)? {
        Tell::Folder { path } => Ok(path),
        _ => Err(CampaignError::Unexpected("make_folder")),
    }
}

impl Hands<'_> {
    /// Runs every build, those that come out alike once.
    pub(super) fn build(&mut self) -> Result<(), CampaignError> {
        let mut done = HashSet::new();
        for arm in self.arms {
            for words in &self.filler.study.workload.build {
                let words = self.filler.of_arm(words, arm, self.arms);
                if done.insert(words.clone()) {
                    let ran = self.run(&words, LONGEST_STEP_S, CpuUse::All)?;
                    self.must_do_well("building with", &words, arm, &ran.reading)?;
                }
            }
        }
        Ok(())
    }

    /// One block: prepare, the timed run, clean up.
    pub(super) fn block(&mut self, arm: &CommandArm) -> Result<Measured, CampaignError> {
        let workload = &self.filler.study.workload;
        let words = self.filler.of_arm(&workload.run, arm, self.arms);
        self.beside("preparing with", &workload.prepare, arm)?;
        let ran = self.run(&words, workload.timeout_s, workload.cpus)?;
        // What was prepared is put away again also after a run that failed.
        let cleaned = self.beside("cleaning up with", &workload.cleanup, arm);
        self.must_do_well("", &words, arm, &ran.reading)?;
        cleaned?;
        self.measured(&words, arm, &ran)
    }

    fn beside(
        &mut self,
        doing: &str,
        commands: &[Vec<String>],
        arm: &CommandArm,
    ) -> Result<(), CampaignError> {
        for words in commands {
            let words = self.filler.of_arm(words, arm, self.arms);
            let limit_s = self.filler.study.workload.timeout_s;
            let ran = self.run(&words, limit_s, CpuUse::All)?;
            self.must_do_well(doing, &words, arm, &ran.reading)?;
        }
        Ok(())
    }

    /// Runs a command with everything filled in.
    pub(super) fn run(
        &mut self,
        words: &[String],
        limit_s: u32,
        cpus: CpuUse,
    ) -> Result<Ran, CampaignError> {
        let command = FolderCommand {
            words: words.to_vec(),
            timeout_ms: u64::from(limit_s) * 1000,
            cpus,
        };
        match self.agent.ask(&Ask::Run(command))? {
            Tell::Ran(ran) => Ok(*ran),
            _ => Err(CampaignError::Unexpected("run")),
        }
    }

    fn must_do_well(
        &self,
        doing: &str,
        words: &[String],
        arm: &CommandArm,
        reading: &CommandReading,
    ) -> Result<(), CommandError> {
        if reading.end.is_success() {
            return Ok(());
        }
        let command = self.filler.shown_command(words);
        let doing = if doing.is_empty() {
            format!("`{command}`")
        } else {
            format!("{doing} `{command}`: it")
        };
        Err(CommandError::Failed {
            what: format!("{}: {doing}", arm.title),
            how: reading.end.words(),
            words: match reading.last_words.as_str() {
                "" => String::new(),
                words => format!("; its last words:\n{}\n", self.filler.shown(words)),
            },
            advice: match reading.end {
                CommandEnd::TimedOut => "give it more time (`timeout_s`), or less to do",
                _ => "try it by hand, and mend it or the study",
            },
        })
    }

    fn measured(
        &self,
        words: &[String],
        arm: &CommandArm,
        ran: &Ran,
    ) -> Result<Measured, CampaignError> {
        let study = self.filler.study;
        let lacking = |wanted: &str, lacks: String| CommandError::NotInOutput {
            command: self.filler.shown_command(words),
            arm: arm.title.clone(),
            wanted: wanted.to_owned(),
            lacks: if ran.is_cut {
                format!("{lacks} in its first {} bytes", ran.output.len())
            } else {
                lacks
            },
            output: beginning(&ran.output),
        };
        let values = study.metrics.iter().map(|metric| {
            let value = pull::metric(metric, &ran.reading, &ran.output);
            let value = value.map_err(|lacks| lacking(&format!("`{}`", metric.name), lacks))?;
            Ok((metric.name.clone(), value))
        });
        let values = values.collect::<Result<_, CommandError>>()?;
        let agreed = study.workload.agree.as_ref().map(|agreement| {
            if ran.is_cut && agreement.on == OutputPart::Stdout {
                return Err(lacking(
                    "all of it",
                    "is too long to be compared".to_owned(),
                ));
            }
            let part = pull::agreed(agreement, &ran.output);
            part.map_err(|lacks| lacking("what must agree", lacks))
        });
        Ok(Measured {
            values,
            command: ran.reading.clone(),
            agreed: agreed.transpose()?,
            doubts: Vec::new(),
        })
    }
}

/// What an output begins with, for an error.
fn beginning(output: &str) -> String {
    if output.trim().is_empty() {
        return "(nothing)".to_owned();
    }
    let clip = |line: &str| line.chars().take(200).collect::<String>();
    let lines: Vec<String> = output.lines().take(SHOWN_LINES).map(clip).collect();
    lines.join("\n")
}
