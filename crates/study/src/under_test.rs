//! The programs under test of a run: our own server, services, or servers that are already running.

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

/// The programs that the arms drive.
pub enum Targets {
    /// Programs that are started once per arm: our own server or the named one, and the services of
    /// arms that have their own. A service of the study may be missing; the one that was asked for
    /// may not.
    Started {
        common: Option<Box<KnownService>>,
        own: Vec<KnownService>,
        asked: Option<Box<KnownService>>,
    },
    /// A server that is already running, under load by this request. The arms are those of the
    /// study, and their levers are set where the server runs.
    Tried(Box<RequestSpec>),
    /// A server that is already running at this address, under the traffic that it has. The arms
    /// are those of the study, and their levers are set where the server runs.
    Watched(String),
    /// Arms with the builds of two commits.
    Built {
        builds: Vec<Build>,
        arms: Vec<Arm>,
        /// Whether to compare them although their answers differ from the first.
        different_answers: bool,
    },
    /// Arms with servers that are already running.
    Running {
        arms: Vec<Arm>,
        /// Whether to compare them although their answers differ from the first.
        different_answers: bool,
    },
}

impl Targets {
    /// Our own server, in every arm.
    pub const fn ours() -> Self {
        Self::Started {
            common: None,
            own: Vec::new(),
            asked: None,
        }
    }
}

/// The services of a run, after the search for them.
#[derive(Default)]
pub(crate) struct Found {
    /// The service of arms that have none of their own.
    pub(crate) common: Option<ServiceRecord>,
    pub(crate) own: Vec<ServiceRecord>,
    /// Maps services of arms that have their own, and that are absent, to the reason.
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

    /// Whether we put load on them.
    pub(crate) const fn are_loaded(&self) -> bool {
        !matches!(self, Self::Watched(_))
    }

    /// Whether arms are compared although their servers answer differently.
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

    /// Returns the arms of a study on them, with the levers that the machine offers.
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
    /// If the service of arms that have none of their own is absent, or the one that was asked for.
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

/// Has the agent look for the services of a run that is to be resumed, and checks that they are the
/// same.
///
/// # Errors
/// If the program of one is absent or has changed.
pub(crate) fn find_again(run: &RunRecord, agent: &mut dyn Agent) -> Result<(), CampaignError> {
    for service in run.service.iter().chain(&run.own_services) {
        let now = found(&service.description, agent)?;
        let was = (&service.version, &service.program_sha256);
        check_same(&service.description.title, was, (&now.version, &now.sha256))?;
    }
    Ok(())
}

/// What identifies a program: its version and the hash of its file.
type Id<'a> = (&'a String, &'a Option<String>);

/// Checks that a program is the one that a run began with, which may have saved no hash. A program
/// that cannot be read now may be another one.
pub(crate) fn check_same(title: &str, was: Id<'_>, now: Id<'_>) -> Result<(), Refusal> {
    if was.0 == now.0 && (was.1.is_none() || was.1 == now.1) {
        return Ok(());
    }
    let words = |(version, sha256): Id<'_>| match sha256 {
        Some(sha256) => format!(
            "{version} (SHA-256 {}…)",
            sha256.get(..12).unwrap_or(sha256)
        ),
        None => version.clone(),
    };
    let (was, now) = (words(was), words(now));
    Err(Refusal(format!(
        "this run was measured with {title} {was}, but here is {title} {now}: they do not mix; start the \
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
