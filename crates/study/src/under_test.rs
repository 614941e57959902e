//! The program under test of a run: our own server, a service, or servers that run already.

use model::service::ServiceRecord;
use model::study::{Arm, Program};
use model::{Ask, RunRecord, Service, Tell};

use crate::campaign::CampaignError;
use crate::services::{self, KnownService};
use crate::transport::Agent;

/// What the arms drive.
pub enum Targets {
    /// Our own server, started once per arm.
    Ours,
    /// Another program, started once per arm.
    Service(Box<KnownService>),
    /// Arms over servers that are running already.
    Running(Vec<Arm>),
}

impl Targets {
    /// The program of every arm that has none of its own.
    pub(crate) fn program(&self) -> Program {
        match self {
            Self::Service(known) => Program::Service(known.service.name.clone()),
            Self::Ours | Self::Running(_) => Program::Serve,
        }
    }

    /// Has the agent look for the service, if it is one.
    ///
    /// # Errors
    /// When its program is not there.
    pub(crate) fn find(
        &self,
        agent: &mut dyn Agent,
    ) -> Result<Option<ServiceRecord>, CampaignError> {
        let Self::Service(known) = self else {
            return Ok(None);
        };
        let version = version_of(&known.service, agent)?;
        Ok(Some(services::record(known, version)))
    }
}

/// Has the agent look for the service of a run that is to go on.
///
/// # Errors
/// When its program is not there, or has become another.
pub(crate) fn find_again(run: &RunRecord, agent: &mut dyn Agent) -> Result<(), CampaignError> {
    let Some(service) = &run.service else {
        return Ok(());
    };
    let now = version_of(&service.description, agent)?;
    if now == service.version {
        return Ok(());
    }
    Err(CampaignError::OtherVersion {
        title: service.description.title.clone(),
        was: service.version.clone(),
        now,
    })
}

fn version_of(service: &Service, agent: &mut dyn Agent) -> Result<String, CampaignError> {
    let ask = Ask::Find {
        service: Box::new(service.clone()),
    };
    match agent.ask(&ask)? {
        Tell::Found(found) => Ok(found.version),
        _ => Err(CampaignError::Unexpected("find")),
    }
}
