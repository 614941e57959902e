//! Runs the commands of arms through the agent: every build once, and for each block the timed
//! command with what comes before and after it.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};

use model::command::{CommandEnd, FolderCommand, Ran};
use model::command_run::{CommandArm, Measured};
use model::command_study::{CpuUse, LONGEST_STEP_S, OutputPart};
use model::message::ServerFolder;
use model::{Ask, CommandDoubt, CommandReading, Doubt, Tell};

use super::fill::{Filler, SERVER_AT, wants_linerate};
use super::pull;
use super::said::{beginning, end_of};
use crate::campaign::CampaignError;
use crate::transport::Agent;

/// Why commands could not be measured.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommandError {
    #[error("the study's commands need a program that is not here: {0}")]
    Absent(String),
    #[error("{arm}: {what} {how}{}; {advice}", shown(words))]
    Failed {
        arm: String,
        /// The command, and what was done with it.
        what: String,
        how: String,
        /// Last words that the command printed; may be empty.
        words: String,
        advice: &'static str,
    },
    #[error(
        "{cleanup}. Nothing more was run: the other arms would have found what it left{}",
        before(first.as_deref())
    )]
    LeftDirt {
        cleanup: Box<CommandError>,
        /// What had failed before the cleanup.
        first: Option<Box<CommandError>>,
    },
    #[error(
        "the output of `{command}` ({arm}) {lacks}; {wanted} is read from it. It begins:\n{output}\n\
         fix the study or the command"
    )]
    NotInOutput {
        command: String,
        arm: String,
        wanted: String,
        lacks: String,
        output: String,
    },
}

fn shown(words: &str) -> String {
    match words {
        "" => String::new(),
        words => format!("; its last words:\n{words}\n"),
    }
}

fn before(first: Option<&CommandError>) -> String {
    first.map_or_else(String::new, |first| {
        format!(". What came before it had failed too: {}", first.in_short())
    })
}

impl CommandError {
    /// Says in one line what went wrong, without the name of the arm.
    fn in_short(&self) -> String {
        match self {
            Self::Absent(program) => program.clone(),
            Self::LeftDirt { cleanup, .. } => cleanup.in_short(),
            Self::NotInOutput { lacks, wanted, .. } => {
                format!("its output {lacks}; {wanted} is read from it")
            }
            Self::Failed {
                what, how, words, ..
            } => match end_of(words).as_str() {
                "" => format!("{what} {how}"),
                words => format!("{what} {how}; its last words: {words}"),
            },
        }
    }
}

impl From<CommandError> for CampaignError {
    fn from(error: CommandError) -> Self {
        Self::Commands(Box::new(error))
    }
}

/// A failed command of an arm, and what the kernel reported about it.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    error: CommandError,
    reading: CommandReading,
}

impl Failed {
    /// The failed run as it is saved: without figures.
    pub(super) fn measured(&self) -> Measured {
        Measured {
            values: BTreeMap::new(),
            command: self.reading.clone(),
            failed: Some(self.error.in_short()),
            agreed: None,
            meanwhile: None,
            doubts: Vec::new(),
        }
    }

    /// The doubt about an arm that failed before the first round.
    pub(super) fn doubt(&self, arm: &CommandArm) -> Doubt {
        Doubt::Command(CommandDoubt::LeftOut {
            command: arm.title.clone(),
            failed: 1,
            runs: 1,
            reason: self.error.in_short(),
        })
    }
}

/// Why a block has no figures.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A command of the arm failed; other arms may succeed.
    OfArm(Box<Failed>),
    /// Nothing can be run any more.
    OfRun(CampaignError),
}

impl From<Box<Failed>> for Trouble {
    fn from(failed: Box<Failed>) -> Self {
        Self::OfArm(failed)
    }
}

impl From<CampaignError> for Trouble {
    fn from(error: CampaignError) -> Self {
        Self::OfRun(error)
    }
}

impl From<Trouble> for CampaignError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::OfArm(failed) => failed.error.into(),
            Trouble::OfRun(error) => error,
        }
    }
}

/// The commands of a study, ready to run on this machine.
pub(super) struct ArmCommands<'a> {
    pub(super) agent: &'a mut dyn Agent,
    pub(super) filler: Filler<'a>,
    pub(super) arms: &'a [CommandArm],
    /// Maps an arm that cannot run to its failed build.
    pub(super) unbuilt: HashMap<&'a str, Box<Failed>>,
}

/// Has the agent make the study's folder. Returns its path here, and its path and address on the
/// server's host.
pub(super) fn make_folder(
    study: &model::CommandStudy,
    agent: &mut dyn Agent,
) -> Result<(String, ServerFolder), CampaignError> {
    let ask = Ask::MakeFolder {
        files: study.files.clone(),
        with_linerate: wants_linerate(study),
    };
    match agent.ask(&ask)? {
        Tell::Folder { path, server } => {
            let server = server.unwrap_or_else(|| ServerFolder {
                path: path.clone(),
                address: Ipv4Addr::LOCALHOST.into(),
            });
            Ok((path, server))
        }
        _ => Err(CampaignError::Unexpected("make_folder")),
    }
}

