//! The programs that a study's commands need, as this machine has them.

use std::collections::{BTreeMap, HashSet};

use model::command_run::CommandRun;
use model::command_study::Need;
use model::run::ProgramRecord;
use model::{Ask, CommandStudy, Tell};

use super::hands::CommandError;
use crate::campaign::CampaignError;
use crate::transport::Agent;
use crate::under_test::check_same;

/// The programs that were found, and those that were not.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Maps a need to the path of its program.
    pub(super) paths: BTreeMap<String, String>,
    pub(super) records: Vec<ProgramRecord>,
    /// Maps a need to the reason why its program is absent, and what to do.
    pub(super) absent: BTreeMap<String, String>,
}

/// Has the agent look for every program. All arms need a program that no level and no evidence
/// names.
///
/// # Errors
/// If a program that all arms need is absent.
pub(super) fn find(study: &CommandStudy, agent: &mut dyn Agent) -> Result<Programs, CampaignError> {
    let mut programs = Programs::default();
    let optional = optional(study);
    for need in &study.needs {
        match ask(need, agent)? {
            Ok((path, record)) => {
                programs.paths.insert(need.name.clone(), path);
                programs.records.push(record);
            }
            Err(reason) if optional.contains(need.name.as_str()) => {
                programs.absent.insert(need.name.clone(), reason);
            }
            Err(reason) => return Err(CommandError::Absent(reason).into()),
        }
    }
    Ok(programs)
}

/// Finds the programs of a run that is to be resumed; they must be those with which it was
/// measured.
///
/// # Errors
/// If one is absent or has changed; names the first.
pub(super) fn find_again(
    run: &CommandRun,
    agent: &mut dyn Agent,
) -> Result<Programs, CampaignError> {
    let programs = find(&run.study, agent)?;
    for was in &run.programs {
        let now = programs.records.iter().find(|now| now.name == was.name);
        let absent = ("absent".to_owned(), None);
        let now = now.map_or((&absent.0, &absent.1), |now| (&now.version, &now.sha256));
        check_same(&was.title, (&was.version, &was.sha256), now)?;
    }
    Ok(programs)
}

/// Path and record of a program, or why it is absent.
type Answered = Result<(String, ProgramRecord), String>;

fn ask(need: &Need, agent: &mut dyn Agent) -> Result<Answered, CampaignError> {
    let record = |version, sha256| ProgramRecord {
        name: need.name.clone(),
        title: need.title.clone(),
        version,
        sha256,
    };
    let ask = Ask::FindProgram {
        need: Box::new(need.clone()),
    };
    match agent.ask(&ask) {
        Ok(Tell::Found(found)) => Ok(Ok((found.program, record(found.version, found.sha256)))),
        Ok(_) => Err(CampaignError::Unexpected("find_program")),
        // Its absence is an answer, not an error.
        Err(refusal) if refusal.is_refusal() => Ok(Err(refusal.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// The programs that only some levels or pieces of evidence need.
pub(crate) fn optional(study: &CommandStudy) -> HashSet<&str> {
    let levels = study.factors.iter().flat_map(|factor| &factor.levels);
    let of_levels = levels.flat_map(|level| &level.needs);
    let of_evidence = study.evidence.iter().flat_map(|piece| &piece.needs);
    of_levels.chain(of_evidence).map(String::as_str).collect()
}
