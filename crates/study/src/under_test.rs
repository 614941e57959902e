//! The programs under test of a run: our own server, services, or servers that run already.

use std::collections::BTreeMap;

use model::gate::Build;
use model::lever::LeverState;
use model::request::RequestSpec;
use model::service::{FoundService, ServiceRecord};
use model::study::{Arm, Program, Study};
use model::{Ask, RunRecord, Service, Tell};

use crate::arms::{self, Arms, Programs};
use crate::campaign::CampaignError;
use crate::refusal::Refusal;
use crate::services::{self, KnownService};
use crate::transport::Agent;

/// What the arms drive.
pub enum Targets {
    /// Programs that are started once per arm: our own server, or another where one is named, and
    /// the services that arms of their own are for. Of the latter those of the study may be missing;
    /// the one that was asked for may not.
    Started {
        common: Option<Box<KnownService>>,
        own: Vec<KnownService>,
        asked: Option<Box<KnownService>>,
    },
    /// One server that is running already, by this request; the arms are those of the study, whose
    /// levers are set where it runs.
    Tried(Box<RequestSpec>),
    /// One server that is running already at this address, under the traffic that it has; the arms are those
    /// of the study likewise.
    Watched(String),
    /// Arms over what is built of two commits.
    Built {
        builds: Vec<Build>,
        arms: Vec<Arm>,
        /// Compare them although they answer otherwise than the first.
        different_answers: bool,
    },
    /// Arms over servers that are running already.
    Running {
        arms: Vec<Arm>,
        /// Compare them although they answer otherwise than the first.
        different_answers: bool,
    },
}

impl Targets {
    /// Our own server in every arm.
    pub const fn ours() -> Self {
        Self::Started {
            common: None,
            own: Vec::new(),
            asked: None,
        }
    }
}

/// The services of a run that were looked for.
#[derive(Default)]
pub(crate) struct Found {
    /// The program of arms that have none of their own.
    pub(crate) common: Option<ServiceRecord>,
    pub(crate) own: Vec<ServiceRecord>,
    /// Those for arms of their own that are not here, by name, and why.
    pub(crate) missing: BTreeMap<String, String>,
}

impl Found {
    pub(crate) fn programs(&self) -> Programs {
        let common = self.common.as_ref();
        Programs {
            common: common.map_or(Program::Serve, |service| {
                Program::Service(service.description.name.clone())
            }),
            missing: self.missing.clone(),
        }
    }
}

impl Targets {
    /// Whether they are started for the run.
    pub(crate) const fn are_ours(&self) -> bool {
        matches!(self, Self::Started { .. } | Self::Built { .. })
    }

    /// Whether load is put on them.
    pub(crate) const fn are_loaded(&self) -> bool {
        !matches!(self, Self::Watched(_))
    }

    /// Whether arms are compared although their servers answer otherwise.
    pub(crate) const fn may_differ(&self) -> bool {
        match self {
            Self::Started { .. } | Self::Tried(_) | Self::Watched(_) => false,
            Self::Running {
                different_answers, ..
            }
            | Self::Built {
                different_answers, ..
            } => *different_answers,
        }
    }

    /// The arms over them, with the levers that the machine offers.
    pub(crate) fn arms(self, study: &Study, found: &Found, levers: &[LeverState]) -> Arms {
        match self {
            Self::Started { .. } => arms::build(study, &found.programs(), levers),
            Self::Tried(request) => {
                arms::build(study, &Programs::all(Program::Request(request)), levers)
            }
            Self::Watched(url) => arms::build(study, &Programs::all(Program::Watched(url)), levers),
            Self::Running { arms, .. } | Self::Built { arms, .. } => Arms {
                arms,
                left_out: Vec::new(),
                doubts: Vec::new(),
            },
        }
    }

    /// Has the agent look for the services.
    ///
    /// # Errors
    /// When the program of arms that have none of their own is not there, or the one asked for.
    pub(crate) fn find(&self, agent: &mut dyn Agent) -> Result<Found, CampaignError> {
        let mut all = Found::default();
        let Self::Started { common, own, asked } = self else {
            return Ok(all);
        };
        let mut record_of = |known: &KnownService| {
            found(&known.service, agent).map(|found| services::record(known, found))
        };
        all.common = common.as_deref().map(&mut record_of).transpose()?;
        let asked = asked.as_deref().map(&mut record_of).transpose()?;
        for known in own {
            match record_of(known) {
                Ok(record) => all.own.push(record),
                Err(CampaignError::Agent(error)) if error.is_refusal() => {
                    let name = known.service.name.clone();
                    all.missing.insert(name, error.to_string());
                }
                Err(other) => return Err(other),
            }
        }
        all.own.extend(asked);
        Ok(all)
    }
}

/// Has the agent look for the services of a run that is to go on.
///
/// # Errors
/// When the program of one is not there, or has become another.
pub(crate) fn find_again(run: &RunRecord, agent: &mut dyn Agent) -> Result<(), CampaignError> {
    for service in run.service.iter().chain(&run.own_services) {
        let now = found(&service.description, agent)?;
        let was = (&service.version, &service.program_sha256);
        check_same(&service.description.title, was, (&now.version, &now.sha256))?;
    }
    Ok(())
}

/// A program's version and the hash of its file.
type Told<'a> = (&'a String, &'a Option<String>);

/// Whether a program is the one that a run was begun with, which may have kept no hash. One that cannot be read now
/// may be another.
pub(crate) fn check_same(title: &str, was: Told<'_>, now: Told<'_>) -> Result<(), Refusal> {
    if was.0 == now.0 && (was.1.is_none() || was.1 == now.1) {
        return Ok(());
    }
    let words = |(version, sha256): Told<'_>| match sha256 {
        Some(sha256) => format!(
            "{version} (SHA-256 {}…)",
            sha256.get(..12).unwrap_or(sha256)
        ),
        None => version.clone(),
    };
    let (was, now) = (words(was), words(now));
    Err(Refusal(format!(
        "this run was measured with {title} {was}, here is {title} {now}: they do not mix; start the \
         run again"
    )))
}

fn found(service: &Service, agent: &mut dyn Agent) -> Result<FoundService, CampaignError> {
    let ask = Ask::Find {
        service: Box::new(service.clone()),
    };
    match agent.ask(&ask)? {
        Tell::Found(found) => Ok(found),
        _ => Err(CampaignError::Unexpected("find")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_same_by_its_version_and_by_the_hash_that_was_kept() {
        let hash = |text: &str| Some(text.to_owned());
        for (was, now, is_same) in [
            (("1", hash("a")), ("1", hash("a")), true),
            (("1", None), ("1", hash("a")), true),
            (("1", None), ("2", hash("a")), false),
            (("1", hash("a")), ("1", hash("b")), false),
            (("1", hash("a")), ("1", None), false),
        ] {
            let [was, now] = [was, now].map(|(version, hash)| (version.to_owned(), hash));
            let checked = check_same("It", (&was.0, &was.1), (&now.0, &now.1));
            assert_eq!(checked.is_ok(), is_same, "{was:?} {now:?}");
        }
    }
}