impl ArmCommands<'_> {
    /// Runs every build; identical build commands run only once. An arm with a failed build cannot
    /// run.
    pub(super) fn build(&mut self) -> Result<(), CampaignError> {
        let mut done = HashMap::new();
        for arm in self.arms {
            if let Some(failed) = self.build_arm(arm, &mut done)? {
                self.unbuilt.insert(&arm.name, failed);
            }
        }
        Ok(())
    }

    /// Runs the builds of an arm, and returns the first that failed.
    fn build_arm(
        &mut self,
        arm: &CommandArm,
        done: &mut HashMap<Vec<String>, CommandReading>,
    ) -> Result<Option<Box<Failed>>, CampaignError> {
        for words in &self.filler.study.workload.build {
            let words = self.filler.of_arm(words, arm, self.arms);
            if !done.contains_key(&words) {
                let ran = self.run(&words, LONGEST_STEP_S, CpuUse::All)?;
                done.insert(words.clone(), ran.reading);
            }
            let outcome = self.must_do_well("building with", &words, arm, &done[&words]);
            if let Err(failed) = outcome {
                return Ok(Some(failed));
            }
        }
        Ok(None)
    }

    /// Measures one block: prepare, the timed run, clean up.
    pub(super) fn block(&mut self, arm: &CommandArm) -> Result<Measured, Trouble> {
        if let Some(failed) = self.unbuilt.get(arm.name.as_str()) {
            return Err(failed.clone().into());
        }
        let workload = &self.filler.study.workload;
        let words = self.filler.of_arm(&workload.run, arm, self.arms);
        let outcome = self.prepared_run(&words, arm);
        // Clean up after a failure too, for the sake of the arms that come next.
        match &outcome {
            Ok(_) => self.clean_up(arm, None)?,
            Err(Trouble::OfArm(failed)) => self.clean_up(arm, Some(&failed.error))?,
            Err(Trouble::OfRun(_)) => {}
        }
        let ran = outcome?;
        let reading = ran.reading.clone();
        let measured = self.measured(&words, arm, &ran);
        measured.map_err(|error| Box::new(Failed { error, reading }).into())
    }

    fn prepared_run(&mut self, words: &[String], arm: &CommandArm) -> Result<Ran, Trouble> {
        let workload = &self.filler.study.workload;
        self.run_untimed("preparing with", &workload.prepare, arm)?;
        let ran = self.run_served(words, arm)?;
        self.must_do_well("", words, arm, &ran.reading)?;
        Ok(ran)
    }

    /// Runs the timed command, with its server if it has one. A server that does not start, or ends
    /// although its client succeeds, ends the study.
    fn run_served(&mut self, words: &[String], arm: &CommandArm) -> Result<Ran, CampaignError> {
        let workload = &self.filler.study.workload;
        if workload.server.is_empty() {
            return self.run(words, workload.timeout_s, workload.cpus);
        }
        let serve = FolderCommand {
            words: self.filler.of_server(arm, self.arms),
            timeout_ms: u64::from(workload.timeout_s) * 1000,
            cpus: workload.cpus,
        };
        let Tell::Serving { port } = self.agent.ask(&Ask::Serve(serve))? else {
            return Err(CampaignError::Unexpected("serve"));
        };
        let at = SocketAddr::new(self.filler.server.address, port).to_string();
        let words: Vec<String> = words
            .iter()
            .map(|word| word.replace(SERVER_AT, &at))
            .collect();
        let mut ran = self.run(&words, workload.timeout_s, workload.cpus)?;
        let Err(error) = self.agent.ask(&Ask::EndServing) else {
            return Ok(ran);
        };
        match error.refusal() {
            // The failure of its client may concern this arm alone. The server's last words say
            // why.
            Some(gone) if !ran.reading.end.is_success() => {
                let last_words = [ran.reading.last_words.trim_end(), gone.what.trim_end()];
                ran.reading.last_words = last_words.join("\n").trim_start().to_owned();
                Ok(ran)
            }
            _ => Err(error.into()),
        }
    }

    /// Cleans up after an arm. If this fails, no arm can be measured any more.
    fn clean_up(&mut self, arm: &CommandArm, first: Option<&CommandError>) -> Result<(), Trouble> {
        let cleanup = &self.filler.study.workload.cleanup;
        self.run_untimed("cleaning up with", cleanup, arm)
            .map_err(|trouble| match trouble {
                Trouble::OfArm(failed) => {
                    let cleanup = Box::new(failed.error);
                    let first = first.cloned().map(Box::new);
                    Trouble::OfRun(CommandError::LeftDirt { cleanup, first }.into())
                }
                of_run @ Trouble::OfRun(_) => of_run,
            })
    }

    fn run_untimed(
        &mut self,
        doing: &str,
        commands: &[Vec<String>],
        arm: &CommandArm,
    ) -> Result<(), Trouble> {
        for words in commands {
            let words = self.filler.of_arm(words, arm, self.arms);
            let limit_s = self.filler.study.workload.timeout_s;
            let ran = self.run(&words, limit_s, CpuUse::All)?;
            self.must_do_well(doing, &words, arm, &ran.reading)?;
        }
        Ok(())
    }

    /// Runs a command in which everything is filled in.
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
    ) -> Result<(), Box<Failed>> {
        if reading.end.is_success() {
            return Ok(());
        }
        let command = self.filler.shown_command(words);
        let doing = if doing.is_empty() {
            format!("`{command}`")
        } else {
            format!("{doing} `{command}`: it")
        };
        let error = CommandError::Failed {
            arm: arm.title.clone(),
            what: doing,
            how: reading.end.words(),
            words: self.filler.shown(&reading.last_words),
            advice: match reading.end {
                CommandEnd::TimedOut => "give it more time (`timeout_s`), or less to do",
                _ => "try it by hand, and fix it or the study",
            },
        };
        let reading = reading.clone();
        Err(Box::new(Failed { error, reading }))
    }

    fn measured(
        &self,
        words: &[String],
        arm: &CommandArm,
        ran: &Ran,
    ) -> Result<Measured, CommandError> {
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
            Ok(value.map(|value| (metric.name.clone(), value)))
        });
        let values = values.filter_map(Result::transpose);
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
            failed: None,
            agreed: agreed.transpose()?,
            meanwhile: Some(ran.meanwhile),
            doubts: Vec::new(),
        })
    }
}
